// Processes that mpirun starts.
#pragma once

#include <chrono>
#include <thread>

#include <support/surety_process.h>

namespace surety_test {

using Clock = std::chrono::steady_clock;

inline Words launcher(int ranks) { return {SURETY_MPIRUN, "--quiet", "-n", std::to_string(ranks)}; }

class MpirunTest : public CommandTest {
 protected:
  MpirunTest() {
    // As root in a container with fewer processors than ranks.
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 1);
    // Otherwise mpirun gives the ranks of a failed run another second.
    setenv("OMPI_MCA_odls_base_sigkill_timeout", "0", 1);
  }

  static Outcome run(const Words& arguments, int ranks) { return Process{arguments, {.launcher = launcher(ranks)}}.finish(); }

  /// Exactly one line, and `words` in it.
  static void expect_one_line(const Outcome& outcome, int code, const Words& words) {
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_TRUE(is_one_error_line(outcome.err)) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    for (const auto& word : words) EXPECT_NE(outcome.err.find(word), std::string::npos) << outcome.err << "without: " << word;
  }

  /// The process that is this rank of the mpirun.
  static pid_t rank_of(const Process& mpirun, int rank) {
    const auto end = Clock::now() + std::chrono::minutes{1};
    const std::string wanted = "OMPI_COMM_WORLD_RANK=" + std::to_string(rank);
    while (Clock::now() < end) {
      const std::string id = std::to_string(mpirun.id());
      std::istringstream children{contents("/proc/" + id + "/task/" + id + "/children")};
      for (pid_t child = 0; children >> child;) {
        const auto environment = contents("/proc/" + std::to_string(child) + "/environ");
        if (environment.find(wanted + '\0') != std::string::npos) return child;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds{5});
    }
    throw std::runtime_error{"the rank does not come"};
  }

  [[nodiscard]] nlohmann::json runs_now() const {
    const auto listed = Process{{"ledger", "list", path("run.db"), "--json"}}.finish();
    return listed.code == 0 ? listed.json()["runs"] : nlohmann::json::array();
  }

  void wait_for_the_charge() const {
    const auto end = Clock::now() + std::chrono::minutes{1};
    while (runs_now().empty()) {
      ASSERT_LT(Clock::now(), end) << "nothing is charged";
      std::this_thread::sleep_for(std::chrono::milliseconds{20});
    }
  }

  /// The ledger holds one run, which is charged in full.
  void expect_the_full_charge() const {
    EXPECT_EQ(runs_in(path("run.db")), 1U);
    const auto shown = surety({"ledger", "show", path("run.db"), "1", "--json"}).json();
    EXPECT_EQ(shown["state"], "reserved");
    EXPECT_EQ(shown["charged"], shown["planned"]);
    EXPECT_FALSE(std::filesystem::exists(path("run.json")));
  }
};

}  // namespace surety_test
