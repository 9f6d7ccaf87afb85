// Events: what was released, as data. An event holds exactly the parameters that are necessary and sufficient to account for
// it, and one adjacency; accountants interpret it. Its meaning never changes: a new kind of release is a new event.
//
// The same event has three spellings, which round-trip exactly:
//   C++   repeat(Count{100}, gaussian(NoiseMultiplier{40}, Adjacency::replace_one))     a function for each word
//   text  repeat(100, gaussian(40))                        the adjacency is said beside it
//   JSON  {"version": 1, "adjacency": "replace-one",
//          "event": {"repeat": {"count": 100, "event": {"gaussian": {"noise_multiplier": 40}}}}}
//
// Here are the event, the functions that make most of its kinds, and its text and JSON. What each kind means and holds is in event_kinds.h.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <surety/accounting/events/units.h>

namespace surety {

class Event {
 public:
  // Releases, and what holds them: event_kinds.h.
  struct Gaussian;
  struct RecordSum;
  struct Laplace;
  struct DiscreteGaussian;
  struct DiscreteLaplace;
  struct Binomial;
  struct Skellam;
  struct LaplaceRecordSum;
  struct RandomizedResponse;
  struct Exponential;
  struct Pure;
  struct Approximate;
  struct Concentrated;
  struct Profile;
  struct Law;
  struct RenyiCurve;
  struct GeneralizedGaussian;
  struct KNorm;
  struct Repeated;
  struct Composed;
  struct Parallel;
  struct PoissonSampled;
  struct SampledWithoutReplacement;
  struct SampledWithReplacement;
  struct Shuffled;
  struct Deterministic;
  struct Cyclic;
  struct Allocated;
  struct Mixture;
  struct TruncatedPoisson;
  struct BestOf;
  struct Users;
  struct ShuffledReports;
  struct ShuffledResponses;
  struct LastIterate;
  struct LastIterateWithin;
  struct LastIterateOfPasses;
  struct LastIterateOfBatches;

  using Node = std::variant<Gaussian, RecordSum, Laplace, DiscreteGaussian, DiscreteLaplace, RandomizedResponse, Exponential, Pure,
                            Approximate, Concentrated, GeneralizedGaussian, KNorm, Repeated, Composed, Parallel, PoissonSampled,
                            SampledWithoutReplacement, Shuffled, Deterministic, Cyclic, Allocated, TruncatedPoisson, Users, BestOf, Profile,
                            Law, RenyiCurve, Mixture, SampledWithReplacement, Binomial, Skellam, LaplaceRecordSum, ShuffledReports,
                            ShuffledResponses, LastIterate, LastIterateWithin, LastIterateOfPasses, LastIterateOfBatches>;

  /// Nesting beyond this depth is refused wherever an event is made, so every recursion over events is bounded.
  static constexpr int max_depth = 64;
  /// So is an event of more parts than this, counted in its written form: what is done once for each part ends, also where C++ shares
  /// one part many times.
  static constexpr std::size_t max_nodes = 1'000'000;

  /// The event of `node`, which the words below make: laplace(NoiseScale{2}, adjacency).
  /// \throws Error{invalid_argument} as its word does, and where something inside has another adjacency.
  Event(Node node, Adjacency adjacency);
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

 private:
  friend struct KeptWithEvent;
  struct Shared;
  const Shared* shared_;  // null when moved from
};

// ---- Events by kind, each with the arguments of its text and a release with its adjacency; curve, law, renyi, mixture, best_of and last_iterate_of_batches: event_kinds.h ----

[[nodiscard]] Event gaussian(NoiseMultiplier multiplier, Adjacency adjacency);
/// \throws Error{invalid_argument} when half of the multiplier is not a double.
[[nodiscard]] Event record_sum(NoiseMultiplier multiplier, Adjacency adjacency);
[[nodiscard]] Event laplace(NoiseScale scale, Adjacency adjacency);
/// \throws Error{invalid_argument} when half of the scale is not a double.
[[nodiscard]] Event laplace_record_sum(NoiseScale scale, Adjacency adjacency);
[[nodiscard]] Event discrete_gaussian(NoiseScale sigma, Count sensitivity, Adjacency adjacency);
[[nodiscard]] Event discrete_laplace(NoiseScale scale, Count sensitivity, Adjacency adjacency);
[[nodiscard]] Event binomial(Count flips, Count sensitivity, Adjacency adjacency);
[[nodiscard]] Event skellam(PoissonMean mean, Count sensitivity, Adjacency adjacency);
/// \throws Error{invalid_argument} under add-or-remove-one, where the number of answers shows the number of records, and for fewer than
///         two categories.
[[nodiscard]] Event randomized_response(Probability truth, Count categories, Adjacency adjacency);
[[nodiscard]] Event exponential(Epsilon epsilon, Adjacency adjacency);
[[nodiscard]] Event pure(Epsilon epsilon, Adjacency adjacency);
[[nodiscard]] Event approx(Epsilon epsilon, Delta delta, Adjacency adjacency);
[[nodiscard]] Event zcdp(Rho rho, Adjacency adjacency);
[[nodiscard]] Event zcdp(Epsilon xi, Rho rho, Adjacency adjacency);
[[nodiscard]] Event generalized_gaussian(NormExponent r, Count dimension, NoiseMultiplier multiplier, Adjacency adjacency);
[[nodiscard]] Event k_norm(NormName norm, Count dimension, NoiseScale scale, Adjacency adjacency);

/// The noise multiplier over the sensitivity under the event's adjacency, exactly, of a Gaussian and of a RecordSum (half of its own
/// under replace-one, where two records of opposite vectors lie 2C apart); nothing for any other kind.
[[nodiscard]] std::optional<NoiseMultiplier> pairwise_multiplier(const Event& event);
/// The same of the scale of Laplace noise over the l1 sensitivity, of a Laplace and of a LaplaceRecordSum.
[[nodiscard]] std::optional<NoiseScale> pairwise_scale(const Event& event);

/// All of these \throw Error{invalid_argument} when the nesting exceeds Event::max_depth or the parts Event::max_nodes.
[[nodiscard]] Event repeat(Count count, Event event);
/// \throws Error{invalid_argument} when `events` is empty or mixes adjacencies.
[[nodiscard]] Event compose(std::vector<Event> events);
[[nodiscard]] Event parallel(std::vector<Event> events);
/// \throws Error{invalid_argument} for a batch within a batch, and under an adjacency that the sampler has no theorem for:
///         poisson under replace-one of anything but RecordSum releases or one LaplaceRecordSum alone, without_replacement and with_replacement under any other, shuffled
///         and deterministic under add-or-remove-one.
[[nodiscard]] Event poisson(SamplingRate rate, Event event);
[[nodiscard]] Event with_replacement(Count records, Count batch_size, Event event);
/// \throws Error{invalid_argument} also, as the next two, when a batch is larger than the data.
[[nodiscard]] Event without_replacement(Count records, Count batch_size, Event event);
[[nodiscard]] Event shuffled(Count records, Count batch_size, Event event);
[[nodiscard]] Event deterministic(Count records, Count batch_size, Event event);
/// As `poisson`.
[[nodiscard]] Event cyclic(Count groups, Count rounds, SamplingRate rate, Event event);
/// \throws Error{invalid_argument} as `poisson`, for anything but Gaussian and record_sum releases, and for more participations than rounds.
[[nodiscard]] Event allocated(Count rounds, Count participations, Event event);
[[nodiscard]] Event allocated(Count rounds, Event event);
/// \throws Error{invalid_argument} as `poisson`, for a batch that holds all records, and for anything but Gaussian and record_sum releases.
[[nodiscard]] Event truncated_poisson(SamplingRate rate, Count largest, Count records, Event event);
/// \throws Error{invalid_argument} for anything but Gaussian and record_sum releases, and Poisson, cyclic and allocated batches of them.
[[nodiscard]] Event users(Count records, Event event);
/// \throws Error{invalid_argument} under any adjacency but replace-one; shuffled_responses also for fewer than two categories.
[[nodiscard]] Event shuffled_reports(Count reports, Epsilon epsilon0, Adjacency adjacency);
[[nodiscard]] Event shuffled_responses(Count reports, Probability truth, Count categories, Adjacency adjacency);
/// \throws Error{invalid_argument} under add-or-remove-one, and for anything but one gaussian or record_sum; so do the others below.
[[nodiscard]] Event last_iterate(Count steps, LipschitzConstant constant, Event event);
[[nodiscard]] Event last_iterate_within(Diameter diameter, Count steps, LipschitzConstant constant, Event event);
/// \throws also for more than 2^53 steps.
[[nodiscard]] Event last_iterate_of_passes(Count passes, Count batches, LipschitzConstant constant, Event event);

/// The event in the event language, without its adjacency: "repeat(100, gaussian(40))".
[[nodiscard]] std::string describe(const Event& event);

/// The event written in the event language. A whole number may be written 100, 1e2 or 100.0; a real number may be a quotient of two numbers, 2/3000,
/// whose nearest double counts. Names for numbers: event_text.h.
/// \throws Error{invalid_argument} naming the position and what was expected there.
[[nodiscard]] Event parse_event(std::string_view text, Adjacency adjacency);

/// The JSON form with its version and adjacency, on one line.
[[nodiscard]] std::string to_json_text(const Event& event);
/// The inverse of `to_json_text`. \throws Error{invalid_argument} for an unknown version, an unknown or missing or duplicate
/// field, a number out of range, or nesting beyond Event::max_depth.
[[nodiscard]] Event event_from_json(std::string_view text);

}  // namespace surety
