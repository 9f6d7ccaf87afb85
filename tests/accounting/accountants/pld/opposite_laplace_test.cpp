// A Poisson batch of Laplace noise on a sum, of which one record is replaced: the curve in closed form, and of many pairs of records in the plane by
// integration.
#include <surety/accounting/accountants/pld/pld.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

#include <support/real.h>
#include <surety/accounting/events/event.h>

namespace surety::accounting::opposite_laplace_test {
namespace {

using reference::Real;
Real real(double x) { return Real{x, 300}; }

/// The integral of max(0, P - e^epsilon Q) for opposite records, x its place: from where P is more to 1, and beyond.
Real curve(double q, double b, double epsilon) {
  const Real factor = exp(real(epsilon));
  const Real inverse = 1.0 / real(b);
  const Real missed = (factor - 1.0) * (1.0 - real(q)) + factor * q * exp(-inverse);
  if (!(missed < q * exp(inverse))) return real(0);
  const Real from = (1.0 + b * log(missed / q)) / 2.0;
  const Real within = q * exp(-inverse) * (exp(inverse) - exp(from / b)) / 2.0 - missed * (exp(-from / b) - exp(-inverse)) / 2.0;
  return within + (q * exp(inverse) - missed) * exp(-inverse) / 2.0;
}

Event batch(double q, double b) { return poisson(SamplingRate{q}, laplace_record_sum(NoiseScale{b}, Adjacency::replace_one)); }

TEST(OppositeLaplace, ContainsItsCurve) {
  for (const double q : {1e-9, 1e-4, 0.01, 0.3, 0.9, 1 - 1e-9}) {
    for (const double b : {0.02, 0.3, 1.0, 4.0, 1e3}) {
      const double largest = 2 / b;
      for (const double share : {0.0, 0.01, 0.3, 0.9}) {
        const double epsilon = share * std::log1p(q * std::expm1(std::min(largest, 600.0)));
        const auto found = delta(Pld{.width = 1e-3}, batch(q, b), Epsilon{epsilon});
        const Real truth = curve(q, b, epsilon);
        SCOPED_TRACE(::testing::Message() << q << " " << b << " " << epsilon);
        EXPECT_GE(truth, found.lower);
        EXPECT_LE(truth, found.upper);
      }
    }
  }
}

TEST(OppositeLaplace, IsNarrow) {
  for (const double q : {0.001, 0.1, 0.7}) {
    const auto found = epsilon(Pld{.width = 1e-6}, batch(q, 1), Delta{q / 1000});
    EXPECT_LE(found.upper - found.lower, 1e-6);
    EXPECT_GE(curve(q, 1, found.lower * (1 - 1e-12)), q / 1000);
    EXPECT_LE(curve(q, 1, found.upper), q / 1000);
  }
}

/// delta between a batch with u, or without, and one with v, or without, in the plane: by the middles of squares whose sides are at the places where
/// densities have corners, so that within one square each is an exponential.
double in_the_plane(double q, double b, const std::array<double, 2>& u, const std::array<double, 2>& v, double epsilon) {
  std::vector<double> sides[2];
  for (int i = 0; i < 2; ++i) {
    std::vector<double> corners{-12 * b - 1, std::min(u[i], v[i]), std::max(u[i], v[i]), 0, 12 * b + 1};
    std::sort(corners.begin(), corners.end());
    for (std::size_t j = 0; j + 1 < corners.size(); ++j) {
      for (int k = 0; k < 40; ++k) sides[i].push_back(corners[j] + (corners[j + 1] - corners[j]) * k / 40);
    }
    sides[i].push_back(corners.back());
  }
  double sum = 0;
  for (std::size_t i = 0; i + 1 < sides[0].size(); ++i) {
    for (std::size_t j = 0; j + 1 < sides[1].size(); ++j) {
      const double x = (sides[0][i] + sides[0][i + 1]) / 2;
      const double y = (sides[1][j] + sides[1][j + 1]) / 2;
      const double area = (sides[0][i + 1] - sides[0][i]) * (sides[1][j + 1] - sides[1][j]);
      const auto at = [&](const std::array<double, 2>& w) {
        return std::exp(-(std::abs(x - w[0]) + std::abs(y - w[1])) / b) / (4 * b * b);
      };
      const double rest = (1 - q) * at({0, 0});
      sum += area * std::max(0.0, rest + q * at(u) - std::exp(epsilon) * (rest + q * at(v)));
    }
  }
  return sum;
}

TEST(OppositeLaplace, ContainsEveryPairOfRecordsInThePlane) {
  std::mt19937_64 words{7};
  const auto unit = [&] { return static_cast<double>(words() >> 11) * 0x1p-53; };
  double nearest = 0;
  for (int i = 0; i < 40; ++i) {
    const auto record = [&] {
      const double share = i % 3 == 0 ? 1 : unit();
      const double size = i % 2 == 0 ? 1 : unit();
      return std::array{(unit() < 0.5 ? -1 : 1) * share * size, (unit() < 0.5 ? -1 : 1) * (1 - share) * size};
    };
    const auto u = record();
    const auto v = record();
    const double q = 0.2 + 0.7 * unit();
    const double b = 0.5 + unit();
    const double epsilon = 0.5 * unit() * std::log1p(q * std::expm1(2 / b));
    const double truth = in_the_plane(q, b, u, v, epsilon);
    const double bound = delta(Pld{.width = 1e-4}, batch(q, b), Epsilon{epsilon}).upper;
    EXPECT_LE(truth, bound * (1 + 2e-3)) << u[0] << " " << u[1] << ", " << v[0] << " " << v[1];
    nearest = std::max(nearest, truth / bound);
  }
  EXPECT_GT(nearest, 0.99);
}

TEST(OppositeLaplace, IsOfOneSumAlone) {
  const auto refused = [](const std::string& text) {
    try {
      (void)parse_event(text, Adjacency::replace_one);
    } catch (const Error& error) {
      return error.code() == ErrorCode::invalid_argument;
    }
    return false;
  };
  EXPECT_TRUE(refused("poisson(0.1, laplace(1))"));
  EXPECT_TRUE(refused("poisson(0.1, repeat(2, laplace_record_sum(1)))"));
  EXPECT_TRUE(refused("poisson(0.1, compose(laplace_record_sum(1), record_sum(1)))"));
  EXPECT_TRUE(refused("cyclic(2, 5, 0.1, repeat(2, laplace_record_sum(1)))"));
  EXPECT_TRUE(refused("users(2, poisson(0.1, laplace_record_sum(1)))"));
  EXPECT_TRUE(refused("allocated(5, laplace_record_sum(1))"));
  EXPECT_TRUE(refused("laplace_record_sum(5e-324)"));
}

TEST(OppositeLaplace, AloneIsLaplaceNoise) {
  const auto cost = [](const std::string& text, Adjacency adjacency) { return epsilon(Pld{}, parse_event(text, adjacency), Delta{1e-6}); };
  const auto same = [](const Enclosure& a, const Enclosure& b) { return a.lower == b.lower && a.upper == b.upper; };
  EXPECT_TRUE(same(cost("laplace_record_sum(3)", Adjacency::replace_one), cost("laplace(1.5)", Adjacency::replace_one)));
  EXPECT_TRUE(same(cost("poisson(1, laplace_record_sum(3))", Adjacency::replace_one), cost("laplace(1.5)", Adjacency::replace_one)));
  for (const auto adjacency : {Adjacency::add_or_remove_one, Adjacency::zero_out}) {
    EXPECT_TRUE(same(cost("laplace_record_sum(3)", adjacency), cost("laplace(3)", adjacency)));
    EXPECT_TRUE(same(cost("poisson(0.1, laplace_record_sum(3))", adjacency), cost("poisson(0.1, laplace(3))", adjacency)));
  }
}

}  // namespace
}  // namespace surety::accounting::opposite_laplace_test
