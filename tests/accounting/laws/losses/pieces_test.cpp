#include <surety/accounting/laws/losses/pieces.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <support/real.h>

namespace surety::accounting::pieces_test {
namespace {

using laws::GaussianShape;
using laws::Piece;
using reference::Real;

constexpr mpfr_prec_t bits = 160;
Real real(double x) { return Real{x, bits}; }

/// The mass of a standard normal between two numbers, each taken from the tail that it is nearer to.
Real normal_mass(const Real& from, const Real& to) {
  const Real root = sqrt(real(2));
  if (real(0) < from) return (erfc(from / root) - erfc(to / root)) / 2.0;
  return (erfc(-to / root) - erfc(-from / root)) / 2.0;
}

/// How far a computed number is from the exact one, as a share of the former.
double off(const Real& exact, const Real& computed) { return std::abs(((exact - computed) / computed).nearest_double()); }

struct Worst {
  double mass = 0;  // error over what is claimed
  double ratio = 0;
};

/// Both masses of many intervals are within what their pieces claim.
Worst check(double multiplier, const std::vector<std::pair<double, double>>& intervals) {
  const GaussianShape shape{GaussianBase{multiplier}};
  const Real shift = 1.0 / real(multiplier);
  Worst worst;
  for (const auto& [from, to] : intervals) {
    const Piece piece = shape.piece(from, to);
    const Real q = normal_mass(real(from), real(to));
    const Real p = normal_mass(real(from) - shift, real(to) - shift);
    const double mass_off = off(q, real(piece.mass) * exp(real(piece.log_scale)));
    const double ratio_off = off(p / q, real(piece.ratio) * exp(real(piece.loss)));
    EXPECT_LE(mass_off, piece.mass_error) << multiplier << ": " << from << " " << to;
    EXPECT_LE(ratio_off, piece.ratio_error) << multiplier << ": " << from << " " << to;
    worst.mass = std::max(worst.mass, mass_off / piece.mass_error);
    worst.ratio = std::max(worst.ratio, ratio_off / piece.ratio_error);
  }
  return worst;
}

/// Intervals of this length, in units of what a series takes, that begin somewhere between -reach and reach.
std::vector<std::pair<double, double>> intervals(double length, double low, double high, double multiplier) {
  std::mt19937_64 bits_of{20240613};
  std::vector<std::pair<double, double>> all;
  for (int i = 0; i < 60; ++i) {
    const double at = std::uniform_real_distribution<double>{low, high}(bits_of);
    const double far = 1 + std::max(std::abs(at), std::abs(at - 1 / multiplier));
    all.emplace_back(at, at + length * laws::narrow / far * std::uniform_real_distribution<double>{0.5, 0.99}(bits_of));
  }
  return all;
}

// Narrow ones by their series, wider ones by sums of those, the widest by tails; near the middle and far out, with much noise and with little.
TEST(GaussianPieces, HaveBothMassesWithinTheirErrors) {
  for (const double multiplier : {7.3, 1.0, 0.31, 0.02}) {
    const double reach = 1 / multiplier + 9;
    for (const double length : {1e-4, 1.0, 5.0, 23.0, 40.0, 300.0}) {
      const auto worst = check(multiplier, intervals(length, -9, reach, multiplier));
      EXPECT_GT(worst.mass, 0.01) << multiplier << " " << length;
    }
  }
}

TEST(GaussianPieces, NeedTheErrorsOfTheirMiddles) {
  // Far out a middle that is rounded moves m^2 / 2 by many units.
  EXPECT_GT(check(1.0, intervals(0.9, 30, 36, 1.0)).mass, 0.1);
  EXPECT_GT(check(0.02, intervals(0.9, 20, 40, 0.02)).ratio, 0.02);
}

// Next to a large shift, that of the other law is rounded by many units of what is left of the coordinate.
TEST(GaussianPieces, NeedTheErrorOfARoundedShift) {
  EXPECT_GT(check(0.0003, intervals(60, 1 / 0.0003 + 0.1, 1 / 0.0003 + 3, 0.0003)).ratio, 0.01);
  for (const double width : {0.5, 2.0, 20.0}) {
    std::vector<std::pair<double, double>> wide;
    for (int i = 0; i < 60; ++i) wide.emplace_back(1 / 0.003 + 0.03 * i, 1 / 0.003 + 0.03 * i + width);
    EXPECT_GT(check(0.003, wide).ratio, 0.005);
  }
}

TEST(GaussianPieces, LeaveAtMostTheMassThatIsCut) {
  // The last shift is so large that a coordinate is rounded by almost 1.
  for (const double log_mass : {-1.0, -20.0, -200.0, -220.0}) {
    for (const double shift : {0.0, 3.3, 1e6, 1e16}) {
      const double coordinate = shift + laws::tail_point(log_mass);
      const Real beyond = erfc((real(coordinate) - real(shift)) / sqrt(real(2))) / 2.0;
      const Real bound{static_cast<double>(laws::mass_beyond(log_mass, shift).value() * 1e300L), bits};
      EXPECT_TRUE(beyond * 1e300 <= bound) << log_mass << " " << shift;
      EXPECT_TRUE(shift > 1e6 || bound <= exp(real(log_mass) + 1e-6) * 1e300) << log_mass << " " << shift;
    }
  }
}

}  // namespace
}  // namespace surety::accounting::pieces_test
