#include <surety/statistics/quantile_intervals.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <surety/base/text/error.h>
#include <surety/mechanisms/queries/grid.h>

namespace surety::statistics {
namespace {

/// Parts of a record in which counts are noisy.
constexpr std::int64_t parts = 1024;

/// By how many places one unit moves the choices of flanks, and the counts: rows that come or go move one, and rows that change move two.
double moved_by_unit(const QuantileMechanism& mechanism) {
  return mechanism.rows() * (mechanism.adjacency() == Adjacency::replace_one ? 2 : 1);
}

/// b of the noise on counts, in parts of a record. Noise of loss e has a range of 2 e.
double scale_of(const QuantileMechanism& mechanism, Epsilon of_counts) {
  const double epsilon = of_counts.value() / (mechanism.choice() == QuantileChoice::permute_and_flip ? 1 : 2);
  return std::ceil(moved_by_unit(mechanism) * static_cast<double>(parts) / epsilon * (1 + 0x1p-50));
}

mechanisms::DiscreteLaplaceNoise noise_of(const QuantileMechanism& mechanism, Epsilon of_counts) {
  const double scale = scale_of(mechanism, of_counts);
  if (!(scale <= 0x1p57)) {
    invalid(fmt::format("the interval of a quantile has noise of {} records, must be at most 2^47 (use a larger epsilon)",
                        scale / static_cast<double>(parts)));
  }
  return mechanisms::DiscreteLaplaceNoise{{.num = static_cast<std::uint64_t>(scale), .den = 1}};
}

}  // namespace

std::vector<std::int64_t> cells_between(std::span<const RankCount> counts, const std::vector<Boundary>& boundaries) {
  std::vector<std::int64_t> cells{0};
  std::size_t next = 0;
  for (std::size_t place = 0; place < counts.size(); ++place) {
    const auto& count = counts[place];
    cells.back() += static_cast<std::int64_t>(count.below);
    for (const bool is_behind : {false, true}) {
      if (is_behind) cells.back() += static_cast<std::int64_t>(count.equal);
      if (next < boundaries.size() && boundaries[next] == Boundary{place, is_behind}) {
        cells.push_back(0);
        ++next;
      }
    }
    cells.back() += static_cast<std::int64_t>(count.above);
  }
  return cells;
}

QuantileIntervals::QuantileIntervals(QuantileMechanism mechanism, Epsilon of_counts, double exceeded)
    : mechanism_{std::move(mechanism)}, of_counts_{of_counts}, exceeded_{exceeded}, noise_{noise_of(mechanism_, of_counts)} {
  if (mechanism_.fractions().size() > most_fractions) {
    invalid(fmt::format("the fractions of a quantile with intervals are {}, must be at most {}", mechanism_.fractions().size(),
                        most_fractions));
  }
}

Event QuantileIntervals::counts_event() const {
  return mechanism_.choice() == QuantileChoice::permute_and_flip ? surety::pure(of_counts_, mechanism_.adjacency())
                                                                 : surety::exponential(of_counts_, mechanism_.adjacency());
}

double QuantileIntervals::reach(Fraction fraction, std::size_t cells_below, std::size_t cells) {
  const auto [at, is_new] = reaches_.try_emplace({fraction.billionths(), cells_below, cells}, 0);
  if (is_new) {
    const double scale = scale_of_counts();
    const double q = fraction.value();
    const std::array terms{LaplaceTerms{(1 - q) * scale * (1 + 0x1p-50), cells_below},
                           LaplaceTerms{q * scale * (1 + 0x1p-50), cells - cells_below}};
    // Discrete noise lies within a part of the real noise for each cell, and 2^-10 of all cells are for the rounding of the fraction.
    at->second = quantile_of_laplace(terms, exceeded_ / 2) + static_cast<double>(cells) / static_cast<double>(parts);
  }
  return at->second;
}

double QuantileIntervals::scale_of_counts() const { return static_cast<double>(noise_.scale().num) / static_cast<double>(parts); }

Epsilon QuantileIntervals::of_flank() const {
  // Between two quantiles there are two flanks.
  return Epsilon{mechanism_.epsilon().value() / (mechanism_.fractions().size() > 1 ? 2 : 1)};
}

std::int64_t QuantileIntervals::distance(std::size_t index) {
  const auto& fractions = mechanism_.fractions();
  const std::size_t cells = 4 * fractions.size() + 1;
  const double of_choice = 2 * moved_by_unit(mechanism_) / of_flank().value();
  constexpr double most = 0x1p50;
  return static_cast<std::int64_t>(std::min(std::ceil(2 * reach(fractions.all()[index], 4 * index + 2, cells) + 2 * of_choice), most));
}

std::vector<std::vector<MeasuredQuantile>> QuantileIntervals::release(std::span<const RankCounts> groups,
                                                                      const std::function<void()>& spend,
                                                                      const std::function<void()>& spend_counts, mechanisms::BitsRef bits) {
  const auto& fractions = mechanism_.fractions();
  const auto& candidates = mechanism_.candidates();
  const auto places = mechanism_.release_places(groups, spend, bits);
  const std::size_t count = fractions.size();
  const ScoreSensitivity moved{moved_by_unit(mechanism_)};

  // Flanks: of each group below and above each fraction. Where none is between two numbers, it is the number itself.
  auto lower = places;
  auto upper = places;
  const auto choose_flanks = [&](std::size_t group, std::size_t index, bool is_lower) {
    const auto& chosen = places[group];
    const auto counts = groups[group].counts();
    // Candidates strictly between this number and the next one.
    const std::size_t first = is_lower ? (index > 0 ? chosen[index - 1] + 1 : 0) : chosen[index] + 1;
    const std::size_t last = is_lower ? chosen[index] : (index + 1 < count ? chosen[index + 1] : counts.size());
    if (first >= last) return;
    const auto between = counts.subspan(first, last - first);
    WideInteger records = 0;
    for (const auto& each : between) records += each.all();
    const auto wanted = WideInteger{distance(index)};
    const auto scores = target_scores(between, is_lower ? records - wanted : wanted, 1);
    const auto at = first + mechanism_.choose(scores, of_flank(), moved, bits);
    (is_lower ? lower : upper)[group][index] = at;
  };
  spend();
  for (const bool is_lower : {true, false}) {
    for (std::size_t group = 0; group < groups.size(); ++group) {
      for (std::size_t index = 0; index < count; ++index) choose_flanks(group, index, is_lower);
    }
  }

  spend_counts();
  std::vector<std::vector<MeasuredQuantile>> result;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    std::vector<Boundary> boundaries;
    for (std::size_t index = 0; index < count; ++index) {
      boundaries.push_back({lower[group][index], false});
      boundaries.push_back({places[group][index], false});
      boundaries.push_back({places[group][index], true});
      boundaries.push_back({upper[group][index], true});
    }
    std::sort(boundaries.begin(), boundaries.end());
    boundaries.erase(std::unique(boundaries.begin(), boundaries.end()), boundaries.end());
    auto cells = cells_between(groups[group].counts(), boundaries);
    std::vector<std::int64_t> noise(cells.size());
    noise_.fill(noise, bits);
    for (std::size_t k = 0; k < cells.size(); ++k) cells[k] = saturating_add(std::min(cells[k], std::int64_t{1} << 50) * parts, noise[k]);
    WideInteger all = 0;
    for (const auto cell : cells) all += cell;
    // By how much more numbers are before a boundary than q n, as far as the noise tells, and how far that may be off.
    const auto before = [&](Boundary boundary, Fraction fraction) {
      const auto below =
          static_cast<std::size_t>(std::lower_bound(boundaries.begin(), boundaries.end(), boundary) - boundaries.begin()) + 1;
      WideInteger sum = 0;
      for (std::size_t k = 0; k < below; ++k) sum += cells[k];
      const auto exact = sum * Fraction::whole - all * fraction.billionths();
      const double records = static_cast<double>(exact) / static_cast<double>(Fraction::whole) / static_cast<double>(parts);
      return std::pair{records, reach(fraction, below, cells.size()) + std::abs(records) * 0x1p-40};
    };
    auto& measured = result.emplace_back();
    for (std::size_t index = 0; index < count; ++index) {
      const auto fraction = fractions.all()[index];
      const auto is_below = [&](std::size_t place) {  // fewer than q n numbers are below the candidate
        const auto [records, reach_of_noise] = before({place, false}, fraction);
        return records + reach_of_noise < 0;
      };
      const auto is_above = [&](std::size_t place) {  // more than q n numbers are at or below the candidate
        const auto [records, reach_of_noise] = before({place, true}, fraction);
        return records - reach_of_noise > 0;
      };
      const std::size_t at = places[group][index];
      MeasuredQuantile one{candidates[at], candidates.bounds().lower, candidates.bounds().upper, 0};
      // From far to near, up to the first that the noise leaves in doubt: then one test alone decides whether the interval is wrong.
      std::vector<std::size_t> from_below{lower[group][index], at};
      std::vector<std::size_t> from_above{upper[group][index], at};
      if (index > 0) from_below.insert(from_below.begin(), places[group][index - 1]);
      if (index + 1 < count) from_above.insert(from_above.begin(), places[group][index + 1]);
      for (const auto place : from_below) {
        if (!is_below(place)) break;
        one.lower = candidates[place];
      }
      for (const auto place : from_above) {
        if (!is_above(place)) break;
        one.upper = candidates[place];
      }
      const auto [too_many, reach_below] = before({at, false}, fraction);
      const auto [not_too_few, reach_above] = before({at, true}, fraction);
      one.rank_error = std::max({0.0, too_many + reach_below, reach_above - not_too_few});
      measured.push_back(one);
    }
  }
  return result;
}

}  // namespace surety::statistics
