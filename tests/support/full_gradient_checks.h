// What the tests of full-gradient methods share: neighbours under each adjacency, the sensitivity and taint of many drawn runs, noise
// without a ledger, and a two-point attack on everything that a run releases.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <surety/accounting/answers/best.h>
#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/bits/random_bits.h>
#include <surety/optimizers/doors/run.h>
#include <surety/optimizers/problem/dataset.h>
#include <surety/optimizers/problem/unit_rows.h>

#include <support/drawn_cases.h>
#include <support/drawn_records.h>
#include <support/empirical_epsilon.h>
#include <support/refusal.h>
#include <support/taint.h>
#include <support/temporary_folder.h>

namespace surety::optimizers {

inline constexpr std::array every_adjacency{Adjacency::replace_one, Adjacency::zero_out, Adjacency::add_or_remove_one};

// A build without optimisation, as under the sanitizers, looks at the same code many times slower: it looks at less.
#ifdef __OPTIMIZE__
inline constexpr bool optimized = true;
#else
inline constexpr bool optimized = false;
#endif

struct Neighbours {
  Dataset data;
  Dataset neighbour;
};

/// Two data sets that differ in one record, ordinary or extreme.
inline Neighbours neighbours_under(Adjacency adjacency, std::size_t size, std::size_t features, std::mt19937_64& random) {
  if (adjacency != Adjacency::add_or_remove_one) {
    auto [data, neighbour, place] = drawn_neighbours(size, features, adjacency, random);
    return {std::move(data), std::move(neighbour)};
  }
  std::vector<DrawnRecord> records;
  for (std::size_t i = 0; i < size; ++i) records.push_back(drawn_record(features, random));
  auto more = records;
  more.insert(more.begin() + static_cast<std::ptrdiff_t>(random() % (size + 1)), drawn_record(features, random));
  return {assemble(records), assemble(more)};
}

/// Two data sets that differ in one unit of one to three rows, and where the rows of each unit end.
struct UnitNeighbours {
  std::array<Dataset, 2> data;
  std::array<std::vector<std::size_t>, 2> ends;
  /// Of one of `data`, by its address.
  [[nodiscard]] UnitEnds ends_of(const Dataset& records) const {
    EXPECT_TRUE(&records == &data[0] || &records == &data[1]);
    return ends[&records == &data[0] ? 0 : 1];
  }
};
inline UnitNeighbours unit_neighbours_under(Adjacency adjacency, std::size_t units, std::size_t features, std::mt19937_64& random) {
  const auto draw = [&] {
    std::vector<DrawnRecord> rows;
    const std::size_t size = 1 + random() % 3;
    for (std::size_t i = 0; i < size; ++i) rows.push_back(drawn_record(features, random));
    return rows;
  };
  std::array<std::vector<std::vector<DrawnRecord>>, 2> all;
  for (std::size_t i = 0; i < units; ++i) all[0].push_back(draw());
  all[1] = all[0];
  const auto place = static_cast<std::ptrdiff_t>(random() % units);
  auto& changed = all[1][static_cast<std::size_t>(place)];
  if (adjacency == Adjacency::add_or_remove_one) {
    all[1].insert(all[1].begin() + place, draw());
  } else if (adjacency == Adjacency::zero_out) {
    changed.assign(1 + random() % 3, {std::vector<double>(features, 0.0), 1});
  } else {
    changed = draw();
  }
  std::array<std::vector<std::size_t>, 2> ends;
  std::array<std::vector<DrawnRecord>, 2> rows;
  for (std::size_t side = 0; side < 2; ++side) {
    for (const auto& unit : all[side]) {
      rows[side].insert(rows[side].end(), unit.begin(), unit.end());
      ends[side].push_back(rows[side].size());
    }
  }
  return {{assemble(rows[0]), assemble(rows[1])}, std::move(ends)};
}

/// A data set of one record whose gradient is the clip, on the side of `label`.
inline Dataset worst_record(double label) { return Dataset::dense(1, {1e6}, {label}); }

/// What one record does to `optimizer(data, domain, releaser)` without a domain.
template <class Optimizer>
Difference full_gradient_difference(const Optimizer& optimizer, const Dataset& data, const Dataset& neighbour,
                                    const std::vector<std::vector<double>>& script) {
  return {untainted(optimizer, data, neighbour, WholeSpace{}, script),
          largest_sensitivity_ratio(optimizer, data, neighbour, WholeSpace{}, script)};
}

/// `leaky(leak)` on two records of which the second becomes `changed`: without a leak nothing is seen, half of the sensitivity is too little,
/// and each of `leaks` is seen.
template <class Leak, class Leaky>
void expect_planted_leaks_caught(const Leaky& leaky, const DrawnRecord& changed, const std::vector<std::vector<double>>& script,
                                 const std::vector<Leak>& leaks) {
  const DrawnRecord first{{0.6, 0.1}, -1};
  const auto difference = [&](Leak leak) {
    return full_gradient_difference(leaky(leak), assemble({first, {{1.5, 2.5}, 1}}), assemble({first, changed}), script);
  };
  EXPECT_TRUE(difference(Leak::none).untainted);
  EXPECT_LE(difference(Leak::none).ratio, 1);
  EXPECT_GT(difference(Leak::half_sensitivity).ratio, 1);
  for (const Leak leak : leaks) EXPECT_FALSE(difference(leak).untainted) << static_cast<int>(leak);
}

/// Whether run(data, options) refuses an argument, as a function of these and of the words of the refusal.
template <class Run>
auto refusal_of_run(const Run& run) {
  return [=](const Dataset& data, const auto& options, std::string_view words) {
    return refuses([&] { static_cast<void>(run(data, options)); }, ErrorCode::invalid_argument, {words});
  };
}

/// `refused(data, options, words)`: whether a run refuses, with these words, what no method trains on.
template <class Options, class Refused>
void expect_bad_data_refused(const Refused& refused, Options options) {
  options.adjacency = Adjacency::add_or_remove_one;
  options.public_count = std::nullopt;
  EXPECT_TRUE(refused(worst_record(1), options, "public count"));
  options.adjacency = Adjacency::replace_one;
  EXPECT_TRUE(refused(Dataset::dense(2, {}, {}), options, "count is 0"));
  EXPECT_TRUE(refused(Dataset::dense(2, {1, 2}, {}), options, "labels"));
}

/// Runs make(adjacency, random) on `cases` pairs of neighbours with scripted releases. The worst of what was seen.
struct Checked {
  double largest_ratio = 0;  ///< of the change of a query to its sensitivity
  ::testing::AssertionResult untainted = ::testing::AssertionSuccess();
};
template <class Make>
Checked check_neighbours(const Make& make, std::size_t steps, int cases, std::uint64_t seed) {
  std::mt19937_64 random{seed};
  Checked worst;
  for (int k = 0; k < cases && worst.untainted; ++k) {
    const Adjacency adjacency = every_adjacency[static_cast<std::size_t>(k) % 3];
    const std::size_t features = 1 + random() % 4;
    const auto [data, neighbour] = neighbours_under(adjacency, 1 + random() % 6, features, random);
    std::vector<std::vector<double>> script(steps);
    for (auto& released : script) {
      released.resize(features);
      for (double& value : released) value = std::uniform_real_distribution<double>{-20, 20}(random);
    }
    const auto optimizer = make(adjacency, random);
    const Difference found = full_gradient_difference(optimizer, data, neighbour, script);
    worst.untainted = found.untainted;
    worst.largest_ratio = std::max(worst.largest_ratio, found.ratio);
  }
  return worst;
}

inline void expect_nothing_but_queries_moved(const Checked& found, const std::string& property) {
  EXPECT_TRUE(found.untainted);
  EXPECT_LE(found.largest_ratio, 1);
  EXPECT_GT(found.largest_ratio, 0.99);
  ::testing::Test::RecordProperty(property, std::to_string(found.largest_ratio));
}

/// Rows of unit norm with labels of a logistic model: a problem on which every method must learn.
inline Dataset logistic_problem(std::size_t size, std::size_t features, std::uint64_t seed) {
  std::mt19937_64 random{seed};
  std::normal_distribution<double> normal;
  std::vector<double> values;
  std::vector<double> labels;
  for (std::size_t i = 0; i < size; ++i) {
    std::vector<double> row(features);
    double squares = 0;
    for (double& x : row) {
      x = normal(random);
      squares += x * x;
    }
    double score = 0;
    for (std::size_t j = 0; j < features; ++j) {
      row[j] /= std::sqrt(squares);
      score += (j % 2 == 0 ? 3 : -1) * row[j];
    }
    values.insert(values.end(), row.begin(), row.end());
    labels.push_back(std::uniform_real_distribution<double>{0, 1}(random) < 1 / (1 + std::exp(-2 * score)) ? 1 : -1);
  }
  return Dataset::dense(features, std::move(values), std::move(labels));
}

/// A run with `options` under zero-out, run(data, releaser), spends its plan: so many Gaussian releases of multiplier 3.
template <class Options, class Run>
void expect_plan_spent(const Options& options, std::uint64_t releases, const Run& run) {
  const TemporaryFolder folder;
  auto ledger = accounting::Ledger::create(folder / "run.db", Adjacency::zero_out);
  auto reservation = ledger.reserve({.event = plan(options), .not_private = true});
  mechanisms::ReplayBits bits{5};
  NoisyReleaser releaser{reservation, bits};
  run(logistic_problem(11, 3, 1), releaser);
  EXPECT_TRUE(reservation.released() == accounting::Releases::of(plan(options)));
  EXPECT_EQ(plan(options), repeat(Count{releases}, gaussian(NoiseMultiplier{3}, Adjacency::zero_out)));
}

/// Draws the noise of every release from a replay source, without a ledger, and adds up the first coordinates of what it released.
class ReplayedReleaser final : public Releaser {
 public:
  explicit ReplayedReleaser(mechanisms::ReplayBits& bits) : bits_{bits} {}
  [[nodiscard]] std::vector<double> release(const GridVector& query, L2Sensitivity sensitivity, const Event& event) override {
    const mechanisms::Gaussian::Options options{.multiplier = std::get<Event::Gaussian>(event.node()).multiplier,
                                                .sensitivity = sensitivity,
                                                .grid = query.grid,
                                                .adjacency = event.adjacency()};
    if (!noise_ || noise_->options() != options) noise_.emplace(options);
    auto released = noise_->release(query, bits_);
    sum_ += released[0];
    return released;
  }
  /// The sum so far; starts another one.
  [[nodiscard]] double take_sum() { return std::exchange(sum_, 0); }

 private:
  mechanisms::ReplayBits& bits_;
  std::optional<mechanisms::Gaussian> noise_;
  double sum_ = 0;
};

/// A loss whose gradient is label x row at any weights: a record beyond the clip contributes as much as it can, in every step.
struct LinearLoss {
  static constexpr std::string_view name = "linear";
  static constexpr std::string_view label_constraint = "must be a finite number";
  [[nodiscard]] double value(double score, double label) const { return label * score; }
  [[nodiscard]] double derivative(double /*score*/, double label) const { return label; }
  [[nodiscard]] double gradient_bound(double norm) const { return norm; }
  [[nodiscard]] double gradient_difference_bound(double /*norm*/) const { return 0; }
  [[nodiscard]] double smoothness(double /*norm*/) const { return 1; }
  [[nodiscard]] std::optional<double> encode_label(double label) const { return label; }
};

/// A lower bound on the epsilon of `run(data, releaser)`, which makes `steps` releases of gaussian(z) with sensitivity 2C, from runs on the
/// worst pair under replace-one. The sum of the releases has mean +-steps C and variance steps (2 z C)^2; its size is compared with a
/// threshold fixed beforehand, where (mean - threshold) / deviation is -1.5.
template <class Run>
double attacked_epsilon(const Run& run, std::size_t steps, double clip, NoiseMultiplier z, double delta, std::uint64_t runs,
                        std::uint64_t seed) {
  const auto count = static_cast<double>(steps);
  const double threshold = count * clip + 1.5 * std::sqrt(count) * 2 * z.value() * clip;
  const auto hits = [&](double label) {
    mechanisms::ReplayBits bits = mechanisms::ReplayBits{seed}.substream(label > 0 ? "first" : "second");
    ReplayedReleaser releaser{bits};
    const Dataset data = worst_record(label);
    std::uint64_t found = 0;
    for (std::uint64_t k = 0; k < runs; ++k) {
      run(data, releaser);
      if (releaser.take_sum() > threshold) ++found;
    }
    return reference::Hits{.hits = found, .runs = runs};
  };
  return reference::empirical_epsilon(hits(1), hits(-1), delta, 1e-9);
}

/// min F over records and (lambda / 2) ||w||^2 by exact accelerated steps of 1 / smoothness, without clipping: for small problems of tests.
template <class O, class Proximal>
std::vector<double> minimum_of(const O& objective, const Dataset& data, double lambda, double smoothness, int steps,
                               const Proximal& proximal) {
  std::vector<double> weights(data.features(), 0.0);
  proximal(1 / smoothness, std::span{weights});
  std::vector<double> ahead = weights;
  for (int t = 1; t <= steps; ++t) {
    std::vector<double> gradient(data.features(), 0.0);
    for (std::size_t i = 0; i < data.size(); ++i) add_gradient(objective, data.row(i), data.label(i), ahead, gradient);
    for (std::size_t j = 0; j < ahead.size(); ++j) {
      ahead[j] -= (gradient[j] / static_cast<double>(data.size()) + lambda * ahead[j]) / smoothness;
    }
    proximal(1 / smoothness, std::span{ahead});
    // Restart the momentum every 50 steps: linear convergence on strongly convex problems without knowing their constant.
    const double beta = (t % 50) / (t % 50 + 3.0);
    for (std::size_t j = 0; j < ahead.size(); ++j) {
      const double previous = std::exchange(weights[j], ahead[j]);
      ahead[j] += beta * (weights[j] - previous);
    }
  }
  return weights;
}

}  // namespace surety::optimizers
