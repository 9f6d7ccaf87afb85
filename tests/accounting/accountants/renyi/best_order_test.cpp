// The order of a conversion against all orders, and the certified conversion against the one of the search.
#include <surety/accounting/accountants/renyi/best_order.h>
#include <surety/accounting/events/event_kinds.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include <support/refusal.h>

namespace surety::accounting::renyi::best_order_test {
namespace {

constexpr auto adjacency = Adjacency::replace_one;
const Event a_gaussian = gaussian(NoiseMultiplier{2}, adjacency);

/// Of a Gaussian: order / (2 z^2).
Curve of_gaussian(double rho) {
  return [rho](At at) { return OrderBound{rho * at.order, true}; };
}
/// Finite below `end` alone.
Curve until(double end, double rho) {
  return [=](At at) {
    return OrderBound{at.order < end ? rho * at.order / (1 - at.order / end) : std::numeric_limits<double>::infinity(), true};
  };
}

/// The least of the conversion over orders 1 + e^s, s a thousandth apart.
double least(const Curve& curve, const Conversion& conversion) {
  double found = std::numeric_limits<double>::infinity();
  for (double s = std::log(1e-6); s <= std::log(1e6); s += 1e-3) {
    const double order = 1 + std::exp(s);
    const double value = conversion(curve({order, rough}).divergence, order);
    if (value < found) found = value;
  }
  return found;
}

// [CKS20, Proposition 12]: no less than what the search has in double, and more by its rounding alone.
TEST(Conversion, IsCertifiedOutward) {
  for (const double order : {1.0001, 1.5, 2.0, 17.0, 4096.5}) {
    for (const double divergence : {1e-6, 0.3, 5.0}) {
      const double epsilon = Conversion{true, std::log(1e-5)}(divergence, order);
      const double certified = certified_epsilon(divergence, order, 1e-5).upper;
      EXPECT_NEAR(certified, epsilon, 1e-10 * (1 + std::abs(epsilon))) << order;
      const double log_delta = Conversion{false, 2.5}(divergence, order);
      const double delta = certified_delta(divergence, order, 2.5).upper;
      if (log_delta < -600) {
        EXPECT_LE(delta, 1e-260) << order;
      } else {
        EXPECT_NEAR(delta / std::min(1.0, std::exp(log_delta)), 1, 1e-9) << order;
      }
    }
  }
  // log 2 - log 2 - (log delta + log 2), of a divergence of log 2 at order 2.
  EXPECT_NEAR(certified_epsilon(std::log(2.0), 2, 0.25).upper, std::log(2.0), 1e-15);
  EXPECT_GE(certified_epsilon(std::log(2.0), 2, 0.25).upper, std::log(2.0) * (1 - 1e-16));
  EXPECT_EQ(certified_delta(std::numeric_limits<double>::infinity(), 2, 1).upper, 1);
  EXPECT_EQ(certified_epsilon(std::numeric_limits<double>::infinity(), 2, 0.1).upper, std::numeric_limits<double>::infinity());
}

TEST(BestOrder, IsThatOfTheLeastAnswer) {
  for (const double rho : {1e-8, 1e-3, 0.1, 2.0, 300.0}) {
    for (const Curve& curve : {of_gaussian(rho), until(3, rho), until(40, rho)}) {
      for (const Conversion& conversion :
           {Conversion{true, std::log(1e-6)}, Conversion{true, std::log(0.3)}, Conversion{false, 3 * std::sqrt(rho)}}) {
        const OrderFound found = best_order_of(a_gaussian, curve, conversion);
        const double best = least(curve, conversion);
        EXPECT_LE(conversion(curve({found.order, rough}).divergence, found.order), best + 1e-5 * (1 + std::abs(best)))
            << rho << ", given " << conversion.given;
      }
    }
  }
}

// The end of the orders is said where the answer is there.
TEST(BestOrder, SaysThatItIsAtAnEnd) {
  EXPECT_TRUE(best_order_of(a_gaussian, of_gaussian(1e-20), {true, std::log(1e-6)}).at_end);
  EXPECT_FALSE(best_order_of(a_gaussian, of_gaussian(0.1), {true, std::log(1e-6)}).at_end);
}

// A curve that is known at few orders is worth nothing between them.
TEST(BestOrder, IsAnOrderThatIsGivenWhereTheCurveHasCornersThere) {
  const Event given = surety::renyi(RenyiBounds{{2.5, 0.3}, {6.25, 0.5}, {30, 9}}, adjacency);
  const Curve steps = [](At at) {
    return OrderBound{at.order <= 2.5 ? 0.3 : at.order <= 6.25 ? 0.5 : at.order <= 30 ? 9 : std::numeric_limits<double>::infinity(), true};
  };
  for (const Event& event : {given, compose({a_gaussian, repeat(Count{2}, given)})}) {
    const OrderFound found = best_order_of(event, steps, {true, std::log(1e-2)});
    EXPECT_EQ(found.order, 6.25);
    EXPECT_FALSE(found.at_end);
  }
}

TEST(BestIntegerOrder, IsTheBestOfAll) {
  for (const double rho : {1e-5, 1e-3, 0.02, 0.3, 4.0}) {
    for (const std::uint64_t largest : {2, 3, 64, 200}) {
      const Conversion conversion{true, std::log(1e-6)};
      const OrderFound found = best_integer_order(of_gaussian(rho), conversion, Count{largest});
      double best = 2;
      const auto value = [&](double order) { return conversion(rho * order, order); };
      for (std::uint64_t a = 2; a <= largest; ++a) {
        if (value(static_cast<double>(a)) < value(best)) best = static_cast<double>(a);
      }
      EXPECT_EQ(found.order, best) << rho << " to " << largest;
      EXPECT_EQ(found.at_end, best == 2 || best == static_cast<double>(largest));
    }
  }
  EXPECT_TRUE(refuses(
      [] {
        static_cast<void>(best_integer_order(of_gaussian(1), {true, -1}, Count{1}));
      },
      ErrorCode::invalid_argument, {"largest order is 1", "at least 2"}));
}

}  // namespace
}  // namespace surety::accounting::renyi::best_order_test
