// Every accountant, search and curve looks at the limit of time, ends where it says so, and answers afterwards as if it had never been stopped.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <surety/accounting/accountants/contour/contour.h>
#include <surety/accounting/accountants/seam/accountant.h>
#include <surety/accounting/answers/asked.h>
#include <surety/accounting/answers/risk.h>
#include <surety/accounting/calibration/best_cost.h>
#include <surety/accounting/calibration/solve.h>
#include <surety/accounting/events/event_text.h>
#include <surety/accounting/laws/epochs/allocated_epoch.h>
#include <surety/accounting/laws/epochs/replaced_epoch.h>
#include <surety/base/numbers/limit.h>

namespace surety::accounting::stopped_questions_test {
namespace {

/// What stops at the poll after so many.
Limit::Rules polls(std::uint64_t most) {
  return {.seconds = static_cast<double>(most), .clock = [now = 0.0]() mutable { return now += 1; }};
}

struct Ended {
  bool is_stopped;
  Enclosure value;
  std::uint64_t polls;
};
Ended ended(const std::function<Enclosure()>& ask, std::uint64_t most) {
  const Limit limit{polls(most)};
  try {
    const Enclosure value = ask();
    return {false, value, limit.polls()};
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::stopped) << error.what();
    return {true, {0, 0}, limit.polls()};
  }
}

/// Stopped after few, more and many polls, it ends there each time; afterwards it says what it says when nothing stops it.
void expect_to_stop(const std::string& name, const std::function<Enclosure()>& ask) {
  SCOPED_TRACE(name);
  for (const std::uint64_t most : {1U, 7U, 60U, 500U}) {
    const auto found = ended(ask, most);
    EXPECT_TRUE(found.is_stopped || most > 1);
    EXPECT_TRUE(!found.is_stopped || found.polls == most + 1) << found.polls;
  }
  const auto whole = ended(ask, std::uint64_t{1} << 50);
  EXPECT_FALSE(whole.is_stopped);
  EXPECT_GT(whole.polls, 2U);
  const Enclosure free = ask();
  EXPECT_EQ(whole.value.lower, free.lower);
  EXPECT_EQ(whole.value.upper, free.upper);
}

template <class A>
void expect_accountant_to_stop(const std::string& text, Adjacency adjacency = Adjacency::add_or_remove_one) {
  const Event event = parse_event(text, adjacency);
  ASSERT_TRUE(supports(A{}, event)) << text;
  expect_to_stop(std::string{A::name} + " of epsilon of " + text, [&] { return epsilon(A{}, event, Delta{1e-6}); });
  expect_to_stop(std::string{A::name} + " of delta of " + text, [&] { return delta(A{}, event, Epsilon{0.5}); });
}

TEST(StoppedQuestions, EveryAccountantThatTakesTimePolls) {
  expect_accountant_to_stop<Choices>("repeat(20, exponential(0.1))");
  expect_accountant_to_stop<Contour>("repeat(1000, poisson(0.01, gaussian(1)))");
  expect_accountant_to_stop<Pld>("compose(repeat(10, poisson(0.01, gaussian(1))), laplace(5))");
  expect_accountant_to_stop<Pld>("allocated(30, gaussian(1.5))");
  expect_accountant_to_stop<Pld>("allocated(12, record_sum(2))", Adjacency::replace_one);
  expect_accountant_to_stop<Pld>("repeat(3, shuffled(100, 10, gaussian(2)))", Adjacency::replace_one);
  expect_accountant_to_stop<Pld>("repeat(3, truncated_poisson(0.01, 20, 1000, gaussian(1)))", Adjacency::zero_out);
  expect_accountant_to_stop<Participation>("repeat(200, poisson(0.01, gaussian(0.1)))");
  expect_accountant_to_stop<Renyi>("repeat(100, poisson(0.01, gaussian(1)))");
  expect_accountant_to_stop<Tuning>("best_of(geometric_runs, 10, gaussian(2))");
  expect_accountant_to_stop<Composition::Optimal>("compose(repeat(40, pure(0.1)), repeat(20, pure(0.25)))");
}

TEST(StoppedQuestions, SearchesAndCurvesPoll) {
  const auto adjacency = Adjacency::add_or_remove_one;
  const std::string text = "repeat(100, laplace(z))";
  const Target target{.epsilon = Epsilon{1}, .delta = Delta{1e-6}, .adjacency = adjacency};
  const auto event_at = [&](double z) { return parse_event(text, adjacency, {{"z", z}}); };
  const auto parameter = parameter_of(text, adjacency, "z");
  expect_to_stop("solve", [&] { return solve(event_at, target, parameter, best_cost(target)).epsilon; });
  const Event run = parse_event("repeat(100, poisson(0.1, gaussian(5)))", adjacency);
  expect_to_stop("advantage", [&] { return advantage(run); });
  expect_to_stop("best", [&] { return best_epsilon(run, Delta{1e-6}).value; });
}

/// A curve that is kept for more questions is whole after it was stopped in the middle of one.
TEST(StoppedQuestions, ACurveThatWasStoppedAnswersAsANewOne) {
  const Event event = parse_event("repeat(1000, poisson(0.02, gaussian(0.9)))", Adjacency::add_or_remove_one);
  for (const std::uint64_t most : {1U, 3U, 10U, 30U, 100U}) {
    const ContourCurve stopped{event};
    EXPECT_TRUE(ended([&] { return stopped(Epsilon{2}); }, most).is_stopped);
    const ContourCurve fresh{event};
    for (const double at : {2.0, 0.5, 6.0}) {
      const auto one = stopped(Epsilon{at});
      const auto other = fresh(Epsilon{at});
      // A range that was grown before the stop stays: the last digits may be others.
      EXPECT_TRUE(overlap(one, other)) << most;
      EXPECT_NEAR(one.width() / other.width(), 1, 0.01) << most;
    }
  }
}

void expect_same_cells(const LossCells& one, const LossCells& other) {
  ASSERT_EQ(one.cells.size(), other.cells.size());
  EXPECT_EQ(one.cut_above, other.cut_above);
  EXPECT_EQ(one.cut_below, other.cut_below);
  for (std::size_t i = 0; i < one.cells.size(); ++i) {
    EXPECT_EQ(one.cells[i].index, other.cells[i].index);
    EXPECT_EQ(one.cells[i].mass, other.cells[i].mass);
    EXPECT_EQ(one.cells[i].mass_error, other.cells[i].mass_error);
    EXPECT_EQ(one.cells[i].excess, other.cells[i].excess);
  }
}

/// Tables that questions share are made in one piece or again.
TEST(StoppedQuestions, ATableThatWasStoppedIsMadeAgain) {
  const Cut cut{-60, -60};
  const AllocatedEpoch fresh{30, 1.5};
  const auto whole = fresh.cells(false, 0.01, cut);
  const ReplacedEpoch fresh_pair{10, 2};
  const auto whole_pair = fresh_pair.cells(true, 0.05);
  int stops = 0;
  for (const std::uint64_t most : {1U, 20U, 60U, 150U, 400U}) {
    const AllocatedEpoch epoch{30, 1.5};
    const auto ask = [&] { return epoch.cells(false, 0.01, cut).cells.empty() ? Enclosure{0, 0} : Enclosure{1, 1}; };
    stops += ended(ask, most).is_stopped ? 1 : 0;
    expect_same_cells(epoch.cells(false, 0.01, cut), whole);
  }
  EXPECT_GE(stops, 3);
  stops = 0;
  for (const std::uint64_t most : {10U, 1000U, 20'000U}) {
    const ReplacedEpoch pair{10, 2};
    const auto ask = [&] { return pair.cells(true, 0.05).cells.empty() ? Enclosure{0, 0} : Enclosure{1, 1}; };
    stops += ended(ask, most).is_stopped ? 1 : 0;
    expect_same_cells(pair.cells(true, 0.05), whole_pair);
  }
  EXPECT_EQ(stops, 3);
}

}  // namespace
}  // namespace surety::accounting::stopped_questions_test
