#include <surety/mechanisms/queries/record_sum.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include <support/plain_record_sum.h>
#include <support/refusal.h>

namespace surety::mechanisms::record_sum_test {
namespace {

using reference::PlainRecordSum;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

__extension__ using Wide = __int128;

using Steps = std::vector<std::int64_t>;

Wide squared_norm(const Steps& steps) {
  return std::accumulate(steps.begin(), steps.end(), Wide{0}, [](Wide sum, std::int64_t k) { return sum + Wide{k} * k; });
}

Steps difference(const Steps& a, const Steps& b) {
  Steps result(a.size());
  std::transform(a.begin(), a.end(), b.begin(), result.begin(), std::minus{});
  return result;
}

/// Whether squared <= (factor C / step)^2, in exact arithmetic: C / step = mantissa 2^exponent.
bool within(Wide squared, int factor, const RecordSum::Options& options) {
  int exponent = 0;
  const double ratio = options.clip.value() / options.grid.step();
  const auto mantissa = static_cast<Wide>(std::ldexp(std::frexp(ratio, &exponent), 53));
  const int shift = 2 * (53 - exponent);  // from 24 to 104
  const Wide bound = mantissa * mantissa * factor * factor;
  return squared <= bound >> shift;  // an integer is at most a real exactly when it is at most its integer part
}

Steps contribution(const RecordSum::Options& options, std::span<const double> record) {
  RecordSum sum{options};
  sum.add(record);
  return sum.sum().steps;
}

/// Any bits as a double: every exponent is equally likely, NaN, infinities, subnormals and -0 among them.
rc::Gen<double> any_double() {
  return rc::gen::oneOf(rc::gen::map(rc::gen::arbitrary<std::uint64_t>(), [](std::uint64_t bits) { return std::bit_cast<double>(bits); }),
                        rc::gen::map(rc::gen::inRange(-1'000'000, 1'000'001), [](int k) { return k * 1e-6; }),
                        rc::gen::element(0.0, -0.0, 1.0, -1.0, 1e308, -1e308, 5e-324, infinity, nan, 0.1, 0x1p-20, 0.6, 0.8));
}

rc::Gen<std::vector<double>> any_record(std::size_t dimension) { return rc::gen::container<std::vector<double>>(dimension, any_double()); }

RecordSum::Options any_options() {
  const double clip = std::exp(*rc::gen::inRange(-3000, 3000) / 100.0);
  return {.clip = ClippingNorm{clip},
          .grid = {std::ilogb(clip) - *rc::gen::inRange(0, 39)},
          .dimension = *rc::gen::inRange<std::size_t>(1, 12)};
}

TEST(L2Norm, IsAccurateOverTheWholeRange) {
  EXPECT_EQ(l2_norm(std::array{3.0, -4.0}), 5);
  EXPECT_DOUBLE_EQ(l2_norm(std::array{3e-320, 4e-320}), 5e-320);
  EXPECT_DOUBLE_EQ(l2_norm(std::array{3e-200, 4e-200}), 5e-200);
  EXPECT_DOUBLE_EQ(l2_norm(std::array{-3e307, 4e307}), 5e307);
  EXPECT_EQ(l2_norm(std::array{1.7e308, 1.7e308}), infinity);
  EXPECT_EQ(l2_norm(std::array{1.0, -infinity}), infinity);
  EXPECT_TRUE(std::isnan(l2_norm(std::array{1.0, nan, 1e300})));
  EXPECT_EQ(l2_norm({}), 0);
  EXPECT_EQ(l2_norm(std::array{0.0, -0.0}), 0);
}

TEST(RecordSum, RoundsTowardZero) {
  RecordSum sum{{.clip = ClippingNorm{10}, .grid = {-1}, .dimension = 4}};
  sum.add(std::array{0.99, -0.99, 1.0, -0.2});
  sum.add(std::array{0.5, -1.49, 0.49, -0.0});
  EXPECT_EQ(sum.sum(), (GridVector{Grid{-1}, {2, -3, 2, 0}}));
}

TEST(RecordSum, ClipsLongRecordsAndLeavesShortOnesAlone) {
  const RecordSum::Options options{.clip = ClippingNorm{0.5}, .grid = {-30}, .dimension = 2};
  const auto in_units = [](const Steps& steps) {
    return static_cast<double>(steps[0]) * 0x1p-30 + static_cast<double>(steps[1]) * 0x1p-30 * 1000;
  };
  EXPECT_EQ(contribution(options, std::array{0.25, -0.375}), (Steps{1 << 28, -3 * (1 << 27)}));
  EXPECT_NEAR(in_units(contribution(options, std::array{30.0, 40.0})), 0.3 + 400, 2e-6);
  EXPECT_NEAR(in_units(contribution(options, std::array{3e307, 4e307})), 0.3 + 400, 2e-6);
}

TEST(RecordSum, ALongRecordKeepsItsWholeNorm) {
  const RecordSum::Options options{.clip = ClippingNorm{0.7}, .grid = {-35}, .dimension = 1};
  for (const double value : {0.7, 0.71, 123.4, 1e300, 1.7e308}) {
    EXPECT_EQ(contribution(options, std::array{value}).front(), static_cast<std::int64_t>(0.7 * 0x1p35)) << value;
  }
}

RC_GTEST_PROP(RecordSum, NoContributionExceedsTheClippingNorm, ()) {
  const auto options = any_options();
  const auto record = *any_record(options.dimension);
  RC_ASSERT(within(squared_norm(contribution(options, record)), 1, options));
}

RC_GTEST_PROP(RecordSum, NoScaledContributionExceedsTheClippingNormWhateverTheCallerSays, ()) {
  const auto options = any_options();
  const auto row = *any_record(options.dimension);
  const double factor = *any_double();
  const double wrong_norm = *any_double();
  RecordSum dense{options};
  dense.add_scaled(factor, row, wrong_norm);
  RC_ASSERT(within(squared_norm(dense.sum().steps), 1, options));

  // Indices in any order, repeated, negative and too large.
  const auto indices = *rc::gen::container<std::vector<int>>(options.dimension, rc::gen::inRange(-2, 14));
  RecordSum sparse{options};
  sparse.add_scaled(factor, std::span{indices}, row, wrong_norm);
  RC_ASSERT(within(squared_norm(sparse.sum().steps), 1, options));
}

RC_GTEST_PROP(RecordSum, ReplacingOneRecordMovesTheSumByAtMostItsSensitivity, ()) {
  const auto options = any_options();
  const auto shared = *rc::gen::container<std::vector<std::vector<double>>>(any_record(options.dimension));
  const auto before = *any_record(options.dimension);
  const auto after = *any_record(options.dimension);
  const auto sum_with = [&](const std::vector<double>* record) {
    RecordSum sum{options};
    for (const auto& each : shared) sum.add(each);
    if (record != nullptr) sum.add(*record);
    return sum.sum().steps;
  };
  RC_ASSERT(within(squared_norm(difference(sum_with(&before), sum_with(&after))), 2, options));
  RC_ASSERT(within(squared_norm(difference(sum_with(&before), sum_with(nullptr))), 1, options));
}

TEST(RecordSum, ReplaceOneReallyCostsTwiceTheClippingNorm) {
  const RecordSum::Options options{.clip = ClippingNorm{2}, .grid = {-10}, .dimension = 1};
  EXPECT_EQ(difference(contribution(options, std::array{9.0}), contribution(options, std::array{-9.0})), (Steps{4 << 10}));
  EXPECT_EQ(RecordSum{options}.sensitivity(Adjacency::replace_one).value(), 4);
  EXPECT_EQ(RecordSum{options}.sensitivity(Adjacency::add_or_remove_one).value(), 2);
  EXPECT_EQ(RecordSum{options}.sensitivity(Adjacency::zero_out).value(), 2);
}

RC_GTEST_PROP(RecordSum, DoesNotDependOnTheOrder, ()) {
  const auto options = any_options();
  auto records = *rc::gen::container<std::vector<std::vector<double>>>(any_record(options.dimension));
  RecordSum forward{options};
  for (const auto& record : records) forward.add(record);
  RecordSum backward{options};
  std::reverse(records.begin(), records.end());
  for (const auto& record : records) backward.add(record);
  RC_ASSERT(forward.sum() == backward.sum());
}

RC_GTEST_PROP(RecordSum, SparseRowsAreDenseRowsWithZeros, ()) {
  auto options = any_options();
  options.dimension = 12;
  const double factor = *any_double();
  const auto values = *any_record(5);
  auto chosen = *rc::gen::unique<std::vector<std::uint32_t>>(5, rc::gen::inRange<std::uint32_t>(0, 12));
  std::sort(chosen.begin(), chosen.end());
  std::vector<double> row(12);
  for (std::size_t k = 0; k < 5; ++k) row[chosen[k]] = values[k];
  RecordSum dense{options};
  dense.add_scaled(factor, row, l2_norm(values));
  RecordSum sparse{options};
  sparse.add_scaled(factor, std::span<const std::uint32_t>{chosen}, values, l2_norm(values));
  RC_ASSERT(dense.sum() == sparse.sum());
}

TEST(RecordSum, IgnoresIndicesOutOfOrderOrRange) {
  RecordSum sum{{.clip = ClippingNorm{100}, .grid = {0}, .dimension = 3}};
  const std::array indices{1, 1, 0, -1, 2, 3};
  sum.add_scaled(1, std::span<const int>{indices}, std::array{1.0, 2.0, 4.0, 8.0, 16.0, 32.0}, 40);
  EXPECT_EQ(sum.sum().steps, (Steps{0, 1, 16}));
}

TEST(RecordSum, ARecordWithoutAFiniteNormContributesZero) {
  RecordSum sum{{.clip = ClippingNorm{1}, .grid = {-4}, .dimension = 2}};
  for (const double bad : {nan, infinity, -infinity}) {
    sum.add(std::array{bad, 0.5});
    sum.add(std::array{0.5, bad});
    sum.add_scaled(bad, std::array{0.5, 0.5}, 0.7);
    sum.add_scaled(bad, std::array{0.0, 0.0}, 0);
    sum.add_scaled(0, std::array{0.5, bad}, bad);
  }
  sum.add(std::array{1.7e308, 1.7e308});
  sum.add_scaled(1e200, std::array{1e200, 0.0}, 1e200);
  EXPECT_EQ(sum.sum().steps, (Steps{0, 0}));
}

TEST(RecordSum, ExtremeButFiniteRecordsAreClippedLikeOthers) {
  const RecordSum::Options options{.clip = ClippingNorm{1}, .grid = {-4}, .dimension = 2};
  EXPECT_EQ(contribution(options, std::array{0x1p1023, -0.0}), (Steps{16, 0}));
  EXPECT_EQ(contribution(options, std::array{-0x1p1023, 5e-324}), (Steps{-16, 0}));
  EXPECT_EQ(contribution(options, std::array{5e-324, -5e-324}), (Steps{0, 0}));
  RecordSum scaled{options};
  scaled.add_scaled(-1e300, std::array{1e-300, 0.0}, 1e-300);
  scaled.add_scaled(5e-324, std::array{1e308, 0.0}, 1e308);
  EXPECT_EQ(scaled.sum().steps, (Steps{-16, 0}));
}

TEST(RecordSum, AWrongNormIsShortenedNotTrusted) {
  RecordSum sum{{.clip = ClippingNorm{1}, .grid = {-20}, .dimension = 2}};
  sum.add_scaled(1, std::array{30.0, 40.0}, 0.001);
  EXPECT_TRUE(within(squared_norm(sum.sum().steps), 1, sum.options()));
}

RC_GTEST_PROP(RecordSum, IsThePlainSumBitForBit, ()) {
  auto options = any_options();
  options.dimension = *rc::gen::inRange<std::size_t>(1, 30);
  RecordSum fast{options};
  PlainRecordSum plain{options};
  for (int record = 0; record < 10; ++record) {
    const double factor = *any_double();
    const auto row = *any_record(options.dimension);
    const double norm = *rc::gen::element(l2_norm(row), l2_norm(row), *any_double());
    fast.add_scaled(factor, row, norm);
    plain.add_scaled(factor, row, norm);
    const auto values = *rc::gen::container<std::vector<double>>(any_double());
    const auto indices = *rc::gen::container<std::vector<int>>(values.size(), rc::gen::inRange(-2, 33));
    fast.add_scaled(factor, std::span{indices}, values, norm);
    plain.add_scaled(factor, std::span{indices}, std::span{values}, norm);
  }
  RC_ASSERT(fast.sum() == plain.sum());
}

// Records whose exact norm is C or a step more or less in one coordinate: here a bound on rounding errors must not decide.
TEST(RecordSum, IsThePlainSumAtTheBoundary) {
  for (const int log2_ratio : {2, 20, 26, 27, 38, 40}) {
    const RecordSum::Options options{.clip = ClippingNorm{5}, .grid = {3 - log2_ratio}, .dimension = 9};
    const double step = options.grid.step();
    RecordSum fast{options};
    PlainRecordSum plain{options};
    for (const double excess : {-1.0, -0x1p-30, 0.0, 0x1p-30, 1.0}) {
      for (const std::size_t place : {0U, 3U, 8U}) {
        std::vector<double> row(9);
        row[place] = 3 + excess * step;
        row[(place + 4) % 9] = -4;
        // Not clipped beforehand, as far as the norm says.
        for (const double norm : {1.0, 5.0, l2_norm(row)}) {
          fast.add_scaled(1, row, norm);
          plain.add_scaled(1, row, norm);
          ASSERT_EQ(fast.sum(), plain.sum()) << log2_ratio << ' ' << excess << ' ' << place << ' ' << norm;
        }
      }
    }
  }
}

// Squares of integers that doubles lose in adding them up: the exact norm exceeds C by less than they can tell.
TEST(RecordSum, IsThePlainSumWhereDoublesAreWrong) {
  const auto check = [](const RecordSum::Options& options, const std::vector<double>& row) {
    RecordSum fast{options};
    PlainRecordSum plain{options};
    fast.add_scaled(1, row, options.clip.value() / 2);
    plain.add_scaled(1, row, options.clip.value() / 2);
    ASSERT_EQ(fast.sum(), plain.sum());
    ASSERT_TRUE(within(squared_norm(fast.sum().steps), 1, options));
    ASSERT_LT(static_cast<double>(fast.sum().steps[0]) * options.grid.step(), row[0]);  // the record was shrunk
  };
  check({.clip = ClippingNorm{5}, .grid = {-37}, .dimension = 3}, {3, 4, 0x1p-37});
  // K = 2^40 - 1 steps against C = K + 2^-9, and 400 coordinates of 2^12 steps, whose squares are a 2^-56 of K^2 each.
  std::vector<double> row(1601);
  row[0] = 0x1p40 - 1;
  for (std::size_t i = 4; i < row.size(); i += 4) row[i] = 0x1p12;
  check({.clip = ClippingNorm{0x1p40 - 1 + 0x1p-9}, .grid = {0}, .dimension = row.size()}, row);
}

TEST(RecordSum, MergesExactly) {
  const RecordSum::Options options{.clip = ClippingNorm{1}, .grid = {-40}, .dimension = 3};
  RecordSum all{options};
  RecordSum first{options};
  RecordSum second{options};
  for (int record = 0; record < 20'000; ++record) {  // more than 2^53 steps
    const std::array row{0.9, -0.1 * record, 0.3};
    all.add(row);
    (record % 3 == 0 ? first : second).add(row);
  }
  first.merge(second);
  EXPECT_EQ(first.sum(), all.sum());
  EXPECT_NE(second.sum(), all.sum());
}

// 2^13 records of 2^40 steps are as many as doubles hold.
TEST(RecordSum, IsExactBeyondTheIntegersOfDoubles) {
  RecordSum sum{{.clip = ClippingNorm{1}, .grid = {-40}, .dimension = 2}};
  constexpr std::int64_t records = 100'001;
  for (std::int64_t record = 0; record < records; ++record) sum.add_scaled(1, std::array{1.0, 0.0}, 1);
  sum.add_scaled(1, std::array{0x1p-40, 0.0}, 0x1p-40);
  EXPECT_EQ(sum.sum().steps, (Steps{(records << 40) + 1, 0}));
}

TEST(RecordSum, SaturatesInsteadOfOverflowing) {
  // 2^23 records of 2^40 steps exceed what int64 holds.
  RecordSum sum{{.clip = ClippingNorm{1}, .grid = {-40}, .dimension = 2}};
  for (int record = 0; record < 1 << 22; ++record) sum.add_scaled(-2, std::array{1.0, 0.0}, 1);
  EXPECT_EQ(sum.sum().steps, (Steps{-largest_sum, 0}));
  for (int record = 0; record < 1 << 22; ++record) sum.add_scaled(-2, std::array{1.0, 0.0}, 1);
  EXPECT_EQ(sum.sum().steps, (Steps{-largest_sum, 0}));
  // What was beyond the limit is remembered: saturating is only of the result.
  for (int record = 0; record < 3 << 21; ++record) sum.add_scaled(2, std::array{1.0, 0.0}, 1);
  EXPECT_EQ(sum.sum().steps, (Steps{-largest_sum / 2, 0}));
}

TEST(RecordSum, ClearsToTheEmptySum) {
  RecordSum sum{{.clip = ClippingNorm{1}, .grid = {-40}, .dimension = 2}};
  sum.add(std::array{1.0, 2.0});
  sum.clear();
  EXPECT_EQ(sum.sum(), (GridVector{Grid{-40}, {0, 0}}));
}

TEST(RecordSum, RefusesOptionsAndShapesThatDoNotFit) {
  EXPECT_EQ(refusal([] { RecordSum{{ClippingNorm{0.99}, Grid{0}, 1}}; }), "clipping norm over grid step is 0.99, must be from 1 to 2^40");
  EXPECT_EQ(refusal([] {
              RecordSum{{ClippingNorm{1}, Grid{-41}, 1}};
            }),
            "clipping norm over grid step is 2199023255552, must be from 1 to 2^40");
  EXPECT_EQ(refusal([] { RecordSum{{ClippingNorm{1}, Grid{-40}, 0}}; }), "dimension is 0, must be at least 1");
  RecordSum sum{{ClippingNorm{1}, Grid{-2}, 3}};
  EXPECT_EQ(refusal([&] { sum.add(std::array{1.0, 2.0}); }), "a record has 2 coordinates, must have 3");
  EXPECT_EQ(refusal([&] { sum.add_scaled(1, std::span<const int>{}, std::array{1.0}, 1); }),
            "the index list of a row has 0 coordinates, must have 1");
  EXPECT_EQ(sum.sum().steps, (Steps{0, 0, 0}));
  EXPECT_EQ(refusal([&] {
              sum.merge(RecordSum{{ClippingNorm{1}, Grid{-3}, 3}});
            }),
            "only sums of records of the same options can be merged");
}

}  // namespace
}  // namespace surety::mechanisms::record_sum_test
