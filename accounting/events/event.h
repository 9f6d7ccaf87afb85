// Events: what was released, as data. An event holds exactly the parameters that are necessary and sufficient to account for
// it, and one adjacency; accountants interpret it. Its meaning never changes: a new kind of release is a new event.
//
// The same event has three spellings, which round-trip exactly:
//   C++   repeat(Count{100}, gaussian(NoiseMultiplier{40}, Adjacency::replace_one))
//   text  repeat(100, gaussian(40))                        the adjacency is said beside it
//   JSON  {"version": 1, "adjacency": "replace-one",
//          "event": {"repeat": {"count": 100, "event": {"gaussian": {"noise_multiplier": 40}}}}}
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <surety/accounting/events/runs.h>
#include <surety/accounting/events/units.h>

namespace surety {

/// `records` records in batches of `size`. \throws Error{invalid_argument} when a batch is larger than the data.
class Batches {
 public:
  Batches(Count records, Count size);
  [[nodiscard]] Count records() const noexcept { return records_; }
  [[nodiscard]] Count size() const noexcept { return size_; }
  friend bool operator==(const Batches&, const Batches&) = default;

 private:
  Count records_;
  Count size_;
};

class Event {
 public:
  // ---- Releases ----
  // In each of them but RecordSum "sensitivity" is that of the released query under the event's adjacency.
  //
  // Noise on a query (Gaussian, RecordSum, Laplace, DiscreteGaussian, DiscreteLaplace, GeneralizedGaussian, KNorm) in a Poisson batch under
  // zero-out means that the query of a batch is a sum over its records, to which a zeroed record contributes what an absent one does:
  // nothing. A count or a mean of the batch is no such query; release what it can change as Pure, Approximate or Concentrated, which say
  // nothing of absent records and are charged for showing them.

  /// A vector plus N(0, (multiplier x l2 sensitivity)^2 I).
  struct Gaussian {
    NoiseMultiplier multiplier;
    friend bool operator==(const Gaussian&, const Gaussian&) = default;
  };
  /// A sum of vectors, of which each record contributes one of l2 norm at most C, plus N(0, (multiplier x C)^2 I): C is the
  /// sensitivity under add-or-remove-one and zero-out, and half of it under replace-one.
  struct RecordSum {
    NoiseMultiplier multiplier;
    friend bool operator==(const RecordSum&, const RecordSum&) = default;
  };
  /// A vector plus independent Laplace noise of scale `scale` x l1 sensitivity in each coordinate.
  struct Laplace {
    NoiseScale scale;
    friend bool operator==(const Laplace&, const Laplace&) = default;
  };
  /// An integer of sensitivity `sensitivity` plus k with probability proportional to exp(-k^2 / (2 sigma^2)).
  struct DiscreteGaussian {
    NoiseScale sigma;
    Count sensitivity;
    friend bool operator==(const DiscreteGaussian&, const DiscreteGaussian&) = default;
  };
  /// An integer of sensitivity `sensitivity` plus k with probability proportional to exp(-|k| / scale).
  struct DiscreteLaplace {
    NoiseScale scale;
    Count sensitivity;
    friend bool operator==(const DiscreteLaplace&, const DiscreteLaplace&) = default;
  };
  /// One of `categories` values: the record's own with probability `truth`, each other one with equal probability. Under zero-out a
  /// zeroed record answers as one of the categories, or by a mixture of them (at random, say), never by its silence: what it costs is
  /// what replacing a record costs.
  struct RandomizedResponse {
    Probability truth;
    Count categories;
    friend bool operator==(const RandomizedResponse&, const RandomizedResponse&) = default;
  };
  /// A choice whose privacy loss has range at most epsilon (the exponential mechanism).
  struct Exponential {
    Epsilon epsilon;
    friend bool operator==(const Exponential&, const Exponential&) = default;
  };
  /// Anything that is (epsilon, 0)-, (epsilon, delta)- or rho-zero-concentrated differentially private.
  struct Pure {
    Epsilon epsilon;
    friend bool operator==(const Pure&, const Pure&) = default;
  };
  struct Approximate {
    Epsilon epsilon;
    Delta delta;
    friend bool operator==(const Approximate&, const Approximate&) = default;
  };
  struct Concentrated {
    Rho rho;
    friend bool operator==(const Concentrated&, const Concentrated&) = default;
  };
  /// A vector of `dimension` coordinates plus noise of density proportional to exp(-||x||_r^2 / (2 sigma^2)), with sigma =
  /// multiplier x l_r sensitivity.
  struct GeneralizedGaussian {
    NormExponent r;
    Count dimension;
    NoiseMultiplier multiplier;
    friend bool operator==(const GeneralizedGaussian&, const GeneralizedGaussian&) = default;
  };
  /// A vector of `dimension` coordinates plus noise of density proportional to exp(-||x|| / b), with b = scale x sensitivity in
  /// that norm.
  struct KNorm {
    NormName norm;
    Count dimension;
    NoiseScale scale;
    friend bool operator==(const KNorm&, const KNorm&) = default;
  };

  // ---- Structure ----

  /// `count` releases of `event`, each chosen with knowledge of the earlier results.
  struct Repeated;
  /// One release of each of `events`, each chosen with knowledge of the earlier results, in an order that the analyst chooses, also by
  /// these. Never empty.
  struct Composed;
  /// One release of each of `events` on disjoint parts of the data, so that a record takes part in one of them. Under
  /// replace-one and zero-out the parts are fixed by the public index of a record, not by its values, lest a record change two of them;
  /// under zero-out values may decide between parts of noise added to sums, where a zeroed record is in none. Never empty.
  struct Parallel;

  // ---- Batches ----
  // One batch is shared by everything inside `event`, which holds no further sampling.

  /// `event` on a batch that each record joins independently with probability `rate`. Under replace-one every release in it says
  /// what one record can contribute (RecordSum). Under zero-out whatever is not noise added to a sum may show who was in the batch.
  struct PoissonSampled;
  /// `event` on a batch of fixed size drawn uniformly without replacement, which does not see who is in it. Under replace-one only.
  struct SampledWithoutReplacement;
  /// One epoch: `event` on each batch of a secret uniform permutation, or of a fixed public order; the last batch may be
  /// smaller. Under replace-one and zero-out.
  struct Shuffled;
  struct Deterministic;
  /// `rounds` rounds over records that are dealt into `groups` groups by what depends on the record alone (or by a public label that a
  /// replacement keeps), never on its position: round i is `event` on a Poisson batch of group i mod groups, which each of the group's
  /// records joins with probability `rate`. So a record is in at most ceil(rounds / groups) Poisson rounds. The same event is the cost of
  /// correlated noise C^-1 z whose strategy matrix C is lower triangular with at most `groups` bands and columns of norm at most 1.
  struct Cyclic;
  /// An epoch of `rounds` rounds, each of which releases `event` on its batch, also where that is empty: each record takes part in
  /// exactly `participations` of them (one, unless more are said), all such sets being equally likely, independently of all other records
  /// and of what was released. Positions, permutations and balanced deals are not this event: those are `shuffled`. Neither the sizes of batches nor the number of records may be used under
  /// add-or-remove-one. The releases inside are Gaussian or record_sum, under replace-one record_sum.
  struct Allocated;
  /// `event` on a Poisson batch of at most `largest` records: of more, as many are dropped as are too many, uniformly. The data have
  /// `records` records, under add-or-remove-one at most so many; a zeroed record keeps its place. The releases inside are Gaussian or
  /// record_sum.
  struct TruncatedPoisson;

  // ---- Choices of a run ----

  /// The best of several runs: `event` is run a secret number of times, drawn from the public law `runs` independently of all else, each
  /// time afresh with a candidate drawn from one public law. Published are the result of the run of the highest score and its candidate,
  /// and nothing of the other runs, not even how many there were, nor by the time that they took; where there was none, that. `event` is what one run releases with the
  /// worst candidate, its score included. Ties go by a public order or by coins.
  struct BestOf;

  // ---- Units ----

  /// `event` where neighbours differ in one user, who owns at most `records` records: all of them are added, removed, zeroed or replaced
  /// together. The releases inside are Gaussian or record_sum, and Poisson, cyclic and allocated batches of them, which each record joins
  /// independently of the user's others; of repeat and compose each release is meant.
  struct Users;

  using Node = std::variant<Gaussian, RecordSum, Laplace, DiscreteGaussian, DiscreteLaplace, RandomizedResponse, Exponential, Pure,
                            Approximate, Concentrated, GeneralizedGaussian, KNorm, Repeated, Composed, Parallel, PoissonSampled,
                            SampledWithoutReplacement, Shuffled, Deterministic, Cyclic, Allocated, TruncatedPoisson, Users, BestOf>;

  /// Nesting beyond this depth is refused wherever an event is made, so every recursion over events is bounded.
  static constexpr int max_depth = 64;
  /// So is an event of more parts than this, counted in its written form: what is done once for each part ends, also where C++ shares
  /// one part many times.
  static constexpr std::size_t max_nodes = 1'000'000;

  /// Copies share what they hold.
  Event(const Event& other) noexcept;
  Event(Event&& other) noexcept;
  Event& operator=(const Event& other) noexcept;
  Event& operator=(Event&& other) noexcept;
  ~Event();

  [[nodiscard]] const Node& node() const noexcept;
  [[nodiscard]] Adjacency adjacency() const noexcept;
  [[nodiscard]] int depth() const noexcept;
  /// Some part of it is a batch.
  [[nodiscard]] bool has_sampling() const noexcept;

  /// Equality of structure: repeat(2, e) and compose(e, e) cost the same and are different events.
  friend bool operator==(const Event& a, const Event& b);

  /// The one place where events are made (event.cpp).
  struct Factory;

 private:
  struct Shared;
  explicit Event(const Shared* shared) noexcept : shared_{shared} {}
  const Shared* shared_;  // null when moved from
};

struct Event::Repeated {
  Count count;
  Event event;
  friend bool operator==(const Repeated&, const Repeated&) = default;
};
struct Event::Composed {
  std::vector<Event> events;
  friend bool operator==(const Composed&, const Composed&) = default;
};
struct Event::Parallel {
  std::vector<Event> events;
  friend bool operator==(const Parallel&, const Parallel&) = default;
};
struct Event::PoissonSampled {
  SamplingRate rate;
  Event event;
  friend bool operator==(const PoissonSampled&, const PoissonSampled&) = default;
};
struct Event::SampledWithoutReplacement {
  Batches batches;
  Event event;
  friend bool operator==(const SampledWithoutReplacement&, const SampledWithoutReplacement&) = default;
};
struct Event::Shuffled {
  Batches batches;
  Event event;
  friend bool operator==(const Shuffled&, const Shuffled&) = default;
};
struct Event::Deterministic {
  Batches batches;
  Event event;
  friend bool operator==(const Deterministic&, const Deterministic&) = default;
};
struct Event::Cyclic {
  Count groups;
  Count rounds;
  SamplingRate rate;  ///< within the group
  Event event;
  friend bool operator==(const Cyclic&, const Cyclic&) = default;
};
struct Event::Allocated {
  Count rounds;
  Count participations;
  Event event;
  friend bool operator==(const Allocated&, const Allocated&) = default;
};
struct Event::TruncatedPoisson {
  SamplingRate rate;
  Batches batches;  ///< of at most their size
  Event event;
  friend bool operator==(const TruncatedPoisson&, const TruncatedPoisson&) = default;
};
struct Event::Users {
  Count records;
  Event event;
  friend bool operator==(const Users&, const Users&) = default;
};

struct Event::BestOf {
  Runs runs;
  Event event;
  friend bool operator==(const BestOf&, const BestOf&) = default;
};

/// An event of one release. Every alternative above but the structures and batches: release(Event::Laplace{NoiseScale{2}}, adjacency).
/// \throws Error{invalid_argument} when the adjacency has no meaning for it (randomized response under add-or-remove-one: the
///         number of answers shows the number of records), there are fewer than two categories, or half of the multiplier of a
///         RecordSum is not a double.
[[nodiscard]] Event release(const Event::Gaussian& gaussian, Adjacency adjacency);
[[nodiscard]] Event release(const Event::RecordSum& sum, Adjacency adjacency);
[[nodiscard]] Event release(const Event::Laplace& laplace, Adjacency adjacency);
[[nodiscard]] Event release(const Event::DiscreteGaussian& gaussian, Adjacency adjacency);
[[nodiscard]] Event release(const Event::DiscreteLaplace& laplace, Adjacency adjacency);
[[nodiscard]] Event release(const Event::RandomizedResponse& response, Adjacency adjacency);
[[nodiscard]] Event release(const Event::Exponential& exponential, Adjacency adjacency);
[[nodiscard]] Event release(const Event::Pure& pure, Adjacency adjacency);
[[nodiscard]] Event release(const Event::Approximate& approximate, Adjacency adjacency);
[[nodiscard]] Event release(const Event::Concentrated& concentrated, Adjacency adjacency);
[[nodiscard]] Event release(const Event::GeneralizedGaussian& gaussian, Adjacency adjacency);
[[nodiscard]] Event release(const Event::KNorm& noise, Adjacency adjacency);
/// The commonest release.
[[nodiscard]] inline Event gaussian(NoiseMultiplier multiplier, Adjacency adjacency) {
  return release(Event::Gaussian{multiplier}, adjacency);
}

/// The noise multiplier over the sensitivity under the event's adjacency, exactly, of a Gaussian and of a RecordSum (half of its own
/// under replace-one, where two records of opposite vectors lie 2C apart); nothing for any other kind.
[[nodiscard]] std::optional<NoiseMultiplier> pairwise_multiplier(const Event& event);

/// All of these \throw Error{invalid_argument} when the nesting exceeds Event::max_depth or the parts Event::max_nodes.
[[nodiscard]] Event repeat(Count count, Event event);
/// \throws Error{invalid_argument} when `events` is empty or mixes adjacencies.
[[nodiscard]] Event compose(std::vector<Event> events);
[[nodiscard]] Event parallel(std::vector<Event> events);
/// \throws Error{invalid_argument} for a batch within a batch, and under an adjacency that the sampler has no theorem for:
///         poisson under replace-one of anything but RecordSum releases, without_replacement under any other, shuffled and
///         deterministic under add-or-remove-one.
[[nodiscard]] Event poisson(SamplingRate rate, Event event);
[[nodiscard]] Event without_replacement(Batches batches, Event event);
[[nodiscard]] Event shuffled(Batches batches, Event event);
[[nodiscard]] Event deterministic(Batches batches, Event event);
/// As `poisson`.
[[nodiscard]] Event cyclic(Count groups, Count rounds, SamplingRate rate, Event event);
/// \throws Error{invalid_argument} as `poisson`, for anything but Gaussian and record_sum releases, and for more participations than rounds.
[[nodiscard]] Event allocated(Count rounds, Count participations, Event event);
[[nodiscard]] inline Event allocated(Count rounds, Event event) { return allocated(rounds, Count{1}, std::move(event)); }
/// \throws Error{invalid_argument} as `poisson`, for a batch that holds all records, and for anything but Gaussian and record_sum releases.
[[nodiscard]] Event truncated_poisson(SamplingRate rate, Batches batches, Event event);
/// \throws Error{invalid_argument} for anything but Gaussian and record_sum releases, and Poisson, cyclic and allocated batches of them.
[[nodiscard]] Event users(Count records, Event event);
/// A batch may not hold it. best_of(Runs{RunsLaw::poisson, 10}, e); in the event language best_of(poisson_runs, 10, e), and
/// best_of(negative_binomial_runs, 10, 0.5, e) with a shape, best_of(capped_geometric_runs, 10, 50, e) with a cap.
[[nodiscard]] Event best_of(const Runs& runs, Event event);

/// The event in the event language, without its adjacency: "repeat(100, gaussian(40))".
[[nodiscard]] std::string describe(const Event& event);

/// The event written in the event language. Numbers may be names that `values` gives a number: 'gaussian(z)' with z = 40. A whole
/// number is digits alone, as in JSON: 100, not 1e2 or 100.0.
/// \throws Error{invalid_argument} naming the position and what was expected there.
[[nodiscard]] Event parse_event(std::string_view text, Adjacency adjacency, const std::map<std::string, double>& values = {});

/// A place in an event of the event language where a name stands for a number.
struct NameUse {
  std::string name;
  std::string field;  ///< as in the JSON form: "noise_multiplier"
  bool whole;
};
/// Where `name` stands for a number in `text`. For an event that no value of the name makes valid, the uses up to the first error.
[[nodiscard]] std::vector<NameUse> uses_of_name(std::string_view text, Adjacency adjacency, const std::string& name);

/// The JSON form with its version and adjacency, on one line.
[[nodiscard]] std::string to_json_text(const Event& event);
/// The inverse of `to_json_text`. \throws Error{invalid_argument} for an unknown version, an unknown or missing or duplicate
/// field, a number out of range, or nesting beyond Event::max_depth.
[[nodiscard]] Event event_from_json(std::string_view text);

}  // namespace surety
