// A whole curve of an event at so many points, for tables and pictures.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <surety/accounting/answers/best.h>
#include <surety/accounting/events/event.h>
#include <surety/base/numbers/enclosure.h>

namespace surety::accounting {

enum class CurveKind {
  delta,     ///< delta(epsilon)
  epsilon,   ///< epsilon(delta)
  tradeoff,  ///< how seldom an attack with so many false positives can miss (tradeoff.h)
};
/// "delta", "epsilon", "tradeoff".
[[nodiscard]] std::string_view name(CurveKind kind);
/// The inverse. \throws Error{invalid_argument} listing them.
[[nodiscard]] CurveKind parse_curve_kind(std::string_view text);

/// What a kind of curve is over and of, and what is shown of it where nothing else is said.
struct CurveForm {
  std::string_view across;  ///< a field's name: "false_positive_rate"
  std::string_view up;
  std::string_view across_title;  ///< an axis's: "false positive rate of an attack"
  std::string_view up_title;
  std::string_view title;  ///< what the curve is: "Trade-off"
  double from;
  double to;
  bool is_logarithmic_across;
  bool is_logarithmic_up;
};
[[nodiscard]] const CurveForm& form_of(CurveKind kind);

/// Where a curve is asked for: points between two ends, in equal steps of the number or, where it is logarithmic across, of its logarithm.
struct CurveRange {
  double from;
  double to;
  std::uint64_t points = 41;
  static constexpr std::uint64_t most_points = 10'000;

  /// \param mark what a refusal writes before the name of a field: "--" for the command's options
  /// \throws Error{invalid_argument} unless from < to, both are finite, on a logarithmic axis greater than 0, and there are 2 to `most_points` points.
  void validate(CurveKind kind, std::string_view mark = "") const;
};

struct TabulatedCurve {
  struct Point {
    double x;
    Enclosure y;
  };
  Event event;
  CurveKind kind;
  std::vector<Point> points;  ///< by ascending x, both ends among them
};

/// Each point by itself as `QuickCurve`, `quick_epsilon` and `tradeoff` answer it: every one encloses the truth.
/// \throws as they do, and as `CurveRange::validate`; Error{invalid_argument} for an x that is no epsilon, delta or probability.
/// \complexity one answer a point, of a trade-off some 100.
[[nodiscard]] TabulatedCurve tabulated(const Event& event, CurveKind kind, const CurveRange& range, const Effort& effort = {});

/// "epsilon,delta_lower,delta_upper" and a line for each point; infinity is the word.
[[nodiscard]] std::string csv(const TabulatedCurve& curve);
/// {"event", "adjacency", "points": [{"epsilon": 1, "delta": {"lower", "upper"}}, ...]}
[[nodiscard]] nlohmann::json to_json(const TabulatedCurve& curve);

}  // namespace surety::accounting
