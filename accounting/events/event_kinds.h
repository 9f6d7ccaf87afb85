// The kinds of events: what each means and holds. Include this to look at the kind of an event; to make, store or print events, include event.h.
#pragma once

#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <variant>
#include <vector>

#include <surety/accounting/events/described.h>
#include <surety/accounting/events/event.h>
#include <surety/accounting/events/points.h>
#include <surety/accounting/events/runs.h>

namespace surety {

// ---- Releases ----
// In each of them but RecordSum and LaplaceRecordSum "sensitivity" is that of the released query under the event's adjacency.
//
// Noise on a query (Gaussian, RecordSum, Laplace, LaplaceRecordSum, DiscreteGaussian, DiscreteLaplace, Binomial, Skellam, GeneralizedGaussian, KNorm) in a Poisson batch under
// zero-out means that the query of a batch is a sum over its records, to which a zeroed record contributes what an absent one does:
// nothing. A count or a mean of the batch is no such query; release what it can change as Pure, Approximate or Concentrated, which say
// nothing of absent records and are charged for showing them.

/// A vector plus N(0, (multiplier x l2 sensitivity)^2 I).
struct Event::Gaussian {
  NoiseMultiplier multiplier;
  static constexpr std::string_view word = "gaussian";
  static constexpr auto arguments() { return std::tuple{argument(&Gaussian::multiplier, "noise_multiplier")}; }
};
/// A sum of vectors, of which each record contributes one of l2 norm at most C, plus N(0, (multiplier x C)^2 I): C is the
/// sensitivity under add-or-remove-one and zero-out, and half of it under replace-one.
struct Event::RecordSum {
  NoiseMultiplier multiplier;
  static constexpr std::string_view word = "record_sum";
  static constexpr auto arguments() { return std::tuple{argument(&RecordSum::multiplier, "noise_multiplier")}; }
};
/// A vector plus independent Laplace noise of scale `scale` x l1 sensitivity in each coordinate.
struct Event::Laplace {
  NoiseScale scale;
  static constexpr std::string_view word = "laplace";
  static constexpr auto arguments() { return std::tuple{argument(&Laplace::scale, "scale")}; }
};
/// A sum of vectors, of which each record contributes one of l1 norm at most C, plus independent Laplace noise of scale `scale` x C in each coordinate:
/// C is the l1 sensitivity under add-or-remove-one and zero-out, and half of it under replace-one.
struct Event::LaplaceRecordSum {
  NoiseScale scale;
  static constexpr std::string_view word = "laplace_record_sum";
  static constexpr auto arguments() { return std::tuple{argument(&LaplaceRecordSum::scale, "scale")}; }
};
/// An integer of sensitivity `sensitivity` plus k with probability proportional to exp(-k^2 / (2 sigma^2)).
struct Event::DiscreteGaussian {
  NoiseScale sigma;
  Count sensitivity;
  static constexpr std::string_view word = "discrete_gaussian";
  static constexpr auto arguments() {
    return std::tuple{argument(&DiscreteGaussian::sigma, "sigma"), argument(&DiscreteGaussian::sensitivity, "sensitivity")};
  }
};
/// An integer of sensitivity `sensitivity` plus k with probability proportional to exp(-|k| / scale).
struct Event::DiscreteLaplace {
  NoiseScale scale;
  Count sensitivity;
  static constexpr std::string_view word = "discrete_laplace";
  static constexpr auto arguments() {
    return std::tuple{argument(&DiscreteLaplace::scale, "scale"), argument(&DiscreteLaplace::sensitivity, "sensitivity")};
  }
};
/// An integer of sensitivity `sensitivity` plus the number of heads among `flips` fair coin flips, from which flips / 2 or any other public number may
/// be subtracted.
struct Event::Binomial {
  Count flips;
  Count sensitivity;
  static constexpr std::string_view word = "binomial";
  static constexpr auto arguments() {
    return std::tuple{argument(&Binomial::flips, "flips"), argument(&Binomial::sensitivity, "sensitivity")};
  }
};
/// An integer of sensitivity `sensitivity` plus the difference of two independent variables, each of the Poisson law with mean `mean`: its variance is
/// 2 `mean`.
struct Event::Skellam {
  PoissonMean mean;
  Count sensitivity;
  static constexpr std::string_view word = "skellam";
  static constexpr auto arguments() {
    return std::tuple{argument(&Skellam::mean, "poisson_mean"), argument(&Skellam::sensitivity, "sensitivity")};
  }
};
/// Answers of which a record changes at most one, its own or one about all data: one of `categories` values, the true one with probability `truth`,
/// each other one with equal probability. Under zero-out a zeroed record answers as one of the categories, or by a mixture of them (at random, say),
/// never by its silence: what it costs is what replacing a record costs.
struct Event::RandomizedResponse {
  Probability truth;
  Count categories;
  static constexpr std::string_view word = "randomized_response";
  static constexpr auto arguments() {
    return std::tuple{argument(&RandomizedResponse::truth, "truth"), argument(&RandomizedResponse::categories, "categories")};
  }
};
/// A choice whose privacy loss has range at most epsilon (the exponential mechanism).
struct Event::Exponential {
  Epsilon epsilon;
  static constexpr std::string_view word = "exponential";
  static constexpr auto arguments() { return std::tuple{argument(&Exponential::epsilon, "epsilon")}; }
};
/// Anything that is (epsilon, 0)-, (epsilon, delta)- or rho-zero-concentrated differentially private: of xi, whose Renyi divergence of each order a
/// above 1 is at most xi + rho a.
struct Event::Pure {
  Epsilon epsilon;
  static constexpr std::string_view word = "pure";
  static constexpr auto arguments() { return std::tuple{argument(&Pure::epsilon, "epsilon")}; }
};
struct Event::Approximate {
  Epsilon epsilon;
  Delta delta;
  static constexpr std::string_view word = "approx";
  static constexpr auto arguments() {
    return std::tuple{argument(&Approximate::epsilon, "epsilon"), argument(&Approximate::delta, "delta")};
  }
};
struct Event::Concentrated {
  explicit Concentrated(Rho at_order) : Concentrated{Epsilon{0}, at_order} {}
  Concentrated(Epsilon shift, Rho at_order) : xi{shift}, rho{at_order} {}
  Epsilon xi;
  Rho rho;
  static constexpr std::string_view word = "zcdp";
  static constexpr auto arguments() {
    return std::tuple{argument(&Concentrated::xi, "xi").optional(), argument(&Concentrated::rho, "rho")};
  }
};
// Anything whose cost others have found, of both orders of two neighbours: (epsilon, delta)-private at each of several points; of a privacy loss
// that is at most as hard to bear as a finite law; of a Renyi divergence of at most so much at each of several orders.
struct Event::Profile {
  CurvePoints points;
  static constexpr std::string_view word = "curve";
  static constexpr auto arguments() { return std::tuple{argument(&Profile::points, "points")}; }
};
/// The atoms are those of the loss log dP/dQ under P. With the record P dominates, without it Q. Under replace-one P is of either neighbour, for each
/// release by itself. Where the masses mass e^-loss of Q sum to less than 1, the rest of Q is where P has nothing.
struct Event::Law {
  LawAtoms atoms;
  static constexpr std::string_view word = "law";
  static constexpr auto arguments() { return std::tuple{argument(&Law::atoms, "atoms")}; }
};
struct Event::RenyiCurve {
  RenyiBounds bounds;
  static constexpr std::string_view word = "renyi";
  static constexpr auto arguments() { return std::tuple{argument(&RenyiCurve::bounds, "bounds")}; }
};
/// A vector of `dimension` coordinates plus noise of density proportional to exp(-||x||_r^2 / (2 sigma^2)), with sigma =
/// multiplier x l_r sensitivity.
struct Event::GeneralizedGaussian {
  NormExponent r;
  Count dimension;
  NoiseMultiplier multiplier;
  static constexpr std::string_view word = "generalized_gaussian";
  static constexpr auto arguments() {
    return std::tuple{argument(&GeneralizedGaussian::r, "norm_exponent"), argument(&GeneralizedGaussian::dimension, "dimension"),
                      argument(&GeneralizedGaussian::multiplier, "noise_multiplier")};
  }
};
/// A vector of `dimension` coordinates plus noise of density proportional to exp(-||x|| / b), with b = scale x sensitivity in
/// that norm.
struct Event::KNorm {
  NormName norm;
  Count dimension;
  NoiseScale scale;
  static constexpr std::string_view word = "k_norm";
  static constexpr auto arguments() {
    return std::tuple{argument(&KNorm::norm, "norm"), argument(&KNorm::dimension, "dimension"), argument(&KNorm::scale, "scale")};
  }
};

// ---- Structure ----

/// `count` releases of `event`, each chosen with knowledge of the earlier results.
struct Event::Repeated {
  Count count;
  Event event;
  static constexpr std::string_view word = "repeat";
  static constexpr auto arguments() { return std::tuple{argument(&Repeated::count, "count"), argument(&Repeated::event, "event")}; }
};
/// One release of each of `events`, each chosen with knowledge of the earlier results, in an order that the analyst chooses, also by
/// these. Never empty.
struct Event::Composed {
  std::vector<Event> events;
  static constexpr std::string_view word = "compose";
  static constexpr auto arguments() { return std::tuple{argument(&Composed::events)}; }
};
/// One release of each of `events` on disjoint parts of the data, so that a record takes part in one of them. Under
/// replace-one and zero-out the parts are fixed by the public index of a record, not by its values, lest a record change two of them;
/// under zero-out values may decide between parts of noise added to sums, where a zeroed record is in none. Never empty.
struct Event::Parallel {
  std::vector<Event> events;
  static constexpr std::string_view word = "parallel";
  static constexpr auto arguments() { return std::tuple{argument(&Parallel::events)}; }
};

// ---- Batches ----
// One batch is shared by everything inside `event`, which holds no further sampling.

/// `event` on a batch that each record joins independently with probability `rate`. Under replace-one every release in it says
/// what one record can contribute (RecordSum, or one LaplaceRecordSum alone). Under zero-out whatever is not noise added to a sum may show who was in the batch.
struct Event::PoissonSampled {
  SamplingRate rate;
  Event event;
  static constexpr std::string_view word = "poisson";
  static constexpr auto arguments() {
    return std::tuple{argument(&PoissonSampled::rate, "sampling_rate"), argument(&PoissonSampled::event, "event")};
  }
};
/// `event` on a batch of fixed size drawn uniformly without replacement, in random order, which does not see who is in it. Under replace-one only.
struct Event::SampledWithoutReplacement {
  Batches batches;
  Event event;
  static constexpr std::string_view word = "without_replacement";
  static constexpr auto arguments() {
    return std::tuple{argument(&SampledWithoutReplacement::batches, "records", "batch_size"),
                      argument(&SampledWithoutReplacement::event, "event")};
  }
};
/// `event` on a batch of `batch_size` slots, each of which holds one of `records` records, uniformly, afresh and independently of all else: a
/// record may be in several slots, and a batch may be larger than the data. The release sees the batch as a data set of that many records.
/// Under replace-one only.
struct Event::SampledWithReplacement {
  Count records;
  Count batch_size;
  Event event;
  static constexpr std::string_view word = "with_replacement";
  static constexpr auto arguments() {
    return std::tuple{argument(&SampledWithReplacement::records, "records"), argument(&SampledWithReplacement::batch_size, "batch_size"),
                      argument(&SampledWithReplacement::event, "event")};
  }
};
/// One epoch: `event` on each batch of a secret uniform permutation, or of a fixed public order; the last batch may be
/// smaller. Under replace-one and zero-out.
struct Event::Shuffled {
  Batches batches;
  Event event;
  static constexpr std::string_view word = "shuffled";
  static constexpr auto arguments() {
    return std::tuple{argument(&Shuffled::batches, "records", "batch_size"), argument(&Shuffled::event, "event")};
  }
};
struct Event::Deterministic {
  Batches batches;
  Event event;
  static constexpr std::string_view word = "deterministic";
  static constexpr auto arguments() {
    return std::tuple{argument(&Deterministic::batches, "records", "batch_size"), argument(&Deterministic::event, "event")};
  }
};
/// `rounds` rounds over records that are dealt into `groups` groups by what depends on the record alone (or by a public label that a
/// replacement keeps), never on its position: round i is `event` on a Poisson batch of group i mod groups, which each of the group's
/// records joins with probability `rate`. So a record is in at most ceil(rounds / groups) Poisson rounds. The same event is the cost of
/// correlated noise C^-1 z whose strategy matrix C is lower triangular with at most `groups` bands and columns of norm at most 1.
struct Event::Cyclic {
  Count groups;
  Count rounds;
  SamplingRate rate;  ///< within the group
  Event event;
  static constexpr std::string_view word = "cyclic";
  static constexpr auto arguments() {
    return std::tuple{argument(&Cyclic::groups, "groups"), argument(&Cyclic::rounds, "rounds"), argument(&Cyclic::rate, "sampling_rate"),
                      argument(&Cyclic::event, "event")};
  }
};
/// An epoch of `rounds` rounds, each of which releases `event` on its batch, also where that is empty: each record takes part in
/// exactly `participations` of them (one, unless more are said), all such sets being equally likely, independently of all other records
/// and of what was released. Positions, permutations and balanced deals are not this event: those are `shuffled`. Neither the sizes of batches nor the number of records may be used under
/// add-or-remove-one. The releases inside are Gaussian or record_sum, under replace-one record_sum.
struct Event::Allocated {
  Count rounds;
  Count participations;
  Event event;
  static constexpr std::string_view word = "allocated";
  static constexpr auto arguments() {
    return std::tuple{argument(&Allocated::rounds, "rounds"), argument(&Allocated::participations, "participations").optional(),
                      argument(&Allocated::event, "event")};
  }
};
/// `event` where a record contributes, with the public probability of each component, a vector of at most the component's shift times the bound on
/// one; which one is secret, and drawn independently of all else. The releases inside are Gaussian or record_sum.
struct Event::Mixture {
  MixtureParts components;
  Event event;
  static constexpr std::string_view word = "mixture";
  static constexpr auto arguments() { return std::tuple{argument(&Mixture::components, "components"), argument(&Mixture::event, "event")}; }
};
/// `event` on a Poisson batch of at most `largest` records: of more, as many are dropped as are too many, uniformly. The data have
/// `records` records, under add-or-remove-one at most so many; a zeroed record keeps its place. The releases inside are Gaussian or
/// record_sum.
struct Event::TruncatedPoisson {
  SamplingRate rate;
  Batches batches;  ///< of at most their size
  Event event;
  static constexpr std::string_view word = "truncated_poisson";
  static constexpr auto arguments() {
    return std::tuple{argument(&TruncatedPoisson::rate, "sampling_rate"), argument(&TruncatedPoisson::batches, "largest", "records"),
                      argument(&TruncatedPoisson::event, "event")};
  }
};

// ---- Choices of a run ----

/// The best of several runs: `event` is run a secret number of times, drawn from the public law `runs` independently of all else, each
/// time afresh with a candidate drawn from one public law. Published are the result of the run of the highest score and its candidate,
/// and nothing of the other runs, not even how many there were, nor by the time that they took; where there was none, that. `event` is what one run releases with the
/// worst candidate, its score included. Ties go by a public order or by coins.
struct Event::BestOf {
  Runs runs;
  Event event;
  static constexpr std::string_view word = "best_of";
  static constexpr auto arguments() {
    return std::tuple{argument(&BestOf::runs, "runs", "mean", "shape", "cap"), argument(&BestOf::event, "event")};
  }
};

// ---- Units ----

/// `event` where neighbours differ in one user, who owns at most `records` records: all of them are added, removed, zeroed or replaced
/// together, so a chain of `records` neighbours of the event inside joins the two data sets. Under replace-one each record is replaced by
/// one other record. Inside are single releases other than law and renyi, or repeat, compose and best_of of them, which mean each release
/// inside. Poisson, cyclic and allocated batches, which each record joins independently of the user's others, and parallel hold Gaussian or
/// record_sum releases alone.
struct Event::Users {
  Count records;
  Event event;
  static constexpr std::string_view word = "users";
  static constexpr auto arguments() { return std::tuple{argument(&Users::records, "records"), argument(&Users::event, "event")}; }
};

// ---- Shuffled reports ----

/// Each of `reports` records makes one report, and the reports are published in a uniformly random secret order. One randomizer, fixed in advance and
/// (epsilon0, 0)-differentially private, makes all of them. Alternatively the records report one after the other in that order, and the randomizer of each
/// report, (epsilon0, 0)-differentially private as well, may depend on the earlier reports. All records report honestly. Under replace-one only: under
/// another adjacency the number of reports shows whether a record is there. No batch holds it.
struct Event::ShuffledReports {
  Count reports;
  Epsilon epsilon0;
  static constexpr std::string_view word = "shuffled_reports";
  static constexpr auto arguments() {
    return std::tuple{argument(&ShuffledReports::reports, "reports"), argument(&ShuffledReports::epsilon0, "epsilon0")};
  }
};
/// The same of k-ary randomized response: each report is one of `categories` values, the record's own with probability `truth`, each other one with
/// equal probability.
struct Event::ShuffledResponses {
  Count reports;
  Probability truth;
  Count categories;
  static constexpr std::string_view word = "shuffled_responses";
  static constexpr auto arguments() {
    return std::tuple{argument(&ShuffledResponses::reports, "reports"), argument(&ShuffledResponses::truth, "truth"),
                      argument(&ShuffledResponses::categories, "categories")};
  }
};

// ---- Noisy descent of which the last iterate alone is published ----
// x_k = projection(map_k(x_{k-1}) + noise), from a public x_0 in a closed convex set; x_T is released, and nothing else. Steps, noise, set and batches are
// fixed beforehand, the noise is the same in all steps, and it is added before each projection. `event` is one Gaussian or RecordSum: the noise of a step over how far one record moves its
// map, or over the most that one record contributes to it. Each map is Lipschitz of the constant on the set, for all data sets. Under replace-one and
// zero-out; no batch holds these. docs/proofs/last-iterate.md states the hypotheses.

/// Each step uses all data.
struct Event::LastIterate {
  Count steps;
  LipschitzConstant constant;
  Event event;
  static constexpr std::string_view word = "last_iterate";
  static constexpr auto arguments() {
    return std::tuple{argument(&LastIterate::steps, "steps"), argument(&LastIterate::constant, "lipschitz_constant"),
                      argument(&LastIterate::event, "event")};
  }
};
/// The same in a set whose diameter is `diameter` times as long as how far one record moves a step's map under the adjacency, also of a record_sum.
struct Event::LastIterateWithin {
  Diameter diameter;
  Count steps;
  LipschitzConstant constant;
  Event event;
  static constexpr std::string_view word = "last_iterate_within";
  static constexpr auto arguments() {
    return std::tuple{argument(&LastIterateWithin::diameter, "diameter"), argument(&LastIterateWithin::steps, "steps"),
                      argument(&LastIterateWithin::constant, "lipschitz_constant"), argument(&LastIterateWithin::event, "event")};
  }
};
/// `passes` passes over `batches` public batches, in the same order: a record is in one batch of each pass.
struct Event::LastIterateOfPasses {
  Count passes;
  Count batches;
  LipschitzConstant constant;
  Event event;
  static constexpr std::string_view word = "last_iterate_of_passes";
  static constexpr auto arguments() {
    return std::tuple{argument(&LastIterateOfPasses::passes, "passes"), argument(&LastIterateOfPasses::batches, "batches"),
                      argument(&LastIterateOfPasses::constant, "lipschitz_constant"), argument(&LastIterateOfPasses::event, "event")};
  }
};
/// One pass over public batches of these sizes, in this order, by maps of constant 1: a record is in one of them. `event` is a step on a batch of one
/// record, and in a batch of B records a record moves the map 1 / B times as far.
struct Event::LastIterateOfBatches {
  BatchSizes sizes;
  Event event;
  static constexpr std::string_view word = "last_iterate_of_batches";
  static constexpr auto arguments() {
    return std::tuple{argument(&LastIterateOfBatches::sizes, "sizes"), argument(&LastIterateOfBatches::event, "event")};
  }
};

// ---- Functions that make the kinds whose arguments are in points.h and runs.h ----

/// curve({{0.5, 1e-3}, {1, 1e-6}}, adjacency); of the pairs of these see points.h.
[[nodiscard]] Event curve(CurvePoints points, Adjacency adjacency);
[[nodiscard]] Event law(LawAtoms atoms, Adjacency adjacency);
[[nodiscard]] Event renyi(RenyiBounds bounds, Adjacency adjacency);
/// mixture({{0.9, 0}, {0.1, 1}}, e): weights and shifts. \throws Error{invalid_argument} as `poisson`, for anything but Gaussian and record_sum releases.
[[nodiscard]] Event mixture(MixtureParts components, Event event);
/// last_iterate_of_batches({{10, 32}, {5, 64}}, e): 10 steps on batches of 32 records, then 5 on batches of 64. \throws Error{invalid_argument} as
/// `last_iterate`.
[[nodiscard]] Event last_iterate_of_batches(BatchSizes sizes, Event event);
/// A batch may not hold it. The law of a number of runs with what it is written with: best_of(RunsLaw::poisson, 10, e), with a shape
/// best_of(RunsLaw::negative_binomial, 10, 0.5, e), with a cap best_of(RunsLaw::capped_geometric, 10, Count{50}, e).
/// \throws Error{invalid_argument} as Runs, also for a shape or a cap of a law that has none.
[[nodiscard]] Event best_of(const Runs& runs, Event event);
[[nodiscard]] Event best_of(RunsLaw law, double mean, Event event);
[[nodiscard]] Event best_of(RunsLaw law, double mean, double shape, Event event);
[[nodiscard]] Event best_of(RunsLaw law, double mean, Count cap, Event event);

// ---- Deprecated ----

/// What was said before each release had its word.
template <class Release>
[[deprecated("each release has its word: laplace(scale, adjacency)")]] [[nodiscard]] Event release(
    const Release& kind, Adjacency adjacency) requires std::is_constructible_v<Event::Node, Release> {
  return {kind, adjacency};
}

[[deprecated("without_replacement(records, batch_size, event)")]] [[nodiscard]] Event without_replacement(Batches batches, Event event);
[[deprecated("shuffled(records, batch_size, event)")]] [[nodiscard]] Event shuffled(Batches batches, Event event);
[[deprecated("deterministic(records, batch_size, event)")]] [[nodiscard]] Event deterministic(Batches batches, Event event);
[[deprecated("truncated_poisson(rate, largest, records, event)")]] [[nodiscard]] Event truncated_poisson(SamplingRate rate, Batches batches,
                                                                                                         Event event);

}  // namespace surety
