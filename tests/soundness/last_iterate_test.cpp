// The last iterate from its meaning alone: distributions of x_T on a fine partition of a line or an interval, one step after the other, and their hockey-stick
// divergences. Maps are those of the proof, which attain the bound, and others that are drawn at random. Nothing here knows a shift.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/answers/best.h>
#include <surety/accounting/events/event.h>

namespace surety::accounting::last_iterate_soundness_test {
namespace {

constexpr std::size_t cells_of_an_interval = 240;
constexpr auto replaced = Adjacency::replace_one;

double normal_cdf(double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; }

using Map = std::function<double(double)>;
using Masses = std::vector<double>;  // of the lower end, cells of equal width, and the upper end

/// A closed interval, or a line where it is so wide that nothing reaches its ends.
struct Interval {
  double low;
  double high;
  std::size_t cells;

  [[nodiscard]] double width() const { return (high - low) / static_cast<double>(cells); }
  /// A point of part `i`: an end, or the middle of a cell.
  [[nodiscard]] double point(std::size_t i) const {
    if (i == 0) return low;
    return i > cells ? high : low + (static_cast<double>(i) - 0.5) * width();
  }
  /// The masses of point + noise, projected, times `mass`, are added.
  void add_noisy(double point, double noise, double mass, Masses& to) const {
    double before = 0;
    for (std::size_t i = 0; i <= cells; ++i) {
      const double below = normal_cdf((low + static_cast<double>(i) * width() - point) / noise);
      to[i] += mass * (below - before);
      before = below;
    }
    to[cells + 1] += mass * (1 - before);
  }
  /// The law of x_T from x_0 = start.
  [[nodiscard]] Masses last(double start, const std::vector<Map>& maps, double noise) const {
    Masses masses(cells + 2, 0);
    add_noisy(maps.front()(start), noise, 1, masses);
    for (std::size_t step = 1; step < maps.size(); ++step) {
      Masses next(cells + 2, 0);
      for (std::size_t i = 0; i < masses.size(); ++i) {
        if (masses[i] > 1e-14) add_noisy(maps[step](point(i)), noise, masses[i], next);
      }
      masses = std::move(next);
    }
    return masses;
  }
};

/// The larger one of both orders.
double delta_of(const Masses& p, const Masses& q, double epsilon) {
  double one = 0;
  double other = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    one += std::max(0.0, p[i] - std::exp(epsilon) * q[i]);
    other += std::max(0.0, q[i] - std::exp(epsilon) * p[i]);
  }
  return std::max(one, other);
}

Enclosure claimed(const std::string& event, double epsilon) { return best_delta(parse_event(event, replaced), Epsilon{epsilon}).value; }

/// What the partition, which is coarser than the line, may hide or add.
constexpr double coarse = 4e-3;

void expect_attained(const std::string& event, const Masses& p, const Masses& q) {
  for (const double epsilon : {0.0, 0.3, 1.0}) {
    const double truth = delta_of(p, q, epsilon);
    const auto claim = claimed(event, epsilon);
    EXPECT_LE(truth, claim.upper * (1 + coarse)) << event;
    EXPECT_GE(truth, claim.lower * (1 - coarse)) << event;
    EXPECT_LE(claim.upper - claim.lower, 1e-9) << event;
  }
}

Map scaled(double factor, double shift = 0) {
  return [=](double x) { return factor * x + shift; };
}

TEST(SoundnessLastIterate, LinearMapsOfAllDataCostWhatTheEventSays) {
  for (const auto& [c, steps, noise] : {std::tuple{0.9, 12, 3.0}, {1.0, 9, 3.0}, {0.5, 5, 2.0}, {0.0, 4, 2.0}}) {
    const double farthest = 8 * noise * std::sqrt(c == 1 ? steps : 1 / (1 - c * c)) + steps;
    const Interval line{-farthest, farthest, 900};
    const auto count = static_cast<std::size_t>(steps);
    expect_attained(fmt::format("last_iterate({}, {}, gaussian({}))", steps, c, noise),
                    line.last(0, std::vector<Map>(count, scaled(c)), noise), line.last(0, std::vector<Map>(count, scaled(c, 1)), noise));
  }
}

TEST(SoundnessLastIterate, RecordsOfOneUserMoveTheMapTogether) {
  const Interval line{-70, 70, 700};
  expect_attained("users(3, last_iterate(9, 0.9, gaussian(5)))", line.last(0, std::vector<Map>(9, scaled(0.9)), 5),
                  line.last(0, std::vector<Map>(9, scaled(0.9, 3)), 5));
}

TEST(SoundnessLastIterate, PassesCostWhatTheEventSays) {
  for (const auto& [c, passes, batches, noise] :
       {std::tuple{0.8, 5, 3, 2.0}, {1.0, 3, 3, 2.0}, {1.0, 2, 2, 1.5}, {0.7, 4, 2, 2.0}, {0.8, 5, 1, 2.0}}) {
    const auto steps = static_cast<std::size_t>(passes * batches);
    std::vector<double> factors(steps, c);
    if (batches > 1) {
      // The step of the first pass forgets the noise before it, and the last one weighs what was seen before.
      const double l = batches;
      const double old = l * (passes - 1);
      factors[static_cast<std::size_t>(batches - 1)] = 0;
      factors.back() = c == 1 ? 1 / l : std::pow(c, l - 1) * (1 - c * c) / ((1 - std::pow(c, l)) * (1 + std::pow(c, old)));
    }
    std::vector<Map> without;
    std::vector<Map> with;
    for (std::size_t k = 0; k < steps; ++k) {
      without.push_back(scaled(factors[k]));
      with.push_back(scaled(factors[k], (k + 1) % static_cast<std::size_t>(batches) == 0 ? 1 : 0));
    }
    const Interval line{-60, 60, 800};
    expect_attained(fmt::format("last_iterate_of_passes({}, {}, {}, gaussian({}))", passes, batches, c, noise),
                    line.last(0, without, noise), line.last(0, with, noise));
  }
}

TEST(SoundnessLastIterate, OnePassOverGrowingBatchesCostsItsWorstBatch) {
  const std::vector<double> sizes{2, 2, 3, 5, 5, 8};
  const Interval line{-30, 30, 1200};
  constexpr double noise = 0.5;
  double worst = 0;
  for (std::size_t batch = 0; batch < sizes.size(); ++batch) {
    std::vector<Map> without(sizes.size(), scaled(1));
    without[batch] = scaled(0);
    std::vector<Map> with = without;
    with[batch] = scaled(0, 1 / sizes[batch]);
    worst = std::max(worst, delta_of(line.last(0, without, noise), line.last(0, with, noise), 0.1));
  }
  const auto claim = claimed("last_iterate_of_batches(2, 2, 1, 3, 2, 5, 1, 8, gaussian(0.5))", 0.1);
  EXPECT_NEAR(worst, claim.upper, coarse * claim.upper);
  EXPECT_NEAR(worst, claim.lower, coarse * claim.lower);
}

/// A map of slopes from -c to c, and one within 1 of it, of such slopes, too.
struct Maps {
  std::mt19937_64 words{20260301};

  double uniform(double low, double high) { return low + (high - low) * static_cast<double>(words() >> 11) * 0x1p-53; }
  Map draw(double c, const Interval& domain) {
    constexpr int pieces = 6;
    std::vector<double> slopes;
    for (int i = 0; i < pieces; ++i) slopes.push_back(words() % 2 == 0 ? c : uniform(-c, c));
    const double piece = (domain.high - domain.low) / pieces;
    const double begin = uniform(domain.low - 1, domain.high) - (words() % 2 == 0 ? 0.0 : c * (domain.high - domain.low) / 2);
    return [=, low = domain.low](double x) {
      double value = begin;
      for (int i = 0; i < pieces; ++i) value += slopes[static_cast<std::size_t>(i)] * std::clamp(x - low - i * piece, 0.0, piece);
      return value;
    };
  }
  Map neighbour(const Map& map, double c, const Interval& domain) {
    if (words() % 2 == 0) {
      const double shift = words() % 2 == 0 ? 1 : -1;
      return [=](double x) { return map(x) + shift; };
    }
    return [map, other = draw(c, domain)](double x) { return std::clamp(other(x), map(x) - 1, map(x) + 1); };
  }
};

TEST(SoundnessLastIterate, NoMapsWithinADomainCostMoreThanTheEvent) {
  Maps maps;
  for (const auto& [c, steps, diameter, noise] :
       {std::tuple{1.0, 12, 2.0, 1.0}, {0.9, 10, 1.0, 1.0}, {1.0, 6, 5.0, 1.0}, {0.8, 8, 0.5, 0.7}, {0.95, 20, 3.0, 1.5}}) {
    const Interval domain{0, diameter, cells_of_an_interval};
    const auto event = fmt::format("last_iterate_within({}, {}, {}, gaussian({}))", diameter, steps, c, noise);
    double nearest = 0;
    for (int trial = 0; trial < 12; ++trial) {
      std::vector<Map> one;
      std::vector<Map> other;
      for (int step = 0; step < steps; ++step) {
        // The first trial drifts apart around the middle.
        const double middle = diameter / 2;
        one.push_back(trial == 0 ? Map{[=](double x) { return middle - 0.5 + c * (x - middle); }} : maps.draw(c, domain));
        other.push_back(trial == 0 ? Map{[=](double x) { return middle + 0.5 + c * (x - middle); }}
                                   : maps.neighbour(one.back(), c, domain));
      }
      const double start = maps.uniform(0, diameter);
      const auto p = domain.last(start, one, noise);
      const auto q = domain.last(start, other, noise);
      for (const double epsilon : {0.0, 0.5, 1.5}) {
        const double truth = delta_of(p, q, epsilon);
        const double claim = claimed(event, epsilon).upper;
        EXPECT_LE(truth, claim * (1 + coarse) + 1e-9) << event << " at " << epsilon;
        nearest = std::max(nearest, truth / claim);
      }
    }
    EXPECT_GE(nearest, 0.4) << event;  // else the maps would show nothing
  }
}

TEST(SoundnessLastIterate, FarFromADiskItsProjectionShowsTheLastStep) {
  // The direction of (far + X, Y), Y around 0 and around 1: the law of far Y / (far + X), in cells.
  constexpr double noise = 1.5;
  constexpr double far = 400;
  const auto law = [&](double shift) {
    constexpr int parts = 600;
    constexpr int steps = 200;
    Masses masses(parts, 0);
    for (int j = 0; j < steps; ++j) {
      const double x = noise * (-6 + 12 * (j + 0.5) / steps);
      const double mass = normal_cdf((x / noise) + 6.0 / steps) - normal_cdf((x / noise) - 6.0 / steps);
      double before = 0;
      for (int i = 0; i < parts; ++i) {
        const double end = -15 + 30.0 * (i + 1) / parts;
        const double below = normal_cdf((end * (far + x) / far - shift) / noise);
        masses[static_cast<std::size_t>(i)] += mass * (below - before);
        before = below;
      }
    }
    return masses;
  };
  const auto p = law(0);
  const auto q = law(1);
  for (const double epsilon : {0.0, 0.5, 1.0}) {
    const auto claim = claimed("last_iterate_within(0.001, 50, 1, gaussian(1.5))", epsilon);
    EXPECT_GE(delta_of(p, q, epsilon), claim.lower * (1 - coarse));
    EXPECT_GT(claim.lower, 0);
    // In so small a domain the last step is nearly all.
    EXPECT_LE(claim.upper, claim.lower * 1.02);
  }
}

}  // namespace
}  // namespace surety::accounting::last_iterate_soundness_test
