// The Gaussian release of a last iterate, against the recursion of the theorem, sums in long double, and powers in 20,000 bits.
#include <surety/accounting/events/last_iterate.h>

#include <gtest/gtest.h>

#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace surety::accounting::last_iterate_test {
namespace {

constexpr mpfr_prec_t bits = 128;
constexpr double almost_one = 0x1.fffffffffffffp-1;  // 1 - 2^-53
constexpr std::uint64_t most = std::uint64_t{1} << 53;

/// A number of 20,000 bits, which decides nothing by itself: c^n is computed as a power, so 1 - c^n is exact to 10,000 bits for c from 1 - 2^-53 down.
class Long {
 public:
  explicit Long(double value) {
    mpfr_init2(value_, precision);
    mpfr_set_d(value_, value, MPFR_RNDN);
  }
  Long(const Long& other) {
    mpfr_init2(value_, precision);
    mpfr_set(value_, other.value_, MPFR_RNDN);
  }
  Long& operator=(const Long& other) {
    mpfr_set(value_, other.value_, MPFR_RNDN);
    return *this;
  }
  ~Long() { mpfr_clear(value_); }

  friend Long operator+(const Long& a, const Long& b) { return by(mpfr_add, a, b); }
  friend Long operator-(const Long& a, const Long& b) { return by(mpfr_sub, a, b); }
  friend Long operator*(const Long& a, const Long& b) { return by(mpfr_mul, a, b); }
  friend Long operator/(const Long& a, const Long& b) { return by(mpfr_div, a, b); }
  [[nodiscard]] Long power(const Long& n) const { return by(mpfr_pow, *this, n); }
  [[nodiscard]] bool is_in(const Interval& found) const {
    return mpfr_cmp(found.lower(), value_) <= 0 && mpfr_cmp(value_, found.upper()) <= 0;
  }
  friend bool operator<(const Long& a, const Long& b) { return mpfr_less_p(a.value_, b.value_) != 0; }

 private:
  static constexpr mpfr_prec_t precision = 20'000;
  static Long by(int (*operation)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t), const Long& a, const Long& b) {
    Long result{0};
    operation(result.value_, a.value_, b.value_, MPFR_RNDN);
    return result;
  }
  mpfr_t value_;
};

/// 1 + x + ... + x^(n-1).
Long sum_of_powers(const Long& x, const Long& n) { return (Long{1} - x.power(n)) / (Long{1} - x); }

Long full_batch(double c, double steps) {
  if (c == 1) return Long{steps};
  if (c == 0) return Long{1};
  const Long s = sum_of_powers(Long{c}, Long{steps});
  return s * s / sum_of_powers(Long{c} * Long{c}, Long{steps});
}
Long from_the_domain(double c, double diameter, double steps) {
  if (c == 0) return Long{1};
  if (c == 1) return (Long{steps} + Long{diameter}) * (Long{steps} + Long{diameter}) / Long{steps};
  const Long s = sum_of_powers(Long{c}, Long{steps}) + Long{c}.power(Long{steps}) * Long{diameter};
  return s * s / sum_of_powers(Long{c} * Long{c}, Long{steps});
}
Long passes(double c, double number, double batches) {
  if (batches == 1) return full_batch(c, number);
  if (c == 0 || number == 1) return Long{1};
  if (c == 1) return Long{1} + Long{number - 1} / Long{batches};
  // c^(l - 1) of each of the E - 1 passes before the last step.
  const Long each = Long{c}.power(Long{batches});
  const Long moved = Long{c}.power(Long{batches - 1}) * sum_of_powers(each, Long{number - 1});
  return Long{1} + moved * moved / sum_of_powers(Long{c} * Long{c}, Long{batches} * Long{number - 1});
}

/// What the theorem says of shifts a_k at these steps: sum of a_k^2, and infinity where they are not allowed.
long double cost_of(const std::vector<long double>& moved, const std::vector<long double>& shifts, long double c, std::size_t first,
                    long double start) {
  long double z = start;
  long double cost = 0;
  for (std::size_t k = first; k < moved.size(); ++k) {
    z = c * z + moved[k] - shifts[k];
    if (shifts[k] < -1e-15L || z < -1e-12L) return INFINITY;
    cost += shifts[k] * shifts[k];
  }
  return std::abs(z) < 1e-12L ? cost : INFINITY;
}

/// The least cost that some shifts have: of proportions c^(T - k) between two zeros of z, over all places of such zeros.
/// Without a zero in the middle the shifts may not be allowed, and then `cost_of` says so.
long double least_cost(const std::vector<long double>& moved, long double c, std::size_t first = 0, long double start = 0) {
  const std::size_t steps = moved.size();
  std::vector<long double> least(steps + 1, INFINITY);  // with z = 0 after so many steps
  least[first] = start == 0 ? 0 : INFINITY;
  for (std::size_t from = first; from < steps; ++from) {
    const long double begin = from == first ? start : 0;
    if (from != first && !(least[from] < INFINITY)) continue;
    for (std::size_t to = from + 1; to <= steps; ++to) {
      long double reached = std::pow(c, static_cast<long double>(to - from)) * begin;
      long double squares = 0;
      for (std::size_t k = from; k < to; ++k) {
        reached += std::pow(c, static_cast<long double>(to - 1 - k)) * moved[k];
        squares += std::pow(c, static_cast<long double>(2 * (to - 1 - k)));
      }
      std::vector<long double> shifts(to);
      for (std::size_t k = from; k < to; ++k) shifts[k] = reached / squares * std::pow(c, static_cast<long double>(to - 1 - k));
      const std::vector<long double> part(moved.begin(), moved.begin() + static_cast<std::ptrdiff_t>(to));
      const long double before = from == first ? 0 : least[from];
      least[to] = std::min(least[to], before + cost_of(part, shifts, c, from, begin));
    }
  }
  return least[steps];
}

void expect_near(const Interval& found, long double truth, const std::string& what) {
  EXPECT_TRUE(found.agrees_to(100)) << what;
  EXPECT_NEAR(mpfr_get_d(found.upper(), MPFR_RNDN), static_cast<double>(truth), 1e-12 * static_cast<double>(truth)) << what;
}

void expect_holds(const Interval& found, const Long& truth, const std::string& what) {
  EXPECT_TRUE(truth.is_in(found)) << what;
  EXPECT_TRUE(found.agrees_to(100)) << what;
}

TEST(LastIterateSquared, IsTheLeastCostThatTheTheoremAllows) {
  for (const double c : {0.0, 0.25, 0.9, 1.0}) {
    for (const std::uint64_t steps : {1, 2, 3, 8, 20}) {
      const std::vector<long double> moved(steps, 1);
      expect_near(last_iterate_squared(Count{steps}, LipschitzConstant{c}, bits), least_cost(moved, c), fmt::format("{} {}", c, steps));
    }
  }
}

TEST(LastIterateSquared, HoldsTheTruthWhereDifferencesCancel) {
  for (const double c : {0.0, 5e-324, 1e-200, 1e-9, 0.5, 1 - 1e-12, almost_one, 1.0}) {
    for (const std::uint64_t steps : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{1000}, std::uint64_t{1} << 40, most}) {
      expect_holds(last_iterate_squared(Count{steps}, LipschitzConstant{c}, bits), full_batch(c, static_cast<double>(steps)),
                   fmt::format("{} {}", c, steps));
    }
  }
}

TEST(LastIterateWithinSquared, IsTheLeastCostOfAllStarts) {
  for (const double c : {0.0, 0.25, 0.9, 1.0}) {
    for (const double diameter : {0.01, 0.5, 3.0, 7.5, 40.0}) {
      for (const std::uint64_t steps : {1, 2, 9, 20}) {
        const std::vector<long double> moved(steps, 1);
        long double least = least_cost(moved, c);
        for (std::size_t first = 1; first < steps; ++first) least = std::min(least, least_cost(moved, c, first, diameter));
        expect_near(last_iterate_within_squared(Diameter{diameter}, Count{steps}, LipschitzConstant{c}, bits), least,
                    fmt::format("{} {} {}", c, diameter, steps));
      }
    }
  }
}

TEST(LastIterateWithinSquared, IsAtLeastSomeBoundOfTheTheoremWhereDifferencesCancel) {
  for (const double c : {5e-324, 1e-9, 0.5, 1 - 1e-12, almost_one, 1.0}) {
    for (const double diameter : {1e-300, 1e-9, 1.0, 1e6, 1e300}) {
      for (const std::uint64_t steps : {std::uint64_t{2}, std::uint64_t{1000}, most}) {
        const auto found = last_iterate_within_squared(Diameter{diameter}, Count{steps}, LipschitzConstant{c}, bits);
        // The last steps that are nearly the best, by the formula of the least value: (1 + c) d (2 - d (1 - c)).
        const Long all = full_batch(c, static_cast<double>(steps));
        const double left = 1 - diameter * (1 - c);
        const double best = c == 1 ? diameter : left > 0 ? std::log1p(-diameter * (1 - c)) / std::log(c) : static_cast<double>(steps);
        bool is_some = all.is_in(found);
        bool is_least = !(all < Long{mpfr_get_d(found.lower(), MPFR_RNDD)});
        const double last = static_cast<double>(steps - 1);
        for (const double n : {1.0, std::clamp(std::floor(best), 1.0, last), std::clamp(std::floor(best) + 1, 1.0, last), last}) {
          const Long bound = from_the_domain(c, diameter, n);
          is_some = is_some || bound.is_in(found);
          is_least = is_least && !(bound * Long{1 + 1e-15} < Long{mpfr_get_d(found.lower(), MPFR_RNDD)});
        }
        const auto what = fmt::format("{} {} {}", c, diameter, steps);
        EXPECT_TRUE(is_some) << what;
        EXPECT_TRUE(is_least) << what;
        EXPECT_TRUE(found.agrees_to(100)) << what;
      }
    }
  }
}

TEST(LastIterateOfPassesSquared, IsTheLeastCostOfTheWorstBatch) {
  for (const double c : {0.0, 0.25, 0.9, 1.0}) {
    for (const std::uint64_t number : {1, 2, 5}) {
      for (const std::uint64_t batches : {1, 2, 3, 6}) {
        long double worst = 0;
        for (std::uint64_t batch = 0; batch < batches; ++batch) {
          std::vector<long double> moved(number * batches, 0);
          for (std::uint64_t pass = 0; pass < number; ++pass) moved[pass * batches + batch] = 1;
          worst = std::max(worst, least_cost(moved, c));
        }
        expect_near(last_iterate_of_passes_squared(Count{number}, Count{batches}, LipschitzConstant{c}, bits), worst,
                    fmt::format("{} {} {}", c, number, batches));
      }
    }
  }
}

TEST(LastIterateOfPassesSquared, HoldsTheTruthWhereDifferencesCancel) {
  constexpr std::uint64_t many = std::uint64_t{1} << 26;
  for (const double c : {0.0, 1e-9, 0.5, 1 - 1e-12, almost_one, 1.0}) {
    for (const auto& [number, batches] : {std::pair{most, std::uint64_t{1}},
                                          {std::uint64_t{1}, most},
                                          {std::uint64_t{2}, most / 2},
                                          {most / 2, std::uint64_t{2}},
                                          {many, many},
                                          {std::uint64_t{3}, std::uint64_t{7}}}) {
      expect_holds(last_iterate_of_passes_squared(Count{number}, Count{batches}, LipschitzConstant{c}, bits),
                   passes(c, static_cast<double>(number), static_cast<double>(batches)), fmt::format("{} {} {}", c, number, batches));
    }
  }
}

TEST(LastIterateOfBatchesSquared, IsTheLeastCostOfTheWorstBatch) {
  for (const auto& sizes : {std::vector<NumberPair>{{1, 1}}, {{3, 4}}, {{2, 3}, {1, 5}, {2, 9}}, {{5, 1}, {4, 2}}, {{1, 2}, {30, 17}}}) {
    std::vector<long double> all;
    for (const auto& [steps, size] : sizes) all.insert(all.end(), static_cast<std::size_t>(steps), size);
    long double worst = 0;
    for (std::size_t batch = 0; batch < all.size(); ++batch) {
      std::vector<long double> moved(all.size(), 0);
      moved[batch] = 1 / all[batch];
      worst = std::max(worst, least_cost(moved, 1));
    }
    expect_near(last_iterate_of_batches_squared(BatchSizes{sizes}, bits), worst, fmt::format("{}", all.size()));
  }
  const auto found = last_iterate_of_batches_squared(BatchSizes{{0x1p52, 0x1p53}, {0x1p52, 0x1p53}}, bits);
  EXPECT_EQ(found.enclosure(), (Enclosure{0x1p-106, 0x1p-106}));
}

TEST(LastIterateOfBatchesSquared, OfGrowingBatchesIsWhatTheyAreMadeFor) {
  // B_t = ceil(sqrt(M / (T - t + 1))) have f <= 1 / sqrt(M).
  for (const double goal : {50.0, 12'100.0}) {
    std::vector<NumberPair> sizes;
    for (double left = 100; left >= 1; --left) sizes.push_back({1, std::ceil(std::sqrt(goal / left))});
    const auto found = last_iterate_of_batches_squared(BatchSizes{sizes}, bits).enclosure();
    EXPECT_LE(found.upper, 1 / goal);
    EXPECT_GE(found.upper, 0.8 / goal);
  }
}

TEST(LastIterateMultipliers, LieAroundThatOfTheGaussianRelease) {
  constexpr auto replaced = Adjacency::replace_one;
  const auto of = [](const char* text) { return *last_iterate_multipliers(parse_event(text, replaced)); };
  EXPECT_EQ(of("last_iterate(4, 1, gaussian(6))"), (Enclosure{3, 3}));
  EXPECT_EQ(of("last_iterate(4, 1, record_sum(6))"), (Enclosure{1.5, 1.5}));
  EXPECT_EQ(of("last_iterate_of_passes(10, 3, 1, gaussian(6))"), (Enclosure{3, 3}));
  EXPECT_EQ(of("last_iterate_of_batches(3, 4, gaussian(6))"), (Enclosure{24, 24}));
  // (4 + 4)^2 / 4 = 16 from 4 steps on; the last step alone costs at least as much.
  EXPECT_EQ(of("last_iterate_within(4, 1000, 1, gaussian(6))"), (Enclosure{1.5, 6}));
  const auto rounded = of("last_iterate(2, 1, gaussian(1))");
  EXPECT_LT(rounded.lower * rounded.lower, 0.5);
  EXPECT_EQ(std::nextafter(rounded.lower, 1.0), rounded.upper);
  EXPECT_FALSE(last_iterate_multipliers(parse_event("gaussian(6)", replaced)));
  for (const auto* text : {"last_iterate(9007199254740992, 1, gaussian(1.5e-271))",
                           "last_iterate_of_batches(9007199254740991, 9007199254740992, 1, 9007199254740992, gaussian(8e270))"}) {
    const auto extreme = of(text);
    EXPECT_GT(extreme.lower, 0) << text;
    EXPECT_LT(extreme.upper, INFINITY) << text;
  }
}

}  // namespace
}  // namespace surety::accounting::last_iterate_test
