// What an accountant takes from whoever asks it and does not compute: the curves of others. So no accountant asks another one, and who knows a
// curve is said in one place, by those who ask (best.h).
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/accounting/events/units.h>
#include <surety/base/numbers/enclosure.h>

namespace surety::accounting {

/// A point of a curve: delta at most this where the loss is cut at log(odds).
struct CurvePoint {
  double odds;
  double delta;
};

/// An outcome, or several as one: at most this mass under P, and at least this one under Q.
struct WeighedAtom {
  double p;
  double q;
};

/// What a finite law says of an event in one direction.
struct FiniteLaw {
  /// Of its curve at every real epsilon: at rising odds from far below 1 on, chords between them bound it.
  std::vector<CurvePoint> above;
  /// By falling loss; the curve of each is not above the event's at any real epsilon. May be empty.
  std::vector<std::vector<WeighedAtom>> below;
};
struct FiniteLaws {
  FiniteLaw remove;
  std::optional<FiniteLaw> add;  ///< nothing where it is that of the other direction
};

/// Laws of one best_of that concrete scores attain, in each direction: several, since none is worst at every epsilon. May be empty.
struct AttainedLaws {
  std::vector<std::vector<WeighedAtom>> remove;
  std::vector<std::vector<WeighedAtom>> add;
  bool symmetric = true;  ///< whether both are one
};

/// The curve of N(0, 1) against N(mu, 1), as closed_form.h has it.
struct GaussianCurve {
  Enclosure (*delta)(Mu mu, Epsilon epsilon);
  Enclosure (*epsilon)(Mu mu, Delta delta);
};

/// The curve of one event. Every function \throws Error{unsupported} where nobody knows it there.
class Curve {
 public:
  virtual ~Curve() = default;

  /// delta(epsilon) and epsilon(delta), as narrow as those who know it make it.
  [[nodiscard]] virtual Enclosure delta(Epsilon at) const = 0;
  [[nodiscard]] virtual Enclosure epsilon(Delta at) const = 0;
  /// The same to a few digits, for tens of points.
  [[nodiscard]] virtual Enclosure rough_delta(Epsilon at) const = 0;
  [[nodiscard]] virtual Enclosure rough_epsilon(Delta at) const = 0;
  /// delta(epsilon) within microseconds, for hundreds of points; nothing where nobody knows it so quickly.
  [[nodiscard]] virtual std::optional<Enclosure> quick_delta(Epsilon at) const = 0;
};

/// What a search asks of the run that it repeats.
class RunCurves {
 public:
  virtual ~RunCurves() = default;

  /// Whether anybody has a theorem for what `run` is made of.
  [[nodiscard]] virtual bool know(const Event& run) const = 0;
  [[nodiscard]] virtual std::unique_ptr<Curve> of(const Event& run) const = 0;
  /// Laws of `run` with digits where its delta is about this one, from above alone where that is all that is asked for; nothing where nobody makes
  /// them.
  [[nodiscard]] virtual std::optional<FiniteLaws> laws(const Event& run, Delta delta, bool upper_only = false) const = 0;
};

/// What a grid asks of releases whose laws it does not know, so that they may be composed with others. What is made of it is kept: an object
/// lives as long as the process does.
class LeafCurves {
 public:
  virtual ~LeafCurves() = default;

  /// Bounds on the curve of one best_of in both directions, at rising odds from below 1; convex between them. \throws Error{unsupported}.
  [[nodiscard]] virtual std::vector<CurvePoint> of_search(const Event& search, std::size_t points) const = 0;
  /// What that best_of costs at least. \throws Error{unsupported}.
  [[nodiscard]] virtual AttainedLaws attained_by_search(const Event& search) const = 0;
  /// Whether the curve of that best_of is known.
  [[nodiscard]] virtual bool know_search(const Event& search) const = 0;
  /// At least delta(epsilon) of releases of which Renyi divergences are known and nothing else: zcdp, renyi.
  [[nodiscard]] virtual double of_divergences(const Event& releases, Epsilon epsilon) const = 0;
  /// Whom a refusal may name beside: another accountant with a theorem for `event`, or nobody: "".
  [[nodiscard]] virtual std::string_view also_known_by(const Event& event) const = 0;
};

/// All of these, for those who ask several accountants. Refers to them.
struct OtherCurves {
  GaussianCurve gaussian;
  const RunCurves& runs;
  const LeafCurves& leaves;
};

}  // namespace surety::accounting
