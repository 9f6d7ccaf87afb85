// A curve on a grid against the sums that it stands for, at 200 bits.
#include <surety/accounting/accountants/pld/composed_curve.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include <support/real.h>

namespace surety::accounting::pld::composed_curve_test {
namespace {

using reference::Real;
Real real(long double x) {
  const auto high = static_cast<double>(x);
  return Real{high, 200} + static_cast<double>(x - static_cast<long double>(high));
}

constexpr double first_loss = -3.25;
constexpr double log_scale = -2.5;

struct Case {
  double s;
  double step;
};
const std::vector<Case> cases{{0.5, 0x1p-7}, {3, 0x1p-10}, {40, 0x1p-5}, {100, 0x1p-5}, {2, 3}};

std::vector<double> drawn_entries(const Case& c) {
  std::mt19937_64 bits{20261125};
  std::vector<double> entries(64);
  // They rise about as fast as their weights fall, so that all count.
  for (std::size_t i = 0; i < entries.size(); ++i) {
    entries[i] = std::uniform_real_distribution<double>{0, 1}(bits)*std::exp(std::min(1.0, c.s * c.step) * static_cast<double>(i) * 0.9);
  }
  return entries;
}

ComposedCurve curve_of(const Case& c, std::vector<double> entries) {
  ComposedCurve curve;
  curve.grid = {c.step, c.s};
  curve.start = first_loss;
  curve.log_scale = log_scale;
  curve.accumulate(std::move(entries));
  return curve;
}

Real loss(const Case& c, std::size_t i) { return first_loss + real(c.step) * static_cast<double>(i); }
/// The weight of what lies so far above an epsilon that lies `below` under entry j.
Real weight(const Case& c, std::size_t j, std::size_t i, double below) {
  return exp(log_scale - c.s * loss(c, i)) * -expm1(-(loss(c, i) - loss(c, j) + below));
}

TEST(ComposedCurve, IsTheSumOfItsEntries) {
  for (const auto& c : cases) {
    const auto entries = drawn_entries(c);
    const auto curve = curve_of(c, entries);
    for (std::size_t j = 0; j < entries.size(); j += 7) {
      for (const double below : {0.0, 0.3 * c.step, c.step}) {
        Real truth = real(0);
        for (std::size_t i = j; i < entries.size(); ++i) truth = truth + entries[i] * weight(c, j, i, below);
        SCOPED_TRACE(testing::Message() << c.s << " " << c.step << " entry " << j << " below " << below);
        const auto sum = curve.sum(j, below);
        EXPECT_LE(truth, real(sum.value) + real(sum.rounding));
        EXPECT_GE(truth, real(sum.value) - real(sum.rounding));
        EXPECT_LE(truth, real(curve.upper(j, below)));
        EXPECT_GE(truth, real(curve.lower(j, below)));
        EXPECT_LT(static_cast<double>(sum.rounding), 1e-11 * (1 + c.s * c.step) * truth.nearest_double() + 1e-200);
      }
    }
  }
}

// The largest that errors of all entries add up to, and the largest that one image does.
TEST(ComposedCurve, BoundsErrorsOfEntriesAndImages) {
  for (const auto& c : cases) {
    auto curve = curve_of(c, std::vector<double>(512, 0.0));
    curve.entry_error = 1e-9;
    Real all = real(0);
    for (std::size_t i = 0; i < 512; ++i) all = all + 1e-9 * weight(c, 0, i, 0.5 * c.step);
    const double of_entries = static_cast<double>(curve.sum(0, 0.5 * c.step).rounding);
    EXPECT_GE(of_entries, all.rounded_down()) << c.s;
    EXPECT_LE(of_entries, all.rounded_up() * (1 + 2 / (c.s * c.step))) << c.s;

    curve.wrapped_right = 0.125;
    // The best place for it: e^-x = s / (s + 1).
    const Real place = log1p(1 / real(c.s));
    const Real image = 0.125 * exp(log_scale - c.s * (loss(c, 7) + place - c.step)) * -expm1(-place);
    const auto found = static_cast<double>(curve.aliasing(7));
    EXPECT_GE(found, image.rounded_down()) << c.s;
    EXPECT_LE(found, image.rounded_up() * (1 + 1e-11)) << c.s;
    // What comes from the left counts for at most so much.
    curve.wrapped_right = 0;
    curve.wrapped_left = 1e300;
    curve.faded = 1e-7L;
    EXPECT_GE(curve.aliasing(7), 1e-7L);
    EXPECT_LE(curve.aliasing(7), 1e-7L * (1 + 1e-12L));
  }
}

TEST(ComposedCurve, FallsBelowChernoffsBound) {
  for (const auto& c : cases) {
    auto curve = curve_of(c, drawn_entries(c));
    curve.log_total = 5;
    curve.infinite_more = 1e-40L;
    const Real place = log1p(1 / real(c.s));
    const Real log_truth = 5 + log_scale - c.s * real(1.5) + (c.s * (c.step - place)) + log(-expm1(-place));
    const double truth = exp(log_truth).nearest_double() + 1e-40;
    const auto found = static_cast<double>(curve.chernoff(1.5L));
    EXPECT_GE(found, truth * (1 - 1e-15)) << c.s;
    EXPECT_LE(found, truth * (1 + 1e-11)) << c.s;
    // And back, never below.
    if (!(truth > 1e-30)) continue;
    const auto back = static_cast<double>(curve.chernoff_epsilon(curve.chernoff(1.5L)));
    EXPECT_GE(back, 1.5 * (1 - 1e-15)) << c.s;
    EXPECT_LE(back, 1.5 * (1 + 1e-11)) << c.s;
  }
}

}  // namespace
}  // namespace surety::accounting::pld::composed_curve_test
