// How often a search runs: the laws of a secret random number of runs, of which the best one is published.
//
// With K runs and phi(z) = E z^K, all that a cost needs is phi', and in each law phi' is written with the mean m = E K:
//
//   poisson_runs             phi'(z) = m e^(-m (1 - z))                       P(K = k) = e^-m m^k / k!, k = 0, 1, ...
//   geometric_runs           phi'(z) = m (1 + a (1 - z))^-2                   shape 1
//   logarithmic_runs         phi'(z) = m (1 + a (1 - z))^-1                   shape 0
//   negative_binomial_runs   phi'(z) = m (1 + a (1 - z))^-(1 + shape)         P(K = k + 1) / P(K = k) = (1 - g) (k + shape) / (k + 1)
//
// The last three start at one run, and a = 1 / g - 1 follows from the mean. A fixed number of runs is none of these: it is composition.
#pragma once

#include <string_view>

namespace surety {

enum class RunsLaw { poisson, geometric, logarithmic, negative_binomial };

/// "poisson_runs", "geometric_runs", "logarithmic_runs", "negative_binomial_runs".
[[nodiscard]] std::string_view name(RunsLaw law);
/// The inverse of `name`. \throws Error{invalid_argument} listing the four names.
[[nodiscard]] RunsLaw parse_runs_law(std::string_view text);

/// A law of the number of runs with its mean.
class Runs {
 public:
  static constexpr double most = 1e6;

  /// \throws Error{invalid_argument} unless the mean is above 0 (Poisson) or 1 (the others) and at most `most`; for a negative binomial law,
  ///         which has a shape.
  Runs(RunsLaw law, double mean);
  /// The negative binomial law, conditioned on at least one run.
  /// \throws Error{invalid_argument} as above, and unless the shape is from -0.5 to 1000.
  [[nodiscard]] static Runs negative_binomial(double mean, double shape);

  [[nodiscard]] RunsLaw law() const noexcept { return law_; }
  [[nodiscard]] double mean() const noexcept { return mean_; }
  /// 0 where the law has none.
  [[nodiscard]] double shape() const noexcept { return shape_; }
  friend bool operator==(const Runs&, const Runs&) = default;

 private:
  Runs(RunsLaw law, double mean, double shape);

  RunsLaw law_;
  double mean_;
  double shape_;
};

}  // namespace surety
