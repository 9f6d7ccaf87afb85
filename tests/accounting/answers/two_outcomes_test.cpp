// Releases of two outcomes that keep to stated divergences: every order on a dense grid, and what they cost.
#include <surety/accounting/answers/two_outcomes.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <support/real.h>
#include <surety/accounting/accountants/zcdp/zcdp.h>
#include <surety/accounting/answers/best.h>
#include <surety/accounting/events/event_kinds.h>

namespace surety::accounting::two_outcomes_test {
namespace {

using reference::Real;

Event event_of(const std::string& text) { return parse_event(text, Adjacency::add_or_remove_one); }

/// t times the divergence of order 1 + t, the larger of both directions.
Real log_moment(const TwoOutcomes& pair, const Real& t) {
  const auto one_way = [&](const Real& p, const Real& q) {
    return log(p * exp(t * log(p / q)) + (1.0 - p) * exp(t * log((1.0 - p) / (1.0 - q))));
  };
  const Real p{pair.p, 200};
  const Real q{pair.q, 200};
  const Real one = one_way(p, q);
  const Real other = one_way(q, p);
  return one < other ? other : one;
}

/// The largest ratio of a divergence of the pair to its bound, over many orders.
double largest_share(const TwoOutcomes& pair, const Event& leaf) {
  double most = 0;
  if (const auto* e = std::get_if<Event::RenyiCurve>(&leaf.node())) {
    for (const auto& [order, bound] : e->bounds.all()) {
      const Real t = Real{order, 200} - 1.0;
      most = std::max(most, (log_moment(pair, t) / (t * bound)).nearest_double());
    }
    return most;
  }
  const auto& e = std::get<Event::Concentrated>(leaf.node());
  const auto share_at = [&](double s) {
    const Real t{std::exp(s), 200};
    return (log_moment(pair, t) / (t * (e.xi.value() + e.rho.value() * (1.0 + t)))).nearest_double();
  };
  double at = 0;
  for (double s = -13; s < 9; s += 0.1) {
    const double share = share_at(s);
    if (share > most) most = share, at = s;
  }
  // Between all orders that are listed.
  for (double s = at - 0.1; s < at + 0.1; s += 0.0007) most = std::max(most, share_at(s));
  return most;
}

TEST(TwoOutcomes, KeepToEveryOrderOfWhatIsStated) {
  for (const char* text : {"zcdp(0.25)", "zcdp(2.63)", "zcdp(0.001)", "zcdp(20)", "zcdp(0.1, 0.05)", "renyi(8, 1)", "renyi(2, 0.1)",
                           "renyi(1.5, 0.2, 4, 0.9, 32, 9)"}) {
    const Event event = event_of(text);
    for (const Question question : {Question{Delta{1e-10}}, Question{Delta{0.3}}, Question{Epsilon{0}}}) {
      const auto pair = two_outcomes(event, question);
      ASSERT_TRUE(pair) << text;
      EXPECT_TRUE(keeps_divergences(*pair, event)) << text;
      const double share = largest_share(*pair, event);
      EXPECT_LE(share, 1) << text << ' ' << pair->p << ' ' << pair->q;
      EXPECT_GE(share, 0.999) << text << " leaves nothing to gain";
    }
  }
}

// For the farthest pair that `keeps_divergences` accepts, the divergences also hold at orders between the tested ones, in both directions.
TEST(TwoOutcomes, AreRefusedWhereAnyOrderIsBroken) {
  for (const char* text : {"zcdp(0.0371)", "zcdp(0.3, 0.02)", "renyi(3, 0.4, 9, 2)"}) {
    const Event event = event_of(text);
    for (const double p : {3.3e-6, 0.6}) {
      double low = 0;
      double high = 60;
      for (int i = 0; i < 36; ++i) {
        const double middle = 0.5 * (low + high);
        (keeps_divergences({p, p * std::exp(-middle)}, event) ? low : high) = middle;
      }
      const TwoOutcomes last{p, p * std::exp(-low)};
      EXPECT_TRUE(keeps_divergences(last, event)) << text << ' ' << p;
      EXPECT_LE(largest_share(last, event), 1) << text << ' ' << p;
      EXPECT_GE(largest_share(last, event), 0.998) << text << ' ' << p;
      const TwoOutcomes swapped{last.q, last.p};
      EXPECT_LE(largest_share(swapped, event), 1);
      EXPECT_TRUE(keeps_divergences(swapped, event)) << text << ' ' << p;
      const double farther = p * std::exp(-low * 1.01 - 1e-6);
      EXPECT_FALSE(keeps_divergences({p, farther}, event)) << text << ' ' << p;
      EXPECT_FALSE(keeps_divergences({farther, p}, event)) << text << ' ' << p << ", the other direction";
    }
  }
  EXPECT_FALSE(keeps_divergences({0.5, 0}, event_of("zcdp(1)")));
  EXPECT_FALSE(keeps_divergences({1, 0.5}, event_of("renyi(2, 9)")));
  EXPECT_FALSE(keeps_divergences({0.5, 0.4}, event_of("gaussian(1)")));
}

TEST(TwoOutcomes, CostWhatTheirHockeySticksSay) {
  const TwoOutcomes pair{0.3, 0.01};
  EXPECT_NEAR(lower_end(pair, Epsilon{1.2}), 0.3 - std::exp(1.2) * 0.01, 1e-15);
  EXPECT_LE(lower_end(pair, Epsilon{1.2}), (Real{0.3, 200} - exp(Real{1.2, 200}) * 0.01).rounded_up());
  EXPECT_NEAR(lower_end(pair, Delta{0.1}), std::log(0.2 / 0.01), 1e-14);
  EXPECT_EQ(lower_end(pair, Delta{0.3}), 0);
  EXPECT_EQ(lower_end(pair, Epsilon{9}), 0);
}

TEST(TwoOutcomes, MeetTheUpperBoundsOfWhatStatesDivergences) {
  for (const auto& [text, delta, least, share] : {std::tuple{"renyi(8, 1)", 1e-6, 2.5429, 1e-3},
                                                  {"zcdp(2.63)", 1e-10, 17.43, 1e-4},
                                                  {"zcdp(0.25)", 1e-5, 3.1889, 1e-4},
                                                  {"zcdp(0.1, 0.05)", 1e-6, 1.5715, 1e-4},
                                                  {"renyi(2, 0.1)", 1e-5, 7.87, 0.5}}) {
    const auto found = best_epsilon(event_of(text), Delta{delta}).value;
    EXPECT_GE(found.lower, least) << text;
    EXPECT_LE(found.width(), share * found.upper) << text;
  }
  const auto variation = best_delta(event_of("zcdp(0.1)"), Epsilon{0}).value;
  EXPECT_LE(variation.width(), 1e-5) << "the total variation is attained";
  // Alone: what is attained once need not be by several, or by users of several records.
  EXPECT_FALSE(two_outcomes(event_of("repeat(2, zcdp(0.1))"), Delta{1e-6}));
  EXPECT_FALSE(two_outcomes(event_of("users(2, zcdp(0.1))"), Delta{1e-6}));
  EXPECT_FALSE(two_outcomes(event_of("poisson(0.1, zcdp(0.1))"), Delta{1e-6}));
  EXPECT_FALSE(two_outcomes(event_of("gaussian(1)"), Delta{1e-6}));
  EXPECT_TRUE(two_outcomes(event_of("repeat(1, zcdp(0.1))"), Delta{1e-6}));
}

TEST(TwoOutcomes, BoundQuickEpsilonsToo) {
  const Event event = parse_event("zcdp(1)", Adjacency::zero_out);
  const auto quick = quick_epsilon(event, Delta{1e-6});
  EXPECT_GT(quick.lower, 7.76);
  EXPECT_LT(quick.upper, 7.77);
}

}  // namespace
}  // namespace surety::accounting::two_outcomes_test
