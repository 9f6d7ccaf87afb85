#include <surety/jobs/run/order.h>

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include <support/refusal.h>
#include <support/temporary_folder.h>
#include <surety/accounting/events/event.h>

namespace surety::order_test {
namespace {

using accounting::Ledger;
using reference::refusal_of;

const std::vector<std::string> all_steps{"calibrate", "ask", "seed", "read", "take_place", "reserve", "release", "write", "report"};

/// A run whose steps say that they are taken, and one of which may fail before it does anything.
class Scripted final : public jobs::RunSteps {
 public:
  explicit Scripted(Ledger& ledger, std::string failing = {}) : ledger_{ledger}, failing_{std::move(failing)} {}

  accounting::Plan calibrate() override {
    take("calibrate");
    return {.event = repeat(Count{2}, gaussian(NoiseMultiplier{40}, Adjacency::replace_one))};
  }
  void ask(const accounting::Plan& charge) override {
    take("ask");
    ledger_.check(charge);
  }
  void seed() override { take("seed"); }
  void read() override { take("read"); }
  void take_place() override { take("take_place"); }
  accounting::Reservation reserve(const accounting::Plan& charge) override {
    take("reserve");
    return ledger_.reserve(charge);
  }
  void release(accounting::Reservation& reservation) override {
    take("release");
    runs_at_release = ledger_.runs().size();
    reservation.spend(gaussian(NoiseMultiplier{40}, Adjacency::replace_one));
  }
  void write(const accounting::Reservation&) override { take("write"); }
  void report(const accounting::Reservation&) override {
    take("report");
    is_settled_at_report = ledger_.runs().back().settlement.has_value();
  }

  std::vector<std::string> taken;
  std::size_t runs_at_release = 0;
  bool is_settled_at_report = true;

 private:
  void take(const std::string& step) {
    if (step == failing_) throw Error{ErrorCode::environment, step};
    taken.push_back(step);
  }

  Ledger& ledger_;
  std::string failing_;
};

class Order : public ::testing::Test {
 protected:
  [[nodiscard]] Ledger ledger() { return Ledger::create(folder_ / (std::to_string(++ledgers_) + ".db"), Adjacency::replace_one); }

  TemporaryFolder folder_;
  int ledgers_ = 0;
};

TEST_F(Order, IsTheOneOfThePage) {
  auto own = ledger();
  Scripted steps{own};
  run_in_order(steps);
  EXPECT_EQ(steps.taken, all_steps);
  EXPECT_EQ(steps.runs_at_release, 1U);  // charged before anything is drawn
  EXPECT_FALSE(steps.is_settled_at_report);
  ASSERT_TRUE(own.runs().front().settlement);
  EXPECT_EQ(own.event(), gaussian(NoiseMultiplier{40}, Adjacency::replace_one));  // of the two that were planned
}

/// The whole plan stays charged from the reservation on, but where only the report is lost: then the run is settled all the same.
TEST_F(Order, AFailureAnywhereLeavesNoReleaseWithoutItsCharge) {
  for (std::size_t k = 0; k < all_steps.size(); ++k) {
    SCOPED_TRACE(all_steps[k]);
    auto own = ledger();
    Scripted steps{own, all_steps[k]};
    EXPECT_EQ(refusal_of([&] { run_in_order(steps); }).message, all_steps[k]);
    EXPECT_EQ(steps.taken, (std::vector<std::string>{all_steps.begin(), all_steps.begin() + static_cast<std::ptrdiff_t>(k)}));
    const bool is_charged = k > 5;
    ASSERT_EQ(own.runs().size(), is_charged ? 1U : 0U);
    if (is_charged) {
      EXPECT_EQ(own.runs().front().settlement.has_value(), all_steps[k] == "report");
    }
  }
}

}  // namespace
}  // namespace surety::order_test
