// What a release costs, from the meaning of its adjacency alone: every data set of a few records, all its neighbours, the batches that a
// sampler may draw, one by one, and the hockey-stick divergence of the laws of the results, in both directions. Nothing here knows a
// dominating pair, or any theorem about a mechanism.
//
// Definitions:
//   record   one of three values; value 0 is the record that contributes zero
//   code     which places of 0 .. n - 1 hold a record, and its value: a number in base 4, digit 0 for a place without one
//   list     a code whose records come first; under add_or_remove_one a data set and a batch have no places but those of a list
//   kernel   the law of a finite result for every batch
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include <surety/accounting/events/units.h>

namespace surety::reference {

constexpr int values = 3;
constexpr int base = values + 1;
constexpr int most_places = 4;

/// The value at a place, or -1.
inline int value_at(int code, int place) { return (code >> (2 * place)) % base - 1; }
inline int with_value(int code, int place, int value) { return (code & ~(3 << (2 * place))) | ((value + 1) << (2 * place)); }
inline int occupied(int code) {
  int mask = 0;
  for (int place = 0; place < most_places; ++place) mask |= (value_at(code, place) >= 0 ? 1 : 0) << place;
  return mask;
}
/// The records at the places of `mask` alone.
inline int restricted(int code, int mask) {
  for (int place = 0; place < most_places; ++place) {
    if (((mask >> place) & 1) == 0) code = with_value(code, place, -1);
  }
  return code;
}
/// The same records from place 0 on.
inline int as_list(int code) {
  int list = 0;
  int next = 0;
  for (int place = 0; place < most_places; ++place) {
    if (value_at(code, place) >= 0) list = with_value(list, next++, value_at(code, place));
  }
  return list;
}

/// The data sets of up to `places` records under an adjacency, and which are neighbours.
struct World {
  Adjacency adjacency;
  int places;
  std::vector<int> batches;                                     ///< all codes that a batch can have
  std::vector<int> data;                                        ///< all codes that a data set can have
  std::vector<std::pair<int, int>> batch_pairs;                 ///< codes of neighbouring batches
  std::vector<std::pair<std::size_t, std::size_t>> neighbours;  ///< in `data`, each pair in one order
  std::vector<std::pair<std::size_t, std::size_t>> second;      ///< two changes apart

  World(Adjacency of, int count) : adjacency{of}, places{count} {
    for (int code = 0; code < 1 << (2 * places); ++code) {
      if (is_list_world() && as_list(code) != code) continue;
      batches.push_back(code);
      const bool full = occupied(code) == (1 << places) - 1;
      if (full || is_list_world()) data.push_back(code);
    }
    for (const int code : batches) {
      for (const int other : changed(code)) batch_pairs.emplace_back(code, other);
    }
    std::vector<std::vector<std::size_t>> beside(data.size());
    for (std::size_t i = 0; i < data.size(); ++i) {
      for (const int other : changed(data[i])) {
        const std::size_t j = index_of(other);
        neighbours.emplace_back(i, j);
        beside[i].push_back(j);
        beside[j].push_back(i);
      }
    }
    for (const auto& around : beside) {
      for (std::size_t i = 0; i < around.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) second.emplace_back(around[i], around[j]);
      }
    }
  }
  [[nodiscard]] bool is_list_world() const { return adjacency == Adjacency::add_or_remove_one; }

 private:
  [[nodiscard]] std::size_t index_of(int code) const {
    return static_cast<std::size_t>(std::find(data.begin(), data.end(), code) - data.begin());
  }
  /// The neighbours of a code that come after it: fewer records, a larger value, or a zeroed record.
  [[nodiscard]] std::vector<int> changed(int code) const {
    std::vector<int> found;
    for (int place = 0; place < places; ++place) {
      const int value = value_at(code, place);
      if (value < 0) continue;
      switch (adjacency) {
        case Adjacency::add_or_remove_one: found.push_back(as_list(with_value(code, place, -1))); break;
        case Adjacency::zero_out:
          if (value > 0) found.push_back(with_value(code, place, 0));
          break;
        case Adjacency::replace_one:
          for (int other = value + 1; other < values; ++other) found.push_back(with_value(code, place, other));
          break;
      }
    }
    return found;
  }
};

struct Kernel {
  int results = 0;
  std::vector<double> mass;  ///< of result r on code c at c * results + r

  Kernel(const World& world, int count) : results{count}, mass(static_cast<std::size_t>(count) << (2 * world.places)) {}
  [[nodiscard]] double* of(int code) { return mass.data() + static_cast<std::ptrdiff_t>(code) * results; }
  [[nodiscard]] const double* of(int code) const { return mass.data() + static_cast<std::ptrdiff_t>(code) * results; }
};

/// One after the other on one batch, the second chosen by the result of the first.
inline Kernel then(const World& world, const Kernel& first, const std::vector<Kernel>& second) {
  const int inner = second.front().results;
  Kernel both{world, first.results * inner};
  for (const int code : world.batches) {
    for (int r = 0; r < first.results; ++r) {
      const double* chosen = second[static_cast<std::size_t>(r) % second.size()].of(code);
      for (int s = 0; s < inner; ++s) both.of(code)[r * inner + s] = first.of(code)[r] * chosen[s];
    }
  }
  return both;
}

/// Each on its own part of the batch: `goes_second(place, value)` says to which a record belongs.
inline Kernel in_parts(const World& world, const Kernel& first, const Kernel& second, const std::function<bool(int, int)>& goes_second) {
  Kernel both{world, first.results * second.results};
  for (const int code : world.batches) {
    int mask = 0;
    for (int place = 0; place < world.places; ++place) {
      if (value_at(code, place) >= 0 && goes_second(place, value_at(code, place))) mask |= 1 << place;
    }
    int one = restricted(code, ~mask);
    int other = restricted(code, mask);
    if (world.is_list_world()) {
      one = as_list(one);
      other = as_list(other);
    }
    for (int r = 0; r < first.results; ++r) {
      for (int s = 0; s < second.results; ++s) both.of(code)[r * second.results + s] = first.of(one)[r] * second.of(other)[s];
    }
  }
  return both;
}

/// How batches are drawn, and how often. A batch of fixed size is handed over in random order, so that it is a data set of its own;
/// `fixed_places` leaves its records where they are, and
/// `fixed_order` hands them over in the order of the data. \pre with_replacement: `size` is at most the number of places.
struct Sampling {
  enum class Kind { all, poisson, fixed_size, shuffled, in_order, fixed_places, with_replacement, fixed_order };
  Kind kind = Kind::all;
  double rate = 1;
  int size = 0;
  int times = 1;
};

/// Kernels of one event, of which the result before chooses the next.
using Mechanism = std::vector<Kernel>;
inline const Kernel& chosen(const Mechanism& mechanism, int step, int last) {
  return mechanism[static_cast<std::size_t>(step + last) % mechanism.size()];
}

/// How many results a run has.
inline double results_of(const Mechanism& mechanism, const World& world, const Sampling& sampling) {
  const bool epoch = sampling.kind == Sampling::Kind::shuffled || sampling.kind == Sampling::Kind::in_order;
  const int releases = sampling.times * (epoch ? (world.places + sampling.size - 1) / sampling.size : 1);
  return std::pow(mechanism.front().results, releases);
}

/// Appends one release on `batch` to a law of `law.size()` results so far.
inline std::vector<double> extended(const std::vector<double>& law, const Mechanism& mechanism, int step, int batch) {
  const int results = mechanism.front().results;
  std::vector<double> next(law.size() * static_cast<std::size_t>(results));
  for (std::size_t i = 0; i < law.size(); ++i) {
    const int last = step == 0 ? 0 : static_cast<int>(i % static_cast<std::size_t>(results));
    const double* kernel = chosen(mechanism, step, last).of(batch);
    for (int r = 0; r < results; ++r) next[i * static_cast<std::size_t>(results) + static_cast<std::size_t>(r)] = law[i] * kernel[r];
  }
  return next;
}

/// Calls visit(probability, code) for every batch of a data set.
template <class Visit>
void for_each_batch(const World& world, const Sampling& sampling, int data, Visit visit) {
  const int count = __builtin_popcount(static_cast<unsigned>(occupied(data)));
  const auto batch_of = [&](int mask) { return world.is_list_world() ? as_list(restricted(data, mask)) : restricted(data, mask); };
  if (sampling.kind == Sampling::Kind::all) return visit(1.0, data);
  if (sampling.kind == Sampling::Kind::poisson) {
    for (int mask = 0; mask < 1 << count; ++mask) {
      const int inside = __builtin_popcount(static_cast<unsigned>(mask));
      visit(std::pow(sampling.rate, inside) * std::pow(1 - sampling.rate, count - inside), batch_of(mask));
    }
    return;
  }
  if (sampling.kind == Sampling::Kind::with_replacement) {
    // Every slot holds any of the records.
    const double all = std::pow(count, sampling.size);
    for (int draw = 0; draw < static_cast<int>(all); ++draw) {
      int batch = 0;
      for (int slot = 0, rest = draw; slot < sampling.size; ++slot, rest /= count) {
        batch = with_value(batch, slot, value_at(data, rest % count));
      }
      visit(1 / all, batch);
    }
    return;
  }
  std::vector<int> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  double orders = 1;
  for (int i = 2; i <= count; ++i) orders *= i;
  do {
    int batch = 0;
    std::vector<int> drawn(order.begin(), order.begin() + sampling.size);
    if (sampling.kind == Sampling::Kind::fixed_order) std::sort(drawn.begin(), drawn.end());
    for (int i = 0; i < sampling.size; ++i) {
      const int place = drawn[static_cast<std::size_t>(i)];
      batch = with_value(batch, sampling.kind == Sampling::Kind::fixed_places ? place : i, value_at(data, place));
    }
    visit(1 / orders, batch);
  } while (std::next_permutation(order.begin(), order.end()));
}

/// The law of a run on one data set.
inline std::vector<double> law_of(const Mechanism& mechanism, const World& world, const Sampling& sampling, int code) {
  const auto batch_of = [&](int mask) { return world.is_list_world() ? as_list(restricted(code, mask)) : restricted(code, mask); };
  const int count = __builtin_popcount(static_cast<unsigned>(occupied(code)));
  std::vector<double> law{1};
  const bool epoch = sampling.kind == Sampling::Kind::shuffled || sampling.kind == Sampling::Kind::in_order;
  if (!epoch) {
    // One release of each kernel, averaged over its batch; the batches of a run are independent.
    Mechanism averaged;
    for (const auto& kernel : mechanism) {
      Kernel mean{world, kernel.results};
      for_each_batch(world, sampling, code, [&](double probability, int batch) {
        const double* given = kernel.of(batch);
        for (int r = 0; r < kernel.results; ++r) mean.of(0)[r] += probability * given[r];
      });
      averaged.push_back(std::move(mean));
    }
    for (int t = 0; t < sampling.times; ++t) law = extended(law, averaged, t, 0);
    return law;
  }
  const int batches = (world.places + sampling.size - 1) / sampling.size;
  for (int t = 0; t < sampling.times; ++t) {
    std::vector<int> order(static_cast<std::size_t>(count));
    std::iota(order.begin(), order.end(), 0);
    std::vector<double> sum;
    double orders = 0;
    do {
      std::vector<double> one = law;
      for (int b = 0; b < batches; ++b) {
        int mask = 0;
        for (int i = b * sampling.size; i < std::min((b + 1) * sampling.size, count); ++i) mask |= 1 << order[static_cast<std::size_t>(i)];
        one = extended(one, mechanism, t * batches + b, batch_of(mask));
      }
      sum.resize(one.size());
      for (std::size_t i = 0; i < one.size(); ++i) sum[i] += one[i];
      ++orders;
    } while (sampling.kind == Sampling::Kind::shuffled && std::next_permutation(order.begin(), order.end()));
    for (double& mass : sum) mass /= orders;
    law = std::move(sum);
  }
  return law;
}

inline double hockey_stick(const double* p, const double* q, std::size_t count, double odds) {
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += std::max(0.0, p[i] - odds * q[i]);
  return sum;
}

/// delta at each of `epsilons`: the largest over all neighbours, in both directions. `changes` is 1, or 2 for groups of two.
inline std::vector<double> exact_curve(const Mechanism& mechanism, const World& world, const Sampling& sampling,
                                       const std::vector<double>& epsilons, int changes = 1) {
  std::vector<std::vector<double>> laws;
  laws.reserve(world.data.size());
  for (const int code : world.data) laws.push_back(law_of(mechanism, world, sampling, code));
  std::vector<double> largest(epsilons.size(), 0.0);
  for (const auto& [i, j] : changes == 1 ? world.neighbours : world.second) {
    for (std::size_t e = 0; e < epsilons.size(); ++e) {
      const double odds = std::exp(epsilons[e]);
      largest[e] = std::max({largest[e], hockey_stick(laws[i].data(), laws[j].data(), laws[i].size(), odds),
                             hockey_stick(laws[j].data(), laws[i].data(), laws[i].size(), odds)});
    }
  }
  return largest;
}

}  // namespace surety::reference
