// Nodes off the real line, by themselves and in the answers for schedules of few steps, which they are for.
#include <surety/accounting/accountants/contour/contour.h>
#include <surety/accounting/accountants/contour/decay.h>
#include <surety/accounting/accountants/contour/terms.h>

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <random>
#include <vector>

#include <support/random.h>
#include <surety/accounting/answers/asked.h>

namespace surety::accounting::contour::shifted_line_test {
namespace {

using reference::log_uniform;
using Long = long double;

constexpr auto adjacency = Adjacency::add_or_remove_one;

struct Ratio {
  Long log_moment;            // log M(s)
  std::complex<Long> factor;  // M(s + it) / M(s), or its conjugate where w < 0
};

constexpr double reference_error = 1e-17;

/// By so many nodes on the real line that nothing is left to be cut.
Ratio ratio_by_definition(const SampledReleases& part, double w, double t) {
  const Long step = 0.004L / (1 + static_cast<Long>(part.mu * t) / 60);
  const Long mu = part.mu;
  Long sum = 0;
  std::complex<Long> turned = 0;
  const Long low = -14 - std::max<Long>(0, -static_cast<Long>(w) * mu);
  const Long high = 14 + std::max<Long>(0, static_cast<Long>(w) * mu);
  for (Long u = low; u <= high; u += step) {
    const Long loss = std::log1p(static_cast<Long>(part.rate) * std::expm1(mu * u - mu * mu / 2));
    const Long weight = std::exp(static_cast<Long>(w) * loss - u * u / 2);
    sum += weight;
    turned += std::polar(weight, static_cast<Long>(t) * loss);
  }
  return {std::log(sum * step / std::sqrt(2 * std::numbers::pi_v<Long>)), turned / sum};
}

struct Place {
  SampledReleases part;
  double w;
  double t;
  Ratio truth;
};

std::vector<Place> random_places(int count) {
  std::mt19937_64 words{20'261};
  std::vector<Place> places;
  for (int i = 0; i < count; ++i) {
    Place next{{log_uniform(words, 1e-3, 0.7), log_uniform(words, 0.2, 2), 1}, 0, 0, {}};
    const double s = log_uniform(words, 0.3, 12);
    next.w = power(i % 2 == 0 ? Direction::remove : Direction::add, s);
    next.t = log_uniform(words, 2 / next.part.mu, 400 / next.part.mu);
    next.truth = ratio_by_definition(next.part, next.w, next.t);
    places.push_back(next);
  }
  return places;
}

TEST(ShiftedLine, SumsAreWithinTheirErrors) {
  int cut_counts = 0;
  int rounding_counts = 0;
  int asked = 0;
  for (const auto& [part, w, t, truth] : random_places(150)) {
    const double angle = 0.3 + 0.4 * std::fmod(t, 3);
    const double shift = shorten(angle / part.mu, 12);
    for (const double digits : {0.5, 4.0, 60.0}) {
      NodeGrid grid;
      fill(grid, part, step_for(part.mu, t, w, digits, shift), range_of(part, w, 60 + log_line(part.mu, shift, 0, w)), shift);
      std::vector<double> f;
      std::vector<double> phase;
      const auto tilted = shifted_tilt(grid, w, t, static_cast<double>(truth.log_moment), f, phase);
      std::complex<Long> sum = 0;
      Long modulus = 0;
      for (std::size_t j = 0; j < f.size(); ++j) {
        const Long size = static_cast<Long>(f[j]) * std::exp(-static_cast<Long>(t) * static_cast<Long>(grid.angle[j]));
        modulus += size;
        sum += std::polar(size, static_cast<Long>(phase[j]) + static_cast<Long>(t) * static_cast<Long>(grid.loss[j]));
      }
      const double cut = std::exp(log_quadrature(part.mu, grid.step, t, w, shift));
      const double rounding = tilted.rounding + t * tilted.loss_error;
      const auto error = static_cast<double>(std::abs(sum - truth.factor));
      EXPECT_LE(error, cut + rounding + reference_error)
          << part.rate << ' ' << part.mu << ' ' << w << ' ' << t << ' ' << shift << ' ' << digits;
      EXPECT_LE(static_cast<double>(modulus), tilted.modulus);
      if (digits < 1) {
        ++asked;
        cut_counts += error > rounding + reference_error;
      } else if (digits > 30) {
        rounding_counts += error > cut + reference_error;
        EXPECT_LE(cut, 10 * std::exp(-digits));
      }
    }
  }
  // Neither could be left out.
  EXPECT_GE(cut_counts, asked * 3 / 4);
  EXPECT_GE(rounding_counts, asked / 4);
}

TEST(ShiftedLine, ItsDecayBoundsThatOfTheSumFromThereOnAndClosely) {
  int close = 0;
  int asked = 0;
  for (const auto& [part, w, t, truth] : random_places(100)) {
    ShiftedDecay decay{part, w, Ball::within(static_cast<double>(truth.log_moment), 64)};
    const auto here = decay.best(t);
    const auto log_modulus = static_cast<double>(std::log(std::abs(truth.factor)));
    EXPECT_GE(here.log_decay.value(), log_modulus) << part.rate << ' ' << part.mu << ' ' << w << ' ' << t;
    if (log_modulus > -25) {
      ++asked;
      close += here.log_decay.value() < 0.9 * log_modulus + 0.3;
    }
    for (const double before : {0.4, 0.8}) {
      EXPECT_GE(decay.best(before * t).log_decay.value(), log_modulus) << part.rate << ' ' << part.mu << ' ' << w << ' ' << t;
    }
  }
  EXPECT_GE(close, asked * 9 / 10);
}

// ---- Schedules of few steps ----

Event batch(double rate, double multiplier) { return poisson(SamplingRate{rate}, gaussian(NoiseMultiplier{multiplier}, adjacency)); }

/// delta(epsilon) of one batch in closed form: the outcomes that reject are those beyond the one whose loss is epsilon.
Long batch_delta(Long rate, Long mu, Long epsilon, Direction direction) {
  const auto beyond = [](Long x) { return std::erfc(x / std::sqrt(2.0L)) / 2; };
  const Long ratio = direction == Direction::remove ? std::exp(epsilon) : std::exp(-epsilon);  // of mixture over noise at that outcome
  const Long excess = 1 + (ratio - 1) / rate;
  if (direction == Direction::remove) {
    if (!(excess > 0)) return 1 - std::exp(epsilon);
    const Long u = std::log(excess) / mu + mu / 2;
    return rate * beyond(u - mu) + (1 - rate) * beyond(u) - std::exp(epsilon) * beyond(u);
  }
  if (!(excess > 0)) return 0;
  const Long u = std::log(excess) / mu + mu / 2;
  return beyond(-u) - std::exp(epsilon) * (rate * beyond(mu - u) + (1 - rate) * beyond(-u));
}

struct Pair {
  double rates[2];
  double multipliers[2];
  double epsilon;

  [[nodiscard]] Event event() const { return compose({batch(rates[0], multipliers[0]), batch(rates[1], multipliers[1])}); }
  struct Truth {
    Long value;
    Long doubt;
  };
  [[nodiscard]] Truth truth(Direction direction) const {
    const Long coarse = integral(direction, 0.002L);
    const Long fine = integral(direction, 0.0005L);
    return {fine, std::abs(fine - coarse) + 1e-14L * fine};
  }
  /// The mean over the loss of the first of what the second has left.
  [[nodiscard]] Long integral(Direction direction, Long step) const {
    const Long mu = 1 / static_cast<Long>(multipliers[0]);
    Long sum = 0;
    for (Long u = -14; u <= 18; u += step) {
      const Long ratio = 1 - static_cast<Long>(rates[0]) + static_cast<Long>(rates[0]) * std::exp(mu * u - mu * mu / 2);
      const bool removed = direction == Direction::remove;
      const Long left = static_cast<Long>(epsilon) + (removed ? -std::log(ratio) : std::log(ratio));
      sum += (removed ? ratio : 1) * std::exp(-u * u / 2) *
             batch_delta(static_cast<Long>(rates[1]), 1 / static_cast<Long>(multipliers[1]), left, direction);
    }
    return sum * step / std::sqrt(2 * std::numbers::pi_v<Long>);
  }
};

std::vector<Pair> random_pairs(int count) {
  std::mt19937_64 words{4'242};
  std::vector<Pair> pairs;
  while (static_cast<int>(pairs.size()) < count) {
    Pair next{{log_uniform(words, 5e-3, 0.5), log_uniform(words, 5e-3, 0.5)},
              {log_uniform(words, 0.7, 4), log_uniform(words, 0.7, 4)},
              log_uniform(words, 0.01, 2)};
    if (next.integral(Direction::remove, 0.01L) > 1e-9L) pairs.push_back(next);
  }
  return pairs;
}

TEST(Schedule, OfTwoStepsContainsWhatAnIntegralFinds) {
  int answered = 0;
  for (const auto& pair : random_pairs(40)) {
    for (const auto direction : {Direction::remove, Direction::add}) {
      const auto [value, doubt] = pair.truth(direction);
      EXPECT_LE(doubt, 1e-8L * value + 1e-18L);
      try {
        const auto answer = delta(Contour{}, pair.event(), Epsilon{pair.epsilon}, direction);
        EXPECT_LE(answer.lower, value + doubt) << describe(pair.event()) << " at " << pair.epsilon;
        EXPECT_GE(answer.upper, value - doubt) << describe(pair.event()) << " at " << pair.epsilon;
        if (direction == Direction::remove) {
          EXPECT_LE(answer.width(), 1e-5 * answer.upper) << describe(pair.event()) << " at " << pair.epsilon;
        }
        ++answered;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.what();
      }
    }
  }
  EXPECT_GE(answered, 60);
}

/// What is left of the sum beyond a last point that comes too early.
TEST(Schedule, TruncationByTheShiftedLineIsNeeded) {
  int caught = 0;
  int asked = 0;
  for (const auto& pair : random_pairs(30)) {
    try {
      const auto terms = contour_terms(pair.event(), Epsilon{pair.epsilon}, Direction::remove, {.truncation = 0.3});
      const Long others = static_cast<Long>(terms.quadrature) + static_cast<Long>(terms.rounding);
      const auto [truth, doubt] = pair.truth(Direction::remove);
      const Long error = std::abs(static_cast<Long>(terms.sum) - truth);
      EXPECT_LE(error, others + static_cast<Long>(terms.truncation) + static_cast<Long>(terms.aliasing) + doubt) << describe(pair.event());
      caught += error > others + static_cast<Long>(terms.aliasing) + doubt;
      ++asked;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.what();
    }
  }
  EXPECT_GE(caught, asked * 9 / 10);
}

/// Rates, multipliers and numbers of steps that the grid answers as well.
TEST(Schedule, AgreesWithTheGridAndIsNarrower) {
  struct Case {
    int steps;
    double rate[2];
    double multiplier[2];
    double width;
  };
  const Case cases[] = {{1, {0.01, 0.01}, {1, 1}, 1e-6},      {2, {0.01, 0.01}, {1, 2}, 1e-6},     {3, {0.02, 0.005}, {1, 1}, 1e-6},
                        {5, {0.005, 0.015}, {1, 2}, 1e-6},    {8, {0.01, 0.01}, {1, 2}, 1e-6},     {16, {0.01, 0.01}, {1, 2}, 1e-5},
                        {20, {0.01, 0.01}, {0.4, 0.6}, 1e-4}, {40, {0.005, 0.015}, {1, 2}, 1e-4},  {8, {0.1, 0.4}, {1.5, 3}, 1e-6},
                        {5, {0.02, 0.02}, {4, 8}, 1e-6},      {100, {0.001, 0.03}, {0.8, 3}, 1e-3}};
  for (const auto& [steps, rate, multiplier, width] : cases) {
    std::vector<Event> events;
    for (int i = 0; i < steps; ++i) {
      const double share = static_cast<double>(i) / steps;
      events.push_back(batch(rate[0] + share * (rate[1] - rate[0]), multiplier[0] + share * (multiplier[1] - multiplier[0])));
    }
    const Event schedule = steps == 1 ? events[0] : compose(events);
    const auto answer = epsilon(Contour{}, schedule, Delta{1e-6});
    const auto by_pld = epsilon(Pld{.width = width}, schedule, Delta{1e-6});
    EXPECT_TRUE(overlap(answer, by_pld)) << steps << ' ' << answer.lower << ' ' << answer.upper << ' ' << by_pld.lower;
    EXPECT_LE(answer.width(), 1e-6) << steps;
    EXPECT_LE(answer.width(), by_pld.width()) << steps;
    const Epsilon at{0.9 * answer.upper};
    EXPECT_TRUE(overlap(delta(Contour{}, schedule, at), delta(Pld{.width = width}, schedule, at))) << steps;
  }
}

TEST(Schedule, IsAboutAsNarrowAsAsked) {
  for (const int steps : {2, 6, 30}) {
    std::vector<Event> events;
    for (int i = 0; i < steps; ++i) events.push_back(batch(0.01, 1 + static_cast<double>(i) / steps));
    const Event schedule = compose(events);
    const auto fine = epsilon(Contour{1e-7}, schedule, Delta{1e-6});
    for (const double width : {1e-7, 1e-6, 1e-4}) {
      const auto answer = epsilon(Contour{width}, schedule, Delta{1e-6});
      EXPECT_LE(answer.width(), 2 * width) << steps;
      EXPECT_TRUE(overlap(answer, fine)) << steps << ' ' << width;
    }
  }
}

}  // namespace
}  // namespace surety::accounting::contour::shifted_line_test
