#include <surety/accounting/ledger/filter.h>

#include <gtest/gtest.h>
#include <mpfr.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <support/foreign_floating_point.h>
#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/accounting/accountants/composition/composition.h>
#include <surety/accounting/accountants/contour/contour.h>
#include <surety/accounting/answers/asked.h>
#include <surety/accounting/answers/group.h>
#include <surety/accounting/answers/tradeoff.h>
#include <surety/accounting/calibration/best_cost.h>
#include <surety/accounting/calibration/solve.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/interval.h>

namespace surety::accounting::foreign_floating_point_test {
namespace {

using reference::foreign_environments;
using reference::in;

constexpr auto adjacency = Adjacency::add_or_remove_one;

Event event_of(const std::string& text) { return parse_event(text, adjacency); }

/// What each accountant says of events that each of them knows; a refusal is no answer.
std::vector<Enclosure> answers() {
  std::vector<Enclosure> all;
  const auto ask = [&](const char* text, const std::vector<Question>& questions) {
    const Event event = event_of(text);
    for (AccountantPlace i = 0; i < accountants_asked; ++i) {
      for (const auto& question : questions) {
        const auto opinion = opinion_of(i, event, question, {.width = 0.05});
        if (opinion.value) all.push_back(*opinion.value);
      }
    }
  };
  ask("gaussian(1)", {Epsilon{0.5}, Epsilon{38.2}, Delta{1e-310}});
  for (const auto* text : {"repeat(10, poisson(0.1, gaussian(1)))", "repeat(5, pure(0.1))", "repeat(4, poisson(0.01, gaussian(0.1)))",
                           "repeat(3, exponential(0.2))", "compose(laplace(2), discrete_laplace(3, 2))"}) {
    ask(text, {Delta{1e-6}});
  }
  const Target target{Epsilon{1}, Delta{1e-6}, adjacency};
  const auto noise = [](double z) { return gaussian(NoiseMultiplier{z}, adjacency); };
  all.push_back(solve(noise, target, {.name = "noise multiplier", .lowest = 0x1p-60, .highest = 0x1p60}, best_cost(target)).epsilon);
  all.push_back(largest_mu(Epsilon{1}, Delta{1e-310}));
  all.push_back(gaussian_tradeoff(Mu{1}, Probability{1e-12}));
  all.push_back(group_delta(Epsilon{0.1}, 1e-310, Count{3}));
  for (const auto kind : {FilterKind::gaussian, FilterKind::zcdp, FilterKind::renyi}) {
    const Filter filter{{target, kind}};
    all.push_back(filter.limit());
    all.push_back(filter.spent(Releases::of(event_of("repeat(3, gaussian(7))"))));
  }
  all.push_back((Interval{1e-310, 64} * Interval{3, 64}).enclosure());
  all.push_back((Interval{1e-200, 64} * Interval{1e-110, 64}).enclosure());
  return all;
}

TEST(ForeignFloatingPoint, EveryAnswerIsTheSameInEveryEnvironment) {
  const auto expected = answers();
  ASSERT_GT(expected.size(), 35U);
  for (const auto& environment : foreign_environments()) {
    const auto found = in(environment, [] { return answers(); });
    ASSERT_EQ(found.size(), expected.size()) << environment.name;
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].lower, expected[i].lower) << environment.name << ", answer " << i;
      EXPECT_EQ(found[i].upper, expected[i].upper) << environment.name << ", answer " << i;
    }
  }
}

TEST(ForeignFloatingPoint, SubnormalDeltasAreEnclosedWhereTheyAreFlushed) {
  const Event event = event_of("gaussian(1)");
  for (const auto& environment : foreign_environments()) {
    const auto [delta, epsilon] = in(environment, [&] {
      return std::pair{quick_delta(event, Epsilon{38.2}), quick_epsilon(event, Delta{1e-310})};
    });
    EXPECT_TRUE(delta.contains(6.4086e-313) || (delta.lower > 6.40855e-313 && delta.upper < 6.40865e-313)) << environment.name;
    EXPECT_TRUE(epsilon.lower > 38.065 && epsilon.upper < 38.067) << environment.name << epsilon.lower << " " << epsilon.upper;
  }
}

TEST(ForeignFloatingPoint, ThreadsOfAForeignProcessHaveItToo) {
  const Event event = event_of("gaussian(1)");
  const auto expected = delta(Contour{}, event, Epsilon{38.2});
  for (const auto& environment : foreign_environments()) {
    const auto found = in(environment, [&] {
      Enclosure result{0, 1};
      std::thread{[&] { result = delta(Contour{}, event, Epsilon{38.2}); }}.join();
      return result;
    });
    EXPECT_EQ(found, expected) << environment.name;
  }
}

TEST(ForeignFloatingPoint, ComesBackAfterAnError) {
  const auto environment = foreign_environments().front();
  const auto [before, after] = in(environment, [] {
    const auto at_first = reference::control_words();
    try {
      static_cast<void>(delta(ClosedForm{}, event_of("exponential(1)"), Epsilon{1}));
    } catch (const Error&) {
    }
    return std::pair{at_first, reference::control_words()};
  });
  EXPECT_EQ(before, after);
}

// As a library leaves them that emulates doubles by MPFR: its exponents, its default precision and rounding.
TEST(ForeignMpfr, DefaultsAndExponentsOnlyWiden) {
  struct Keep {
    mpfr_exp_t least = mpfr_get_emin();
    mpfr_exp_t largest = mpfr_get_emax();
    mpfr_prec_t precision = mpfr_get_default_prec();
    mpfr_rnd_t rounding = mpfr_get_default_rounding_mode();
    ~Keep() {
      mpfr_set_emin(least);
      mpfr_set_emax(largest);
      mpfr_set_default_prec(precision);
      mpfr_set_default_rounding_mode(rounding);
    }
  } keep;
  const std::vector<std::pair<std::string, Question>> asked{{"gaussian(1)", Epsilon{1}},           {"gaussian(1)", Epsilon{30}},
                                                            {"gaussian(1)", Delta{1e-6}},          {"repeat(7, pure(0.2))", Delta{1e-9}},
                                                            {"repeat(7, laplace(3))", Epsilon{1}}, {"repeat(90, zcdp(0.1))", Delta{1e-9}}};
  std::vector<Enclosure> narrow;
  for (const auto& [text, question] : asked) {
    const auto* at = std::get_if<Epsilon>(&question);
    narrow.push_back(at != nullptr ? quick_delta(event_of(text), *at) : quick_epsilon(event_of(text), std::get<Delta>(question)));
  }
  mpfr_set_emin(-1073);
  mpfr_set_emax(1024);
  mpfr_set_default_prec(11);
  mpfr_set_default_rounding_mode(MPFR_RNDZ);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    for (const auto accountant : {place_of<ClosedForm>, place_of<Contour>, place_of<Zcdp>, place_of<Composition::Optimal>}) {
      const auto found = opinion_of(accountant, event_of(asked[i].first), asked[i].second, {});
      EXPECT_TRUE(!found.value || overlap(*found.value, narrow[i])) << found.accountant << " " << asked[i].first;
    }
  }
}

}  // namespace
}  // namespace surety::accounting::foreign_floating_point_test
