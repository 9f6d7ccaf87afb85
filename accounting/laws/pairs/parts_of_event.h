// How the laws of an event's releases are gathered, part by part. What it finds is for both_directions (pairs.h); nothing else includes this.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <mpfr.h>

#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/refusal.h>
#include <surety/accounting/laws/batches/batch_pair.h>
#include <surety/accounting/laws/batches/drawn_slots.h>
#include <surety/accounting/laws/cells/parts.h>
#include <surety/accounting/laws/epochs/dealt_records.h>
#include <surety/accounting/laws/given/curves.h>
#include <surety/accounting/laws/vectors/vector_pair.h>
#include <surety/base/numbers/enclosure.h>

namespace surety::accounting::laws {

/// \throws Error{unsupported} naming `event`.
[[noreturn]] void no_pair_for(const Event& event, std::string_view why);

/// Why an event that is one search has no pair here; nothing for another event.
[[nodiscard]] std::optional<Refusal> why_no_pair_of_search(const Event& event);

/// \throws Error{unsupported} naming the first part of a parallel composition that is one search.
void require_no_part_is_one_search(const std::vector<Event>& parts);

/// log of the mean of e^(tilt loss), roughly; it only chooses among lower bounds.
[[nodiscard]] double tilted_mean_at(double tilt, const Parts& parts);

/// Visits the releases of an event and adds the laws of each. Single releases are in parts_of_releases.cpp, what is drawn in batches in
/// parts_of_batches.cpp, rounds of an epoch in parts_of_epochs.cpp, and the rest in parts_of_event.cpp.
class PartsOfEvent {
 public:
  /// \param tilt s of e^(s loss), by which the best part to be in is chosen for the lower laws; any choice is sound.
  /// \param from_above whether nobody asks for laws from below: those that take long are not made.
  PartsOfEvent(BothDirections& out, const LeafCurves& others, double tilt, Reach reach, bool from_above = false)
      : out_{out}, others_{others}, tilt_{tilt}, reach_{reach}, from_above_{from_above} {}
  void visit(const Event& event, std::uint64_t times);
  void operator()(const Event::Gaussian& e) { gaussian(e.multiplier.value(), e.multiplier.value(), 1); }
  void operator()(const Event::RecordSum&) { (*this)(Event::Gaussian{*pairwise_multiplier(*leaf_)}); }
  void operator()(const Event::Laplace& e) { both(LossLaw{LaplaceBase{e.scale.value()}}); }
  void operator()(const Event::LaplaceRecordSum&) { (*this)(Event::Laplace{*pairwise_scale(*leaf_)}); }
  void operator()(const Event::RandomizedResponse& e);
  void operator()(const Event::Pure& e);
  void operator()(const Event::Approximate& e);
  void operator()(const Event::DiscreteGaussian& e);
  void operator()(const Event::DiscreteLaplace& e);
  void operator()(const Event::Binomial&) { on_integers(); }
  void operator()(const Event::Skellam&) { on_integers(); }
  /// The envelope of all two-point pairs bounds every choice; each of those pairs is attained.
  void operator()(const Event::Exponential& e);
  void operator()(const Event::KNorm& e);
  /// Of what is concentrated: so many releases are one of all their rho, and of all their xi.
  void operator()(const Event::Concentrated& e);
  /// Of divergences at some orders: so many releases have the sum of theirs. Below them lies a Gaussian release whose divergences are no larger.
  void operator()(const Event::RenyiCurve& e);
  /// Points of a curve, which is convex: its chords, and from below the same, which a pair attains.
  void operator()(const Event::Profile& e);
  /// The pair itself, which is attained. Under replace-one either order of it, release by release.
  void operator()(const Event::Law& e);
  /// What a record may contribute, and how much of it is secret.
  void operator()(const Event::Mixture& e);
  /// From above the chords of a curve; from below a polygon under it, or a pair of neighbours.
  void operator()(const Event::ShuffledReports&) { shuffled(); }
  void operator()(const Event::ShuffledResponses&) { shuffled(); }
  void operator()(const Event::GeneralizedGaussian& e);
  /// From above the Gaussian release that it costs at most, from below the one that it costs at least.
  void operator()(const Event::LastIterate&) { last_iterate(); }
  void operator()(const Event::LastIterateWithin&) { last_iterate(); }
  void operator()(const Event::LastIterateOfPasses&) { last_iterate(); }
  void operator()(const Event::LastIterateOfBatches&) { last_iterate(); }
  void operator()(const Event::PoissonSampled& e) { sampled(e.event, e.rate.value(), false); }
  void operator()(const Event::SampledWithoutReplacement& e);
  /// A record is in some slots of the batch, and nobody knows whether in any.
  void operator()(const Event::SampledWithReplacement& e);
  /// One epoch of public batches: a record takes part in one of them, known in advance. That neighbours share their batches is why
  /// event_kinds.cpp refuses add-or-remove-one.
  void operator()(const Event::Deterministic& e);
  /// Whoever knows the permutation sees public batches: no amplification is counted. Adjacencies as above.
  void operator()(const Event::Shuffled& e);
  /// In a Poisson batch a user contributes the sum of the records that joined; in the worst case all records point in one direction.
  /// Without a batch, the bounds of event_of_group.h.
  void operator()(const Event::Users& e);
  /// Of a search bounds on its curve are known, the same for both directions, and what some scores attain.
  void operator()(const Event::BestOf&);
  /// One of the rounds, and nobody knows which; or so many of them.
  void operator()(const Event::Allocated& e);
  /// How many of the others are kept is told to whoever asks; from below the others' vectors show it under noise, or are 0.
  void operator()(const Event::TruncatedPoisson& e);
  /// A record takes part in one of the parts: release by release the pair whose curve is the largest of theirs, and from below the part
  /// that is worst at the tilt.
  void operator()(const Event::Parallel& e);
  template <class Other>
  void operator()(const Other&) {
    no_pair_but_perhaps_others("has no dominating pair here");
  }

 private:
  /// No law is made: stand-ins of the same kind take their places.
  [[nodiscard]] bool makes_none() const { return reach_ == Reach::none; }
  static LossLaw no_mixture(LossLaw law);
  /// What moving along one coordinate, or along all, shows: in the l1 norm and in the largest coordinate's that is Laplace noise.
  std::optional<LossLaw> along(const Event::KNorm& e) const;
  std::optional<LossLaw> along(const Event::GeneralizedGaussian& e) const;
  std::optional<LossLaw> moved(const VectorNoise& noise) const;
  /// From above as far as it may move, in three coordinates or more; `pure` is the law of its largest loss alone.
  static LossLaw moved_from_above(const Event::KNorm& e, const LossLaw& pure);
  static LossLaw moved_from_above(const Event::GeneralizedGaussian& e, const LossLaw& smoothest);
  /// Of noise on integers, where its distribution has few enough of them.
  void on_integers();
  [[nodiscard]] ReleaseLaws concentrated(double rho, double xi = 0) const;
  /// What is known by divergences alone. `rho`: of the Gaussian release below it; 0 for none.
  [[nodiscard]] ReleaseLaws of_divergences(const Event& releases, double rho, double end) const;
  [[noreturn]] void no_pair_but_perhaps_others(std::string_view why) const;
  /// Coordinates of batches that a record is in, of which the largest is looked at.
  static constexpr std::uint64_t most_participations = 1000;
  /// Records of a user whose ways to share rounds are listed.
  static constexpr std::uint64_t most_sharing_records = 4;
  /// One of the rounds, so many times, both bounds.
  void epochs(const Enclosure& multiplier, std::uint64_t rounds, std::uint64_t count);
  /// Some of the rounds, opposite vectors in both data sets; the bound on one record is half of the sensitivity.
  void replaced_epochs(const Enclosure& multiplier, std::uint64_t rounds, std::uint64_t times);
  /// Whether the Fourier sums of both ends take few enough nodes.
  static bool has_fourier_sums(std::uint64_t rounds, double least, double most);
  void epochs_from_above(double multiplier, std::uint64_t rounds, std::uint64_t count);
  /// What an epoch shows to whoever looks at one number: the sum of all rounds, which has moved by `times`, the largest of them, or the sum of
  /// logarithms that makes the most of how records take part, where that is listed.
  void from_below(double multiplier, std::uint64_t rounds, double times, const std::vector<DealtRecords>& ways,
                  const std::optional<AtomsBase>& seen);
  /// A user's records in one release: from above what it costs them at most, from below what it costs them at least.
  void users_of_release(const Event::Users& e);
  /// A user's records, each dealt for itself. From above they are told who shares a round and in which part of the rounds each round is, or
  /// each has a share of the noise for itself.
  void users_of_epoch(std::uint64_t records, const Event::Allocated& e);
  [[nodiscard]] BothDirections directions_of(const Event& event);
  [[nodiscard]] std::uint64_t product(std::uint64_t inner, std::uint64_t outer) const;
  enum class Side { lower, upper };
  /// What is shown with a probability so small that its digits do not matter is lost altogether, or from below is not shown.
  static LossLaw public_mixture(const std::vector<std::pair<LossLaw, Enclosure>>& shares, Side side);
  static LossLaw largest_of_curves(std::vector<LossLaw> laws);
  [[nodiscard]] double tilted_mean(const Parts& parts) const;
  /// Stand-ins have no range, and what takes long is not asked for one.
  static bool is_slow(const LossLaw& law);
  void add(ReleaseLaws removed, ReleaseLaws added);
  void both(const LossLaw& law) { add({law, law, true, count_}, {law, law, true, count_}); }
  void last_iterate();
  /// Gaussian releases whose multiplier lies between the two, on batches of rate `rate`.
  void gaussian(double least, double most, double rate);
  /// Fixed size is a theorem under replace-one (event_kinds.cpp) for any release, since the record, the one in its place, and the one that
  /// takes its place in the batch are three neighbours; which pair a Poisson batch has is for poisson_pair to say.
  void sampled(const Event& inner, double rate, bool fixed_size);
  /// One Gaussian release of a batch. `is_opposite`: of a Poisson batch under replace-one.
  void sampled_gaussian(const Enclosure& multiplier, double rate, bool fixed_size, bool is_opposite);
  /// One LaplaceRecordSum of a Poisson batch under replace-one.
  void sampled_laplace_sum(const Event::LaplaceRecordSum& sum, double rate);
  /// The given pair in a batch, or not in it.
  void sampled(const Event::Law& given, double rate);
  /// The law of what `slots` say, from above, for releases that are not Gaussian.
  [[nodiscard]] LossLaw slots_from_above(const Event& inner, const DrawnSlots& slots) const;
  /// Of so many slots that change at once, where that has a pair.
  [[nodiscard]] std::optional<LossLaw> law_of_slots(const Event& inner, std::uint64_t slots, double rate) const;
  /// One batch that several releases share, or one whose pair is known by its outcomes alone: the pair of all of them is mixed.
  void shared(const Event& inner, double rate, bool fixed_size);
  /// The pair of all releases of `inner`, kept for the questions that follow; `from_above` alone, where nobody asks what is below.
  [[nodiscard]] std::shared_ptr<const BatchPair> pair_of_batch(const Event& inner, bool from_above = false) const;
  void shuffled();
  /// Releases of either order, whichever neighbour is the first.
  void in_either_order(const LawAtoms& atoms);
  [[nodiscard]] Parts parts_of_batch(const Event& inner, bool from_above = false) const;
  static constexpr double most_in_a_batch = 1000;
  static constexpr double largest_rho = 1e4;
  static constexpr mpfr_prec_t precision = 128;
  /// With probability `rate` the pair of the release, else nothing that differs. \pre `one` is a single release.
  void revealed(const BothDirections& one, double rate);
  /// A larger rate and a larger share at infinite loss dominate, so both are rounded to `side`, where they round at all.
  [[nodiscard]] static LossLaw reveal(LossLaw law, double rate, int side);
  BothDirections& out_;
  const LeafCurves& others_;
  double tilt_;
  Reach reach_;
  bool from_above_;
  bool shares_a_batch_ = false;  ///< laws from below are to equal their own reverses, as those from above do
  const Event* leaf_ = nullptr;
  std::uint64_t count_ = 1;
};

}  // namespace surety::accounting::laws
