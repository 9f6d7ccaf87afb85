// Bounds on the curve of the best of a random number of runs, from the curve of one run. docs/proofs/best-of.md derives every error term.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <surety/accounting/events/runs.h>
#include <surety/accounting/laws/given/curves.h>
#include <surety/base/numbers/enclosure.h>

namespace surety::accounting {

/// What a search finds from above at multiples of this epsilon, some of which are ends of chords, is kept for later questions.
inline constexpr double kept_step = 0.0625;

/// Runs that cost N(mu, 1) against N(0, 1), of a mu that lies in an enclosure. Both directions are alike.
/// \pre 0 < mu.lower.
class GaussianSearch {
 public:
  GaussianSearch(const Runs& runs, const Enclosure& mu);

  /// delta(epsilon) of the best run is at most, and at least, this. \pre epsilon >= 0.
  [[nodiscard]] double above(double epsilon) const;
  [[nodiscard]] double below(double epsilon) const;
  /// The upper end where no chord is taken (`below_chords`).
  [[nodiscard]] double above_alone(double epsilon) const;
  [[nodiscard]] Enclosure mu() const;

 private:
  class Tables;
  std::shared_ptr<const Tables> tables_;
};

/// The convex hull of points that bound a curve which holds in both directions, at rising odds of at least 1; from both sides of odds 1.
[[nodiscard]] std::vector<CurvePoint> convex_curve(const std::vector<CurvePoint>& points);

/// Any run of which a curve in both directions is bounded at some points, at rising odds of at least 1: delta(log odds) is at most this.
class SearchByCurve {
 public:
  SearchByCurve(const Runs& runs, const std::vector<CurvePoint>& points);
  /// The same in one direction alone, of a curve in that direction at rising odds of any size above 0.
  [[nodiscard]] static SearchByCurve in_one_direction(const Runs& runs, const std::vector<CurvePoint>& points);

  /// delta(epsilon) of the best run is at most this. \pre epsilon >= 0.
  [[nodiscard]] double above(double epsilon) const;
  /// Losses of a run below epsilon less this do not count.
  [[nodiscard]] double steepest() const;

 private:
  class Tables;
  explicit SearchByCurve(std::shared_ptr<const Tables> tables) : tables_{std::move(tables)} {}
  std::shared_ptr<const Tables> tables_;
};

/// At most the curve of N(mu, 1) against N(0, 1) at any real loss, in double: within 1e-11 of it for mu up to 10. \pre mu > 0.
[[nodiscard]] double gaussian_run_above(double mu, double loss);

/// Bounds on a curve, at any real loss.
using RunCurve = std::function<double(double loss)>;

/// A bound of a curve also holds below the chord from delta = 1 at odds 0 to any point of it, which counts where delta is large.
[[nodiscard]] double below_chords(const RunCurve& bound, double epsilon);

/// A curve in one direction by chords between its points, which are at rising odds of any size above 0.
[[nodiscard]] RunCurve curve_of_points(const std::vector<CurvePoint>& points);

}  // namespace surety::accounting
