// What an attacker gets: the best that any test can do who sees what was released and asks which of two neighbouring data sets it came
// from, one with the record in question (positive) and one without (negative). He knows all other records, chooses the pair and its order,
// if he likes by a coin of his own, and has no limit to his computing. So each number is that of the event's trade-off function
// (tradeoff.h), and what he gets with less knowledge is less.
//
//   advantage           largest true-positive rate minus false-positive rate: delta(0), the total variation between the neighbours
//   true-positive rate  at a false-positive rate: 1 - f(alpha)
//   Bayes accuracy      largest probability to guess right where the record was there with a known prior probability
//   least mu            the smallest mu such that N(0, 1) and N(mu, 1) are at least as easy to tell apart, by every test
//
// Derivations: docs/proofs/risk.md.
#pragma once

#include <vector>

#include <surety/accounting/answers/best.h>
#include <surety/accounting/answers/tradeoff.h>

namespace surety::accounting {

/// Each of a curve delta(epsilon), and of an event by all accountants, whose upper ends are what is certified: no attacker gets more.
/// Enclosures within [0, 1]; of the event none is wider than what the accountants leave open, and where these are exact some 1e-9.
/// \throws what the curve throws; of an event Error{unsupported} as best_delta.
[[nodiscard]] Enclosure advantage(const PrivacyCurve& curve);
[[nodiscard]] Enclosure advantage(const Event& event, const Effort& effort = {});
/// \complexity some 100 evaluations of the curve.
[[nodiscard]] Enclosure true_positive_rate(const PrivacyCurve& curve, Probability false_positive_rate);
[[nodiscard]] Enclosure true_positive_rate(const Event& event, Probability false_positive_rate, const Effort& effort = {});
/// m + (1 - m) delta(log(m / (1 - m))), m the larger of prior and 1 - prior.
[[nodiscard]] Enclosure bayes_accuracy(const PrivacyCurve& curve, Probability prior);
[[nodiscard]] Enclosure bayes_accuracy(const Event& event, Probability prior, const Effort& effort = {});

/// Encloses the least mu whose curve is on or above the event's at every epsilon. Exact for Gaussian releases, and for batches of them,
/// which need the mu of the whole data set however rare they are. Narrow for events of bounded loss. For others the upper end is proved by
/// composition of the parts' own mu, or infinity. \throws Error{unsupported} as best_delta. \complexity at most 160 evaluations of delta.
[[nodiscard]] Enclosure least_mu(const Event& event, const Effort& effort = {}, const CoverEffort& cover = {});
/// The same at every epsilon at which delta is at least `floor`: delta(epsilon) <= max(floor, delta of the upper end) at all.
[[nodiscard]] Enclosure least_mu_above_floor(const Event& event, Delta floor, const Effort& effort = {}, const CoverEffort& cover = {});

/// What is asked for.
struct RiskQuestions {
  std::vector<Probability> false_positive_rates = {Probability{0.001}, Probability{0.01}, Probability{0.1}};
  Probability prior{0.5};
  Delta floor{1e-10};
};
struct Risk {
  struct Rate {
    Probability false_positive_rate;
    Enclosure true_positive_rate;
  };
  Enclosure advantage;
  std::vector<Rate> rates;
  Enclosure accuracy;
  Enclosure mu;              ///< at every epsilon
  Enclosure mu_above_floor;  ///< where delta is at least the floor
};
/// All of it.
[[nodiscard]] Risk risk(const Event& event, const RiskQuestions& questions = {}, const Effort& effort = {});

}  // namespace surety::accounting
