// With what code a command ends, of what ended it.
#include <gtest/gtest.h>

#include <exception>
#include <new>
#include <stdexcept>
#include <system_error>

#include <surety/accounting/ledger/ledger.h>
#include <surety/cli/print/failure.h>

#include <support/temporary_folder.h>

namespace surety_test::failure_test {
namespace {

using namespace surety;

template <class Action>
int code_of(Action action) {
  try {
    action();
  } catch (...) {
    return cli::failure_of(std::current_exception()).code;
  }
  return 0;
}

// Whoever spends more than a ledger's budget is refused; a command that releases more than the plan it has made itself is a defect.
TEST(Failure, OfABudgetIsARefusalAndBeyondAReservationADefect) {
  const TemporaryFolder folder;
  const auto noise = [](double multiplier) { return gaussian(NoiseMultiplier{multiplier}, Adjacency::add_or_remove_one); };
  auto ledger = accounting::Ledger::create(folder / "run.db", Adjacency::add_or_remove_one,
                                           accounting::Budget{.target = {Epsilon{1}, Delta{1e-6}, Adjacency::add_or_remove_one}});
  EXPECT_EQ(code_of([&] { static_cast<void>(ledger.reserve({.event = noise(1)})); }), 1);
  auto reservation = ledger.reserve({.event = noise(40)});
  EXPECT_EQ(code_of([&] { reservation.spend(noise(20)); }), 70);
  EXPECT_EQ(code_of([&] { reservation.spend(noise(40)); }), 0);
  EXPECT_EQ(code_of([&] { reservation.spend(noise(40)); }), 70);
}

TEST(Failure, OfTheMachineIsToldFromADefect) {
  EXPECT_EQ(code_of([] { throw std::bad_alloc{}; }), 5);
  EXPECT_EQ(code_of([] { throw std::system_error{std::make_error_code(std::errc::no_space_on_device)}; }), 5);
  EXPECT_EQ(code_of([] { throw std::logic_error{"x"}; }), 70);
}

}  // namespace
}  // namespace surety_test::failure_test
