// Online convex optimization with noisy gradients: [ENV21] Algorithm 2 (NoisyOCO) over batches, lazy mirror descent whose sums of terms
// come from a stream.
//
//     x_R = argmin over the domain of omega(x) + eta <s_{R-1}, x>,   s_R = noisy sum of the terms of the batches 1 .. R,   s_0 = 0
//
// A record gives one vector, its term: a gradient at x_R (`FullInformation`) or an estimate of one (projection_free_bandit.h). Terms are
// clipped to l2 norm C and summed over a batch of m records, whose sum is pushed. x_R is computed from released sums alone, so a record
// moves its own term and nothing else: one push, by at most 2C under replace-one, whatever m is.
//
// Differences from the paper:
//   sensitivity  that of one term; the paper bounds the whole sum of a batch, m times (or, with a concentration lemma and a part of
//                delta, sqrt(m) times) as much, which no pair of neighbours reaches
//   clipping     the paper assumes bounded terms; here they are clipped, and the guarantee needs no assumption
//   delay        the paper computes x_R during batch R and plays it in batch R + 1, so that a batch pays for its own oracle calls; here it
//                is computed when the batch ends and played at once
//
// [ENV21] Ene, Nguyen, Vladu: Projection-Free Bandit Optimization with Privacy Guarantees, 2021.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <surety/accounting/events/units.h>
#include <surety/mechanisms/queries/record_sum.h>
#include <surety/mechanisms/queries/sensitivity.h>
#include <surety/optimizers/doors/stream.h>
#include <surety/optimizers/problem/dataset.h>
#include <surety/optimizers/problem/domain.h>
#include <surety/optimizers/problem/mirror_map.h>
#include <surety/optimizers/problem/problem.h>

namespace surety::optimizers {

/// All public; choosing options by the results of private runs is a release of its own.
struct NoisyOcoOptions {
  Count steps;         ///< T, the horizon: the most records
  Count batch;         ///< m, records per push; the last T mod m records are not learned from
  ClippingNorm clip;   ///< C
  StepSize step_size;  ///< eta
  Adjacency adjacency = Adjacency::replace_one;
};

/// The norms in which it is known.
template <class Sensitivity>
concept TermSensitivity = std::same_as<Sensitivity, L1Sensitivity> || std::same_as<Sensitivity, L2Sensitivity>;

/// How far one record moves a push, in the norm of `Sensitivity`: at most 2C in l2 under replace-one, C under zero-out; in l1, for vectors
/// of `dimension` coordinates, at most sqrt(dimension) times that. Rounded up.
template <TermSensitivity Sensitivity>
[[nodiscard]] Sensitivity sensitivity_of_term(ClippingNorm clip, Adjacency adjacency, Count dimension);

/// What the algorithm asks of its stream: one push per batch.
/// \throws Error{invalid_argument} when there are fewer steps than a batch holds; Error{unsupported} under add-or-remove-one: which record
///         comes at which step is public.
template <TermSensitivity Sensitivity = L2Sensitivity>
[[nodiscard]] StreamShape<Sensitivity> shape(const NoisyOcoOptions& options, Count dimension);

namespace detail {

/// Terms in batches, whatever the map.
template <TermSensitivity Sensitivity>
class TermBatches {
 public:
  TermBatches(const NoisyOcoOptions& options, Count dimension);

  /// Adds one record's term, factor x row. \return at the end of a batch eta s_R, the costs of the next decision.
  [[nodiscard]] std::optional<std::vector<double>> add(double factor, const RowView& row, StreamReleaser<Sensitivity>& stream);

  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }

 private:
  NoisyOcoOptions options_;
  StreamShape<Sensitivity> shape_;
  std::uint64_t steps_ = 0;
  std::optional<mechanisms::RecordSum> batch_;  ///< the exact sum of the terms of the current batch: private
};

extern template class TermBatches<L1Sensitivity>;
extern template class TermBatches<L2Sensitivity>;

}  // namespace detail

/// The framework. Between two batches its state is released values and public ones; within a batch it holds the exact sum of the terms so
/// far, which goes to the push at its end and nowhere else.
///
/// A coordinate of a push is at most m C: a factorized sum in units of the sensitivity 2C needs a headroom of m / 2.
template <MirrorMap M, class Sensitivity = L2Sensitivity>
class NoisyOco {
 public:
  /// \throws as `shape`, and what the map throws.
  NoisyOco(M map, const NoisyOcoOptions& options, Count dimension)
      : map_{std::move(map)}, batches_{options, dimension}, decision_{map_(std::vector<double>(dimension.value(), 0.0), {})} {}

  /// Adds one record's term, factor x row. O(nonzeros); at the end of a batch one push and one map.
  /// \return whether the decision is new.
  /// \throws Error{invalid_argument} beyond the horizon, or when the row does not have `dimension` coordinates; what the stream throws.
  bool observe(double factor, const RowView& row, StreamReleaser<Sensitivity>& stream) {
    const std::optional<std::vector<double>> costs = batches_.add(factor, row, stream);
    if (costs) decision_ = map_(*costs, decision_);
    return costs.has_value();
  }

  /// x_R, for the next record: released, may be shown.
  [[nodiscard]] std::span<const double> decision() const noexcept { return decision_; }
  [[nodiscard]] std::uint64_t steps() const noexcept { return batches_.steps(); }

 private:
  M map_;
  detail::TermBatches<Sensitivity> batches_;
  std::vector<double> decision_;
};

/// Full information: the term is the gradient of the record's loss at the decision.
template <Objective O, MirrorMap M, class Sensitivity = L2Sensitivity>
class FullInformation {
 public:
  /// \throws as `NoisyOco`.
  FullInformation(O objective, M map, const NoisyOcoOptions& options, Count features)
      : objective_{std::move(objective)}, oco_{std::move(map), options, features} {}

  /// Reads the next record. \pre the label is as the objective wants it. \throws as `NoisyOco::observe`.
  void observe(const RowView& row, double label, StreamReleaser<Sensitivity>& stream) {
    oco_.observe(objective_.derivative(row.dot(oco_.decision()), label), row, stream);
  }

  /// The decision for the next record: released, may be shown.
  [[nodiscard]] std::span<const double> weights() const noexcept { return oco_.decision(); }
  [[nodiscard]] std::uint64_t steps() const noexcept { return oco_.steps(); }

 private:
  O objective_;
  NoisyOco<M, Sensitivity> oco_;
};

static_assert(MirrorMap<ConditionalGradientMap<Simplex>> && MirrorMap<ProjectionMap<L2Ball>> && MirrorMap<EntropicMap>);

}  // namespace surety::optimizers
