#include <surety/mechanisms/queries/clipped_sum.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include <surety/base/numbers/interval.h>

#include <support/refusal.h>

namespace surety::mechanisms::clipped_sum_test {
namespace {

using reference::refusal_of;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr mpfr_prec_t precision = 200;

using Norm = std::variant<NormName, NormExponent>;
using Steps = std::vector<std::int64_t>;

const std::vector<Norm>& norms() {
  static const std::vector<Norm> all{NormName::l1,      NormName::l2,       NormName::linf,      NormExponent{2},
                                     NormExponent{2.5}, NormExponent{17.0}, NormExponent{0x1p20}};
  return all;
}

/// Whether the norm of `steps` is certainly at most `ratio`, beyond doubles.
bool is_within(const Steps& steps, const Norm& norm, double ratio) {
  const auto* const named = std::get_if<NormName>(&norm);
  const double r = named == nullptr ? std::get<NormExponent>(norm).value() : *named == NormName::l2 ? 2 : 1;
  Interval sum{0, precision};
  for (const std::int64_t step : steps) {
    if (step == 0) continue;
    const Interval size{std::abs(static_cast<double>(step)), precision};  // below 2^53
    if (named != nullptr && *named == NormName::linf) {
      if (std::abs(static_cast<double>(step)) > ratio) return false;
      continue;
    }
    if (r == 1) sum = sum + size;
    if (r == 2) sum = sum + size * size;
    if (r != 1 && r != 2) sum = sum + exp(Interval{r, precision} * log(size / Interval{ratio, precision}));
  }
  const Interval limit{ratio, precision};
  if (r == 1) return sum.enclosure().upper <= limit.enclosure().upper;
  if (r == 2) return (sum - limit * limit).enclosure().upper <= 0;
  return sum.enclosure().upper <= 1;
}

Steps contribution(const ClippedSum::Options& options, std::span<const double> row) {
  ClippedSum sum{options};
  sum.add(row);
  return sum.sum().steps;
}

rc::Gen<double> any_double() {
  return rc::gen::oneOf(rc::gen::map(rc::gen::arbitrary<std::uint64_t>(), [](std::uint64_t bits) { return std::bit_cast<double>(bits); }),
                        rc::gen::map(rc::gen::inRange(-1'000'000, 1'000'001), [](int k) { return k * 1e-6; }),
                        rc::gen::element(0.0, -0.0, 1.0, -1.0, 1e308, -1e308, 5e-324, infinity, nan, 0.1, 0x1p-20, 0.6, 0.8));
}

RC_GTEST_PROP(ClippedSum, ARowAddsAtMostItsNorm, ()) {
  const double clip = std::exp(*rc::gen::inRange(-3000, 3000) / 100.0);
  const auto dimension = *rc::gen::inRange<std::size_t>(1, 12);
  const auto row = *rc::gen::container<std::vector<double>>(dimension, any_double());
  const Grid grid{.log2_step = std::ilogb(clip) - *rc::gen::inRange(0, 39)};
  for (const auto& norm : norms()) {
    const ClippedSum::Options options{.norm = norm, .clip = ClippingNorm{clip}, .grid = grid, .dimension = dimension};
    RC_ASSERT(is_within(contribution(options, row), norm, clip * grid.steps_per_unit()));
  }
}

// Rows on the bound and hardly beyond it, where a check that errs would let a vector of too large a norm through.
TEST(ClippedSum, ARowOnTheBoundIsWithinIt) {
  for (const auto& norm : norms()) {
    for (const int log2_step : {-2, -10, -30, -38}) {
      for (const double clip : {1.0, 0.7, 3.3}) {
        const ClippedSum::Options options{.norm = norm, .clip = ClippingNorm{clip}, .grid = {.log2_step = log2_step}, .dimension = 5};
        for (const double size : {1.0, 1 + 0x1p-52, 1 + 0x1p-40, 2.0, 1e300}) {
          const std::vector<double> row(5, clip * size);
          EXPECT_TRUE(is_within(contribution(options, row), norm, clip * options.grid.steps_per_unit()))
              << log2_step << ' ' << clip << ' ' << size;
          const std::vector<double> one{0, -clip * size, 0, 0, 0};
          const auto steps = contribution(options, one);
          EXPECT_TRUE(is_within(steps, norm, clip * options.grid.steps_per_unit()));
          // Little is lost: all but what a check of powers leaves for its errors.
          EXPECT_LE(static_cast<double>(steps[1]), -clip * options.grid.steps_per_unit() * (1 - 0x1p-20) + 1);
        }
      }
    }
  }
}

TEST(ClippedSum, IsOfRowsAsTheyAre) {
  const ClippedSum::Options l1{.norm = NormName::l1, .clip = ClippingNorm{4}, .grid = {.log2_step = -4}, .dimension = 3};
  EXPECT_EQ(contribution(l1, std::array{1.0, -2.0, 0.5}), (Steps{16, -32, 8})) << "not clipped";
  EXPECT_EQ(contribution(l1, std::array{4.0, -4.0, 0.0}), (Steps{32, -32, 0}));
  ClippedSum::Options linf = l1;
  linf.norm = NormName::linf;
  EXPECT_EQ(contribution(linf, std::array{8.0, -4.0, 1.0}), (Steps{64, -32, 8}));
  for (const auto& norm : norms()) {
    ClippedSum::Options options = l1;
    options.norm = norm;
    ClippedSum sum{options};
    for (const double bad : {nan, infinity, -infinity}) sum.add(std::array{1.0, bad, 1.0});
    EXPECT_EQ(sum.sum().steps, (Steps{0, 0, 0})) << "a row that is not finite counts as zero";
    sum.add(std::array{1.0F, 0.0F, -0.5F});
    sum.add(std::array<std::int64_t, 3>{1, 0, 2});
    EXPECT_EQ(sum.sum().steps, (Steps{32, 0, 24}));
    sum.add(std::array<std::int64_t, 3>{std::numeric_limits<std::int64_t>::min(), 0, 0});
    EXPECT_LE(sum.sum().steps[0], -31) << "of l_r a step is left for what the check may err";
  }
}

TEST(ClippedSum, DoesNotDependOnTheOrder) {
  // In float32 the first row moves this sum by 2.
  ClippedSum forward{{.norm = NormName::l1, .clip = ClippingNorm{1}, .grid = {.log2_step = -30}, .dimension = 1}};
  ClippedSum backward = forward;
  for (int i = 0; i < 3000; ++i) backward.add(std::array{0.51F * 0x1p-9F});
  for (int i = 0; i < 16384; ++i) forward.add(std::array{1.0F});
  for (int i = 0; i < 16384; ++i) backward.add(std::array{1.0F});
  for (int i = 0; i < 3000; ++i) forward.add(std::array{0.51F * 0x1p-9F});
  EXPECT_EQ(forward.sum(), backward.sum());
}

TEST(ClippedSum, RefusesWhatItCannotClip) {
  const ClippedSum::Options fine{.norm = NormName::l1, .clip = ClippingNorm{1}, .grid = {.log2_step = -4}, .dimension = 2};
  auto coarse = fine;
  coarse.grid = {.log2_step = 1};
  EXPECT_TRUE(refusal_of([&] { return ClippedSum{coarse}; }).says(ErrorCode::invalid_argument, "clipping norm over grid step"));
  auto empty = fine;
  empty.dimension = 0;
  EXPECT_TRUE(refusal_of([&] { return ClippedSum{empty}; }).says(ErrorCode::invalid_argument, "dimension is 0"));
  ClippedSum sum{fine};
  EXPECT_TRUE(
      refusal_of([&] { return sum.add(std::array{1.0}), 0; }).says(ErrorCode::invalid_argument, "a row has 1 numbers, must have 2"));
}

}  // namespace
}  // namespace surety::mechanisms::clipped_sum_test
