#include <surety/mechanisms/fork_guard.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace surety::mechanisms {
namespace {

/// The exit status of `action` in a child process.
int in_child(auto&& action) {
  const pid_t child = fork();
  if (child == 0) _exit(action());
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class ForkGuardByMethod : public ::testing::TestWithParam<ForkGuard::Method> {};

TEST_P(ForkGuardByMethod, NoticesEachNewProcessOnce) {
  ForkGuard guard{GetParam()};
  ASSERT_EQ(guard.method(), GetParam());
  EXPECT_FALSE(guard.entered_new_process());
  for (int repetition = 0; repetition < 3; ++repetition) {
    EXPECT_EQ(in_child([&] {
                const int once = guard.entered_new_process() && !guard.entered_new_process() ? 1 : 0;
                const int grandchild = in_child([&] { return guard.entered_new_process() && !guard.entered_new_process() ? 2 : 0; });
                return once + grandchild;
              }),
              3);
    EXPECT_FALSE(guard.entered_new_process());
  }
}

INSTANTIATE_TEST_SUITE_P(Both, ForkGuardByMethod, ::testing::Values(ForkGuard::Method::wiped_page, ForkGuard::Method::process_id));

TEST(ForkGuard, NoticesAForkBetweenMakingAndFirstUse) {
  ForkGuard guard;
  EXPECT_EQ(in_child([&] { return guard.entered_new_process() ? 1 : 0; }), 1);
}

}  // namespace
}  // namespace surety::mechanisms
