#include <surety/base/system/home_process.h>

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include <surety/base/text/error.h>

#include <support/child_process.h>

namespace surety::home_process_test {
namespace {

using reference::in_child;

class HomeProcessByMethod : public ::testing::TestWithParam<HomeProcess::Method> {};

TEST_P(HomeProcessByMethod, IsHereInTheProcessThatMadeIt) {
  const HomeProcess home{GetParam()};
  ASSERT_EQ(home.method(), GetParam());
  EXPECT_TRUE(home.is_here());
  EXPECT_EQ(in_child([&] {
              const HomeProcess own{GetParam()};
              const int wrong = in_child([&] { return home.is_here() || own.is_here() || !HomeProcess{GetParam()}.is_here() ? 1 : 0; });
              return wrong + (home.is_here() || !own.is_here() ? 2 : 0);
            }),
            0);
  // A grandchild of a child that never asked.
  EXPECT_EQ(
      in_child([&] { return in_child([&] { return !home.is_here() && HomeProcess{GetParam()}.is_here() && !home.is_here() ? 1 : 0; }); }),
      1);
  EXPECT_TRUE(home.is_here());
}

INSTANTIATE_TEST_SUITE_P(Both, HomeProcessByMethod, ::testing::Values(HomeProcess::Method::wiped_page, HomeProcess::Method::process_id));

TEST(HomeProcess, SaysWhatWasMadeElsewhere) {
  const HomeProcess home;
  EXPECT_NO_THROW(home.require_here("this sum"));
  EXPECT_EQ(in_child([&] {
              try {
                home.require_here("this sum");
              } catch (const Error& error) {
                const std::string said = error.what();
                return error.code() == ErrorCode::invalid_argument &&
                       said == "this sum was made in another process, must be made anew after a fork";
              }
              return false;
            }),
            1);
}

struct Numbered {
  explicit Numbered(const Numbered* inherited) : generation{inherited != nullptr ? inherited->generation + 1 : 0} {}
  int generation;
};

TEST(HomeProcess, EachProcessHasOneOfItsOwn) {
  EXPECT_EQ(one_of_this_process<Numbered>().generation, 0);
  const auto* const first = &one_of_this_process<Numbered>();
  EXPECT_EQ(first, &one_of_this_process<Numbered>());
  EXPECT_EQ(in_child([&] {
              // Threads that ask at once get the same.
              std::vector<const Numbered*> seen(4);
              std::vector<std::thread> threads;
              for (auto& place : seen) threads.emplace_back([&place] { place = &one_of_this_process<Numbered>(); });
              for (auto& thread : threads) thread.join();
              for (const auto* const place : seen) {
                if (place != seen.front() || place == first) return 90;
              }
              return seen.front()->generation;
            }),
            1);
  EXPECT_EQ(one_of_this_process<Numbered>().generation, 0);
}

}  // namespace
}  // namespace surety::home_process_test
