#include <surety/accounting/answers/tabulated_curve.h>

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

#include <nlohmann/json.hpp>

#include <surety/accounting/answers/tradeoff.h>
#include <surety/accounting/events/format.h>
#include <surety/accounting/events/json.h>
#include <surety/accounting/events/words.h>
#include <surety/base/text/error.h>

namespace surety::accounting {
namespace {

constexpr Words<CurveKind, 3> kinds{
    .what = "kind", .values = {CurveKind::delta, CurveKind::epsilon, CurveKind::tradeoff}, .words = {"delta", "epsilon", "tradeoff"}};

/// In their order.
constexpr std::array<CurveForm, 3> forms{{{.across = "epsilon",
                                           .up = "delta",
                                           .across_title = "epsilon",
                                           .up_title = "delta",
                                           .title = "Delta",
                                           .from = 0,
                                           .to = 10,
                                           .is_logarithmic_across = false,
                                           .is_logarithmic_up = true},
                                          {.across = "delta",
                                           .up = "epsilon",
                                           .across_title = "delta",
                                           .up_title = "epsilon",
                                           .title = "Epsilon",
                                           .from = 1e-12,
                                           .to = 0.1,
                                           .is_logarithmic_across = true,
                                           .is_logarithmic_up = false},
                                          {.across = "false_positive_rate",
                                           .up = "false_negative_rate",
                                           .across_title = "false positive rate of an attack",
                                           .up_title = "its least false negative rate",
                                           .title = "Trade-off",
                                           .from = 1e-3,
                                           .to = 1 - 1e-3,
                                           .is_logarithmic_across = false,
                                           .is_logarithmic_up = false}}};

template <class Answer>
std::vector<TabulatedCurve::Point> points_of(const CurveRange& range, bool is_logarithmic, const Answer& answer) {
  const double from = range.from;
  const double to = range.to;
  std::vector<TabulatedCurve::Point> points;
  for (std::uint64_t i = 0; i < range.points; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(range.points - 1);
    const double x = i + 1 == range.points ? to : is_logarithmic ? from * std::pow(to / from, share) : from + (to - from) * share;
    points.push_back({x, answer(x)});
  }
  return points;
}

std::string spelled(double value) { return std::isinf(value) ? std::string{"infinity"} : fmt::format("{}", value); }

}  // namespace

std::string_view name(CurveKind kind) { return kinds.name(kind); }

CurveKind parse_curve_kind(std::string_view text) { return kinds.parse(text); }

const CurveForm& form_of(CurveKind kind) { return forms.at(static_cast<std::size_t>(kind)); }

void CurveRange::validate(CurveKind kind, std::string_view mark) const {
  if (!(from < to)) invalid(fmt::format("{0}to is {1}, must be greater than {0}from, {2}", mark, to, from));
  if (!std::isfinite(to - from)) invalid(fmt::format("{0}from and {0}to must be finite", mark));
  if (form_of(kind).is_logarithmic_across && !(from > 0)) invalid(fmt::format("{}from is {}, must be greater than 0", mark, from));
  if (points < 2 || points > most_points) invalid(fmt::format("{}points is {}, must be from 2 to {}", mark, points, most_points));
}

TabulatedCurve tabulated(const Event& event, CurveKind kind, const CurveRange& range, const Effort& effort) {
  range.validate(kind);
  const auto points = [&](const auto& answer) { return points_of(range, form_of(kind).is_logarithmic_across, answer); };
  TabulatedCurve curve{.event = event, .kind = kind, .points = {}};
  if (kind == CurveKind::epsilon) {
    curve.points = points([&](double x) { return quick_epsilon(event, Delta{x}, effort); });
    return curve;
  }
  const QuickCurve deltas{event, effort};
  curve.points = kind == CurveKind::delta ? points([&](double x) { return deltas(Epsilon{x}); })
                                          : points([&](double x) { return tradeoff(deltas, Probability{x}); });
  return curve;
}

std::string csv(const TabulatedCurve& curve) {
  const auto& form = form_of(curve.kind);
  std::string lines = fmt::format("{},{}_lower,{}_upper\n", form.across, form.up, form.up);
  for (const auto& point : curve.points) lines += fmt::format("{},{},{}\n", point.x, spelled(point.y.lower), spelled(point.y.upper));
  return lines;
}

nlohmann::json to_json(const TabulatedCurve& curve) {
  const auto& form = form_of(curve.kind);
  auto points = nlohmann::json::array();
  for (const auto& point : curve.points) points.push_back({{form.across, point.x}, {form.up, to_json(point.y)}});
  return {{"event", describe(curve.event)}, {"adjacency", name(curve.event.adjacency())}, {"points", std::move(points)}};
}

}  // namespace surety::accounting
