// The best of several ways to train, chosen by what a noisy score says of records that none of them has seen.
//
// A run of a search takes one of K public candidates, trains it on one part of the records, and releases the sum over the records of another
// part of how far their loss lies below a public bound. Each record is in one part, so that a run costs what its dearer part does: both may
// cost gaussian(z), and so does the run. Two ways to search are known:
//
//   at random   a secret number of runs, geometric with a public mean, each with a candidate drawn uniformly: best_of(geometric_runs, mean,
//               gaussian(z)), or best_of(capped_geometric_runs, mean, cap, gaussian(z)). Only the best run is seen.
//   each        so many different candidates, in a random order: repeat(count, gaussian(z)), the budget split among them.
//
// docs/proofs/tuning.md
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/optimizers/doors/run.h>
#include <surety/optimizers/problem/dataset.h>
#include <surety/optimizers/problem/problem.h>

namespace surety::optimizers {

enum class SearchOrder { at_random, each };

/// All public.
struct SearchOptions {
  NoiseMultiplier noise_multiplier;  ///< z: a run costs at most gaussian(z)
  Adjacency adjacency = Adjacency::replace_one;
  SearchOrder order = SearchOrder::at_random;
  Count runs;                           ///< at random: their mean, from 2 on; each: how many, at most `candidates`
  Count candidates;                     ///< K
  std::optional<Count> most_runs = {};  ///< at random: no more than these, which are more than their mean
};

/// What a search costs. \throws Error{invalid_argument} when the options break their constraints.
[[nodiscard]] Event plan(const SearchOptions& options);

/// What a run releases.
struct ScoredModel {
  std::vector<double> weights;
  double score;  ///< larger is better
};

struct SearchResult {
  std::size_t candidate;
  ScoredModel model;
};

/// A run: the candidate, the door for the records that it trains on, and the door for those that score it.
using SearchRun = std::function<ScoredModel(std::size_t candidate, Releaser& training, Releaser& scoring)>;

/// Runs candidates and keeps the run of the highest score, of equal ones the first. Nothing else of the search may be seen: who sees how long
/// it took has seen about how many runs there were.
///
/// \pre   a record is in the part of one of the two doors, the same one in both of two neighbours' data; with no other record's help.
/// \throws Error{invalid_argument} when the options break their constraints; Error{internal} when the reservation does not hold
///         `plan(options)`, or a run releases more than gaussian(z) at one door; and what runs and bits throw.
/// \complexity that of the runs.
/// \source docs/proofs/tuning.md.
[[nodiscard]] SearchResult search(const SearchOptions& options, accounting::Reservation& reservation, mechanisms::BitsRef bits,
                                  const SearchRun& run);
/// The same with doors that `make` makes. \pre these are `RunReleaser`s, or hold one that draws each answer: the search is charged whatever they do.
using MakeRunReleaser = std::function<std::unique_ptr<Releaser>(NoiseMultiplier run, Adjacency adjacency, mechanisms::BitsRef bits)>;
[[nodiscard]] SearchResult search(const SearchOptions& options, accounting::Reservation& reservation, mechanisms::BitsRef bits,
                                  const SearchRun& run, const MakeRunReleaser& make);

/// How badly a model's score of a record does on its label: from 0 to `bound`, which is public.
struct BoundedLoss {
  std::function<double(double score, double label)> value;
  double bound;
};

/// By what candidates that minimise `objective` are compared. Logistic loss: the squared error of the probability, at most 1. Others: the loss
/// itself, cut off at twice that of a model that answers 0 at the largest label. A log loss that is cut off would prefer a model that is sure of
/// everything, for its errors would be cut off and its other losses nothing.
/// \param largest_label in magnitude, public. `objective` must outlive the result.
[[nodiscard]] BoundedLoss bounded_loss(ObjectiveRef objective, double largest_label = 1);

/// Releases the sum over records of B / 2 less their loss, B its bound, as gaussian(z). A record moves it by at most B / 2, and under replace-one by
/// at most B, whatever the loss is: it is clamped. Records of zeros add nothing; a loss that is no number counts as B.
/// \throws Error{invalid_argument} unless B is positive and finite, without labels, and when there are not as many weights as features; and
///         what the releaser throws.
/// \complexity O(stored values).
/// \source docs/proofs/tuning.md#score.
[[nodiscard]] double released_score(const Dataset& held_out, const BoundedLoss& loss, std::span<const double> weights,
                                    NoiseMultiplier noise, Adjacency adjacency, Releaser& releaser);

}  // namespace surety::optimizers
