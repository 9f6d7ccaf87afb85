// Several queries in one charge: what they cost.
//
// One scale s is common to all, and a part of weight w has noise as of a query alone at scale s / sqrt(w): its variance falls as its weight
// grows, and its share of a budget of zCDP is its share of the weights. A part's noise has its own sensitivity, and its own event: together
// they cost what their composition costs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/statistics/key_selection.h>
#include <surety/statistics/query.h>

namespace surety::statistics {

/// A query and its weight among those that share a charge.
struct WeightedStatistic {
  static constexpr double least_weight = 1e-6;
  static constexpr double largest_weight = 1e6;

  Statistic statistic;
  double weight = 1;

  /// \throws Error{invalid_argument} as `Statistic::validate`, and for a weight out of range.
  void validate() const;
  friend bool operator==(const WeightedStatistic&, const WeightedStatistic&) = default;
};

/// Tickets hold their numbers.
enum class NoiseFamily {
  laplace,   ///< choices of quantiles and modes by the exponential mechanism
  gaussian,  ///< likewise
  pure,      ///< Laplace noise, choices of quantiles and modes by permute-and-flip
};

/// What an answer that is public costs, nothing: pure(0).
[[nodiscard]] Event free_event(Adjacency adjacency);

/// What the release of one query costs at the common scale: laplace(s / sqrt(w)) or gaussian(s / sqrt(w)); of each level of quantiles and each choice of a mode
/// exponential(sqrt(w) / s) beside Laplace noise and exponential(2 sqrt(w) / s) beside Gaussian noise, which cost as much by pure and by
/// concentrated privacy, and pure(sqrt(w) / s) where all is pure. Nothing where the answer is public.
[[nodiscard]] Event event_of(const WeightedStatistic& query, NoiseFamily family, double scale);
/// Keys without counts beside Laplace noise: each is chosen by itself, and there is no noise.
[[nodiscard]] bool is_selection(const Statistic& statistic, NoiseFamily family) noexcept;
/// The threshold that a query for keys, or for means of groups that nobody listed, has at the common scale, in steps of its grid; of a selection about the
/// number of units of which a key is shown with probability 1/2. \pre it is one. \throws Error{unsupported, invalid_argument} as KeysPart.
[[nodiscard]] std::int64_t key_threshold_of(const WeightedStatistic& query, NoiseFamily family, double scale);
/// How many releases of equal events a query is: of quantiles as many as levels, and one for the flanks of intervals; of a mode as many as texts; of
/// others one.
[[nodiscard]] std::size_t releases_of(const Statistic& statistic) noexcept;
/// What one of the `releases_of` releases of quantiles or of a mode costs.
[[nodiscard]] Event level_event_of(const WeightedStatistic& query, NoiseFamily family, double scale);
/// Of quantiles with intervals, what the counts cost that follow the `releases_of` releases: as much epsilon as all d levels of choices, d of a level by
/// permute-and-flip; by the exponential mechanism sqrt(d), which is as much by concentrated privacy. Nothing of other queries.
[[nodiscard]] std::optional<Event> counts_event_of(const WeightedStatistic& query, NoiseFamily family, double scale);
/// The epsilons of all releases of a query, in those of one of them.
[[nodiscard]] double added_releases_of(const Statistic& statistic, NoiseFamily family) noexcept;
/// What all of them cost together, each different release once with its count: that of the query itself where there is one; public ones cost nothing.
/// \pre `queries` is not empty and of one adjacency.
[[nodiscard]] Event event_of(const std::vector<WeightedStatistic>& queries, NoiseFamily family, double scale);

/// The noise of a sum, or of keys, at the common scale.
[[nodiscard]] Event noise_at(const WeightedStatistic& query, NoiseFamily family, double scale);
/// The rule of one key, of whose event a selection is one or several. \throws Error{unsupported} for another event.
[[nodiscard]] KeySelection rule_of(const Event& event);

}  // namespace surety::statistics
