#include <surety/mechanisms/timing/check_timing.h>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <surety/base/text/error.h>
#include <surety/mechanisms/bits/random_bits.h>
#include <surety/mechanisms/timing/noise_timing.h>
#include <surety/mechanisms/timing/time_contrasts.h>

namespace surety::mechanisms::check_timing_test {
namespace {

/// Ticks that a sampler takes.
struct FakeTime {
  std::uint64_t now = 0;
};
struct FakeClock {
  FakeTime* time;
  [[nodiscard]] std::uint64_t begin() const { return time->now; }
  [[nodiscard]] std::uint64_t end() const { return time->now; }
};

/// Values from -1000 to 1000, uniform, and times from 90 to 110 ticks, uniform, of each other independent; on top of that `extra(value, random word)` ticks.
template <class Extra>
TimingReport checked(std::uint64_t draws, Extra extra) {
  std::mt19937_64 random{20261129};
  FakeTime time;
  const auto draw = [&] {
    const auto value = static_cast<std::int64_t>(random() % 2001) - 1000;
    const std::uint64_t word = random();
    time.now += 90 + word % 21 + extra(value, word >> 32U);
    return value;
  };
  return check_timing(draw, {.seconds = TimingOptions::most_seconds, .draws = draws}, FakeClock{&time});
}

constexpr std::uint64_t million = 1'000'000;
bool is_tail(std::int64_t value) { return std::abs(value) > 990; }
const TimingContrast& tail_of(const TimingReport& report) { return report.contrasts[0]; }

TEST(CheckTiming, FindsNoLeakWhereTimeAndValueAreIndependent) {
  const auto report = checked(million, [](auto, auto) { return 0U; });
  EXPECT_EQ(report.verdict(), TimingVerdict::independent);
  EXPECT_EQ(report.verdict_text(), "independent within |t| < 4.5");
  EXPECT_EQ(report.draws, million);
  EXPECT_EQ(report.trimmed, 0U);
  EXPECT_NEAR(report.mean, 100, 0.05);
  EXPECT_NEAR(report.correlation.value(), 0, 0.005);
  for (const auto& contrast : report.contrasts) {
    if (contrast.name != "zero") {
      EXPECT_LT(std::abs(contrast.t().value()), 4) << contrast.name;
    }
  }
  EXPECT_FALSE(report.contrasts[2].t()) << "some 500 zeros are too few";
  // A tail of about 1 % and a body of 95 %.
  EXPECT_NEAR(static_cast<double>(tail_of(report).first.times.count), 1e4, 1500);
  EXPECT_NEAR(static_cast<double>(tail_of(report).second.times.count), 9.5e5, 3000);
}

TEST(CheckTiming, FindsOneTickInTheTailWithAMillionDraws) {
  const auto report = checked(million, [](auto value, auto) { return is_tail(value) ? 1U : 0U; });
  EXPECT_EQ(report.verdict_text(), "time shows the tail");
  // The deviation of a time is 6.06 ticks, so the standard error is .06 for a tail of 10,000.
  EXPECT_NEAR(tail_of(report).t().value(), 16, 5);
  EXPECT_NEAR(tail_of(report).resolution().value(), 0.27, 0.03);
  EXPECT_LT(std::abs(report.contrasts[3].t().value()), 4) << "the sign does not show";
}

TEST(CheckTiming, FindsEachOtherContrast) {
  EXPECT_EQ(checked(million, [](auto value, auto) { return std::abs(value) <= 500 ? 1U : 0U; }).verdict_text(), "time shows the magnitude");
  EXPECT_EQ(checked(million, [](auto value, auto) { return value < 0 ? 1U : 0U; }).verdict_text(), "time shows the sign");
  EXPECT_EQ(checked(4 * million, [](auto value, auto) { return value == 0 ? 2U : 0U; }).verdict_text(), "time shows zero");
}

/// What a sampler does today: one draw in a hundred is slow, all of them in the tail. Who removes the slowest 1 % removes the leak.
TEST(CheckTiming, FindsALeakThatRelativeTrimmingWouldRemove) {
  const auto report = checked(million, [](auto value, auto) { return is_tail(value) ? 150U : 0U; });
  EXPECT_EQ(report.verdict_text(), "time shows the tail");
  EXPECT_EQ(report.trimmed, 0U);
  EXPECT_GT(tail_of(report).first.times.count, 8000U);
  // The tail by the first batch holds a draw or two of 1,001 values more than the slow ones, or less.
  EXPECT_NEAR(tail_of(report).first.times.mean - tail_of(report).second.times.mean, 140, 20);
}

TEST(CheckTiming, FindsALeakAboveTheTrimmingThreshold) {
  const auto report = checked(million, [](auto value, auto) { return is_tail(value) ? 50'000U : 0U; });
  EXPECT_EQ(report.verdict_text(), "time shows the tail");
  EXPECT_GT(tail_of(report).first.trimmed, 8000U);
  EXPECT_EQ(tail_of(report).second.trimmed, 0U);
  EXPECT_GT(tail_of(report).trimmed_z().value(), 100);
}

TEST(CheckTiming, TrimsInterruptsAndCountsThemOnEachSide) {
  const auto report = checked(million, [](auto, auto word) { return word % 1000 == 0 ? 100'000U : 0U; });
  EXPECT_EQ(report.verdict(), TimingVerdict::independent);
  EXPECT_NEAR(static_cast<double>(report.trimmed), 1000, 150);
  EXPECT_NEAR(report.trim_above, 2000, 40);
  const auto& sign = report.contrasts[3];
  EXPECT_NEAR(static_cast<double>(sign.first.trimmed), 500, 120);
  EXPECT_NEAR(static_cast<double>(sign.second.trimmed), 500, 120);
  EXPECT_LT(std::abs(sign.trimmed_z().value()), 4);
}

TEST(CheckTiming, FixesThePercentilesBeforehand) {
  // The first batch has values up to 10, what follows up to 1000: nearly all of it is beyond the percentiles.
  FakeTime time;
  std::uint64_t drawn = 0;
  const auto draw = [&] {
    time.now += 100;
    const std::int64_t most = drawn++ < 1000 ? 10 : 1000;
    return static_cast<std::int64_t>(drawn * 7919 % static_cast<std::uint64_t>(2 * most + 1)) - most;
  };
  const auto report = check_timing(draw, {.draws = 100'000, .first_batch = 1000}, FakeClock{&time});
  EXPECT_GT(tail_of(report).first.times.count, 98'000U);
}

TEST(CheckTiming, SaysWhereThereAreTooFewDraws) {
  EXPECT_EQ(checked(50'000, [](auto, auto) { return 0U; }).verdict_text(), "too few draws");
  FakeTime time;
  const auto constant = check_timing([&] { return time.now += 100, 7; }, {.draws = 100'000}, FakeClock{&time});
  EXPECT_EQ(constant.verdict(), TimingVerdict::too_few) << "a constant has no tail";
  EXPECT_FALSE(constant.correlation);
}

TEST(CheckTiming, IsFiniteWhereTimesAreConstant) {
  FakeTime time;
  std::mt19937_64 random{1};
  const auto report = check_timing(
      [&] {
        const auto value = static_cast<std::int64_t>(random() % 2001) - 1000;
        time.now += value < 0 ? 101 : 100;
        return value;
      },
      {.draws = million}, FakeClock{&time});
  // The variance of reading a clock of whole ticks, 1/12, twice, over half a million.
  EXPECT_NEAR(report.contrasts[3].t().value(), 1 / std::sqrt(2 * (1.0 / 12) / 5e5), 10);
  EXPECT_TRUE(std::isfinite(report.correlation.value()));
}

TEST(CheckTiming, StopsAtItsTime) {
  // Each draw takes a second of the fake clock, whose ticks say when to look at the real one.
  FakeTime time;
  const auto report = check_timing([&] { return time.now += 1U << 30U, 1; }, {.seconds = 0.01}, FakeClock{&time});
  EXPECT_LT(report.draws, 100'000'000U);
}

template <class Work>
std::string refusal(const Work& work) {
  try {
    static_cast<void>(work());
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.what();
  }
  return "nothing";
}

TEST(CheckTiming, RefusesWhatItCannotMeasure) {
  const auto one = [] { return 1; };
  for (const double seconds : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 86'401.0}) {
    EXPECT_EQ(refusal([&] { return check_timing(one, {.seconds = seconds}); }).find("seconds is "), 0U) << seconds;
  }
  EXPECT_EQ(refusal([&] { return check_timing(one, {.draws = 0}); }), "draws is 0, must be at least 1");
  EXPECT_EQ(refusal([&] { return check_timing(one, {.first_batch = 0}); }), "first_batch is 0, must be at least 1");
  const auto nan = [] { return std::numeric_limits<double>::quiet_NaN(); };
  EXPECT_EQ(refusal([&] { return check_timing(nan, {.draws = 10}); }), "draw returned nan, must be a finite number");
  const auto failing = []() -> double { throw std::runtime_error{"no entropy"}; };
  EXPECT_THROW(static_cast<void>(check_timing(failing, {})), std::runtime_error);
}

TEST(TimeContrasts, AgreesWithSumsOverAllDraws) {
  std::mt19937_64 random{5};
  std::vector<TimeContrasts::Draw> draws(20'000);
  for (auto& draw : draws) {
    const auto value = static_cast<double>(random() % 201) - 100;
    draw = {value, 1e6 + std::abs(value) / 10 + static_cast<double>(random() % 50)};
  }
  TimeContrasts contrasts{draws};
  for (const auto& draw : draws) contrasts.add(draw);
  const auto report = contrasts.report();
  struct Sums {
    long double count = 0, mean = 0, variance = 0;
  };
  const auto sums_of = [&](auto is_in) {
    Sums sums;
    for (const auto& draw : draws) {
      if (is_in(draw.value)) sums.count += 1, sums.mean += draw.ticks;
    }
    sums.mean /= sums.count;
    for (const auto& draw : draws) {
      if (is_in(draw.value)) sums.variance += (draw.ticks - sums.mean) * (draw.ticks - sums.mean) / (sums.count - 1);
    }
    return sums;
  };
  const Sums negative = sums_of([](double value) { return value < 0; });
  const Sums positive = sums_of([](double value) { return value > 0; });
  const auto& sign = report.contrasts[3];
  EXPECT_EQ(static_cast<long double>(sign.first.times.count), negative.count);
  EXPECT_NEAR(sign.first.times.mean, static_cast<double>(negative.mean), 1e-6);
  const auto t = (negative.mean - positive.mean) / std::sqrt(negative.variance / negative.count + positive.variance / positive.count);
  EXPECT_NEAR(sign.t().value(), static_cast<double>(t), 1e-6);

  const Sums large = sums_of([](double value) { return std::abs(value) > 50; });
  EXPECT_NEAR(report.contrasts[1].first.times.mean, static_cast<double>(large.mean), 1e-6);
  long double magnitude = 0, time = 0, product = 0, square = 0, time_square = 0;
  for (const auto& draw : draws) magnitude += std::abs(draw.value) / 20'000, time += draw.ticks / 20'000;
  for (const auto& draw : draws) {
    const long double a = std::abs(draw.value) - magnitude, b = draw.ticks - time;
    product += a * b, square += a * a, time_square += b * b;
  }
  EXPECT_NEAR(report.correlation.value(), static_cast<double>(product / std::sqrt(square * time_square)), 1e-9);
}

/// Of two Poisson numbers of equal exposure the exact law is binomial: the statistic must not call rare ones.
TEST(TimingContrast, TrimmedShareIsNoSurpriseWhereFewAreTrimmed) {
  TimingContrast contrast{.name = "tail", .first = {}, .second = {}};
  contrast.first.times.count = 10'000;
  contrast.second.times.count = 950'000;
  EXPECT_EQ(contrast.trimmed_z().value(), 0) << "none was trimmed";
  contrast.first.trimmed = 2;
  contrast.second.trimmed = 10;  // .126 of 12 are expected on the first side: two or more have probability .0072
  EXPECT_NEAR(contrast.trimmed_z().value(), 2.4, 0.5);
  contrast.first.trimmed = 12;
  contrast.second.trimmed = 0;
  EXPECT_GT(contrast.trimmed_z().value(), timing_threshold);
  EXPECT_TRUE(contrast.shows());
}

TEST(SingleReleases, AreThoseOfTheMechanism) {
  const AnyNoise noise{DiscreteLaplace{{NoiseScale{1000}, L1Sensitivity{1}, Adjacency::zero_out}}};
  ReplayBits bits{3};
  ReplayBits same{3};
  SingleReleases draw{noise, bits};
  for (int n = 0; n < 100; ++n) {
    std::array<std::int64_t, 1> value{0};
    noise.release_in_place(std::span<std::int64_t>{value}, same);
    EXPECT_EQ(draw(), static_cast<double>(value[0]));
  }
}

/// Every law of AnyNoise has rows, and every row draws.
TEST(NoiseTimings, HaveEveryMechanism) {
  const auto rows = noise_timings();
  // And DrawAhead and ScaledGaussian.
  EXPECT_EQ(timed_mechanisms().size(), std::variant_size_v<AnyNoise::Law> + 2);
  std::set<std::pair<std::string_view, double>> seen;
  for (const auto& row : rows) {
    EXPECT_TRUE(seen.emplace(row.name, row.scale).second) << row.name;
    EXPECT_EQ(row.check({.seconds = 100, .draws = 100, .first_batch = 100}).draws, 100U) << row.name;
  }
  // Four vectors of 8 values, and three samplers of DrawAhead, at two scales each.
  EXPECT_EQ(rows.size(), 3 * (std::variant_size_v<AnyNoise::Law> + 1) + 8 + 6);
}

}  // namespace
}  // namespace surety::mechanisms::check_timing_test
