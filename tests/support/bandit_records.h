// Users of a bandit for the taint and sensitivity tests: ordinary and extreme ones, and their neighbours.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include <surety/accounting/events/units.h>
#include <surety/mechanisms/queries/record_sum.h>
#include <surety/optimizers/problem/dataset.h>

#include <support/drawn_records.h>
#include <support/stream_taint.h>

namespace surety::optimizers {

/// A context, and the reward that each arm would bring.
struct BanditRecord {
  std::vector<double> row;
  std::vector<double> rewards;
};

inline RowView view(const BanditRecord& record) { return {.indices = {}, .values = record.row, .norm = mechanisms::l2_norm(record.row)}; }

inline BanditRecord bandit_record(std::size_t features, std::size_t arms, std::mt19937_64& random) {
  return {.row = drawn_vector(features, random), .rewards = drawn_vector(arms, random)};
}

inline std::vector<BanditRecord> bandit_records(std::size_t size, std::size_t features, std::size_t arms, std::mt19937_64& random) {
  std::vector<BanditRecord> users;
  for (std::size_t i = 0; i < size; ++i) users.push_back(bandit_record(features, arms, random));
  return users;
}

/// Another user at `place`: any other, one whose context or whose rewards are opposite, or nobody.
inline std::vector<BanditRecord> neighbour(std::vector<BanditRecord> users, std::size_t place, Adjacency adjacency,
                                           std::mt19937_64& random) {
  BanditRecord& user = users[place];
  const std::size_t features = user.row.size();
  const std::size_t arms = user.rewards.size();
  if (adjacency == Adjacency::zero_out) {
    user.row.assign(features, 0.0);
    return users;
  }
  switch (random() % 3) {
    case 0: user = bandit_record(features, arms, random); break;
    case 1:
      for (auto& value : user.row) value = -value;
      break;
    default:
      for (auto& reward : user.rewards) reward = -reward;
  }
  return users;
}

/// Everything that anyone but the user at `place` sees: the arms of the others, and all parameters.
template <class Bandit, class Stream>
std::vector<std::vector<double>> shown_by(Bandit bandit, const std::vector<BanditRecord>& users, std::size_t place, Stream& stream) {
  std::vector<std::vector<double>> shown;
  for (std::size_t t = 0; t < users.size(); ++t) {
    const std::size_t arm = bandit.choose(view(users[t]));
    if (t != place) shown.push_back({static_cast<double>(arm)});
    bandit.learn(view(users[t]), users[t].rewards[arm], stream);
    for (std::size_t a = 0; a < users[t].rewards.size(); ++a) {
      const auto& weights = bandit.weights(a);
      shown.emplace_back(weights.begin(), weights.end());
    }
  }
  return shown;
}

/// In how many blocks of `width` coordinates the contribution at `place` differs between two streams of users.
template <class Algorithm>
std::size_t blocks_moved(const Algorithm& algorithm, const std::vector<BanditRecord>& users, const std::vector<BanditRecord>& neighbours,
                         std::size_t place, Grid grid, const std::vector<std::vector<double>>& released, std::size_t width) {
  const auto a = stream_trace(algorithm, users, grid, released).requests.at(place).contribution.steps;
  const auto b = stream_trace(algorithm, neighbours, grid, released).requests.at(place).contribution.steps;
  std::size_t moved = 0;
  for (std::size_t first = 0; first < a.size(); first += width) {
    bool differs = false;
    for (std::size_t j = first; j < first + width; ++j) differs = differs || a[j] != b[j];
    moved += differs ? 1 : 0;
  }
  return moved;
}

/// The largest ratios of some cases.
struct BanditRatios {
  double at_first = 0;  ///< where the first user differs
  int arm_changes = 0;  ///< cases in which the user is given another arm
  double where_the_arm_changes = 0;
};

/// What replacing the user at `place` does, noted in `largest`. An arm has `width` coordinates.
template <class Algorithm>
Difference bandit_difference(const Algorithm& algorithm, const std::vector<BanditRecord>& users,
                             const std::vector<BanditRecord>& neighbours, std::size_t place, Grid grid,
                             const std::vector<std::vector<double>>& released, std::size_t width, BanditRatios& largest) {
  const Difference found = stream_difference(algorithm, users, neighbours, place, grid, released);
  if (place == 0) largest.at_first = std::max(largest.at_first, found.ratio);
  if (blocks_moved(algorithm, users, neighbours, place, grid, released, width) == 2) {
    ++largest.arm_changes;
    largest.where_the_arm_changes = std::max(largest.where_the_arm_changes, found.ratio);
  }
  return found;
}

}  // namespace surety::optimizers
