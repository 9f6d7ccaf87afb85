// How often a search runs: the laws of a secret random number of runs, of which the best one is published.
//
// With K runs and phi(z) = E z^K, all that a cost needs is phi', and in each law phi' is written with the mean m = E K:
//
//   poisson_runs             phi'(z) = m e^(-m (1 - z))                       P(K = k) = e^-m m^k / k!, k = 0, 1, ...
//   geometric_runs           phi'(z) = m (1 + a (1 - z))^-2                   shape 1
//   logarithmic_runs         phi'(z) = m (1 + a (1 - z))^-1                   shape 0
//   negative_binomial_runs   phi'(z) = m (1 + a (1 - z))^-(1 + shape)         P(K = k + 1) / P(K = k) = (1 - g) (k + shape) / (k + 1)
//   capped_geometric_runs    phi(z) = 1 - (1 - z) sum over k = 1 ... cap of ((1 - g) z)^(k - 1)      P(K >= k) = (1 - g)^(k - 1), k = 1, ..., cap
//
// The last four start at one run, and g, with a = 1 / g - 1, follows from the mean. The last one stops at the cap: it is the smaller of the cap
// and a geometric number, so that it is known how long all runs take at most. A fixed number of runs is none of these: it is composition.
#pragma once

#include <optional>
#include <string_view>

#include <surety/accounting/events/units.h>

namespace surety {

enum class RunsLaw { poisson, geometric, logarithmic, negative_binomial, capped_geometric };

/// "poisson_runs", "geometric_runs", "logarithmic_runs", "negative_binomial_runs", "capped_geometric_runs".
[[nodiscard]] std::string_view name(RunsLaw law);
/// The inverse of `name`. \throws Error{invalid_argument} listing the names.
[[nodiscard]] RunsLaw parse_runs_law(std::string_view text);

/// A law of the number of runs with its mean.
class Runs {
 public:
  static constexpr double most = 1e6;

  /// \throws Error{invalid_argument} unless the mean is above 0 (Poisson) or 1 (the others) and at most `most`; for a law that
  ///         has a shape or a cap.
  Runs(RunsLaw law, double mean);
  /// The negative binomial law, conditioned on at least one run.
  /// \throws Error{invalid_argument} as above, and unless the shape is from -0.5 to 1000.
  [[nodiscard]] static Runs negative_binomial(double mean, double shape);
  /// A geometric number of runs, or `cap` where that is less. \param mean of the smaller one
  /// \throws Error{invalid_argument} unless 1 < mean < cap <= `most`.
  [[nodiscard]] static Runs capped_geometric(double mean, Count cap);

  [[nodiscard]] RunsLaw law() const noexcept { return law_; }
  [[nodiscard]] double mean() const noexcept { return mean_; }
  /// 0 where the law has none.
  [[nodiscard]] double shape() const noexcept { return law_ == RunsLaw::negative_binomial ? second_ : 0; }
  /// No more runs than this; nothing where any number is possible.
  [[nodiscard]] std::optional<Count> cap() const;
  friend bool operator==(const Runs&, const Runs&) = default;

 private:
  Runs(RunsLaw law, double mean, double second);

  RunsLaw law_;
  double mean_;
  double second_;  ///< the shape or the cap; 0 of a law that has neither
};

}  // namespace surety
