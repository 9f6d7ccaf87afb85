// surety curve: the whole privacy curve of an event, as CSV, JSON or SVG.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include <nlohmann/json.hpp>

#include <surety/accounting/accountants/best.h>
#include <surety/accounting/accountants/tradeoff.h>
#include <surety/accounting/events/format.h>
#include <surety/accounting/events/json.h>

#include "command.h"
#include "event_options.h"
#include "output.h"
#include "validators.h"

namespace surety::cli {
namespace {

struct CurveOptions {
  EventOptions event;
  std::string kind = "delta";
  std::optional<double> from;
  std::optional<double> to;
  std::uint64_t points = 41;
  std::string format = "csv";
  bool json = false;
  double width = 1e-3;
};

/// What is drawn: `answer` over x from `from` to `to`, on logarithmic axes where said.
struct Kind {
  const char* across;
  const char* up;
  double from;
  double to;
  bool log_across;
  bool log_up;
  std::function<Enclosure(double)> answer;
};

struct Point {
  double x;
  Enclosure y;
};

Kind kind_of(const CurveOptions& options, const Event& event) {
  const accounting::Effort effort{.width = options.width};
  if (options.kind == "delta") {
    return {
        "epsilon", "delta", 0, 10, false, true, [curve = accounting::QuickCurve{event, effort}](double x) { return curve(Epsilon{x}); }};
  }
  if (options.kind == "epsilon") {
    return {"delta", "epsilon", 1e-12, 0.1, true, false, [=](double x) { return accounting::quick_epsilon(event, Delta{x}, effort); }};
  }
  return {
      "false_positive_rate", "false_negative_rate", 0.001, 0.999, false, false, [curve = accounting::QuickCurve{event, effort}](double x) {
        return accounting::tradeoff(curve, Probability{x});
      }};
}

void print_csv(const Kind& kind, const std::vector<Point>& points) {
  fmt::print("{},{}_lower,{}_upper\n", kind.across, kind.up, kind.up);
  for (const auto& point : points) {
    const auto spelled = [](double value) { return std::isinf(value) ? std::string{"infinity"} : fmt::format("{}", value); };
    fmt::print("{},{},{}\n", point.x, spelled(point.y.lower), spelled(point.y.upper));
  }
}

void print_json(const Kind& kind, const Event& event, const std::vector<Point>& points) {
  auto array = nlohmann::json::array();
  for (const auto& point : points) array.push_back({{kind.across, point.x}, {kind.up, json(point.y)}});
  print({{"event", describe(event)}, {"adjacency", name(event.adjacency())}, {"points", std::move(array)}});
}

std::string escaped(std::string text) {
  for (const auto& [plain, entity] : {std::pair{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}}) {
    for (std::size_t at = 0; (at = text.find(plain, at)) != std::string::npos; at += std::string_view{entity}.size())
      text.replace(at, 1, entity);
  }
  return text;
}

/// Upper and lower ends as two lines; points that are infinite, or 0 on a logarithmic axis, are left out.
void print_svg(const Kind& kind, const Event& event, const std::vector<Point>& points) {
  constexpr double width = 640;
  constexpr double height = 400;
  constexpr double margin = 60;
  const auto across = [&](double x) { return kind.log_across ? std::log10(x) : x; };
  const auto up = [&](double y) { return kind.log_up ? std::log10(std::max(y, 1e-300)) : y; };
  const auto shown = [&](double y) { return std::isfinite(y) && (!kind.log_up || y > 1e-300); };
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const auto& point : points) {
    for (const double y : {point.y.lower, point.y.upper}) {
      if (!shown(y)) continue;
      low = std::min(low, up(y));
      high = std::max(high, up(y));
    }
  }
  if (!(low < high)) {
    high = std::isfinite(low) ? low + 1 : 1;
    low = std::isfinite(low) ? low - 1 : 0;
  }
  const double left = across(points.front().x);
  const double right = across(points.back().x);
  const auto to_x = [&](double x) { return margin + (width - 2 * margin) * (across(x) - left) / (right - left); };
  const auto to_y = [&](double y) { return height - margin - (height - 2 * margin) * (up(y) - low) / (high - low); };
  fmt::print("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" font-family=\"sans-serif\" font-size=\"12\">\n", width,
             height);
  fmt::print("<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n");
  fmt::print("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#888\"/>\n", margin, margin, width - 2 * margin,
             height - 2 * margin);
  for (const bool is_upper : {true, false}) {
    std::string line;
    for (const auto& point : points) {
      const double y = is_upper ? point.y.upper : point.y.lower;
      if (shown(y)) line += fmt::format("{:.2f},{:.2f} ", to_x(point.x), to_y(y));
    }
    fmt::print("<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\" points=\"{}\"/>\n", is_upper ? "#b2182b" : "#2166ac", line);
  }
  const auto label = [](double value, bool logarithmic) {
    return logarithmic ? fmt::format("{:.3g}", std::pow(10, value)) : fmt::format("{:.4g}", value);
  };
  const auto write = [](double x, double y, const char* anchor, const std::string& text) {
    fmt::print("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, text);
  };
  write(margin, height - margin + 16, "middle", label(left, kind.log_across));
  write(width - margin, height - margin + 16, "middle", label(right, kind.log_across));
  write(margin - 4, height - margin, "end", label(low, kind.log_up));
  write(margin - 4, margin + 10, "end", label(high, kind.log_up));
  write(width / 2, height - 16, "middle", kind.across);
  write(margin, margin - 10, "start",
        fmt::format("{} of {}, {} (red: upper, blue: lower)", kind.up, escaped(one_line(describe(event))), name(event.adjacency())));
  fmt::print("</svg>\n");
}

int curve(const CurveOptions& options) {
  const Event event = options.event.parse();
  const auto kind = kind_of(options, event);
  const double from = options.from.value_or(kind.from);
  const double to = options.to.value_or(kind.to);
  if (!(from < to)) invalid(fmt::format("--to is {}, must be greater than --from, {}", to, from));
  if (!std::isfinite(to - from)) invalid("--from and --to must be finite");
  if (kind.log_across && !(from > 0)) invalid(fmt::format("--from is {}, must be greater than 0", from));
  if (options.points < 2 || options.points > 10'000) {
    invalid(fmt::format("--points is {}, must be from 2 to 10000", options.points));
  }
  std::vector<Point> points;
  for (std::uint64_t i = 0; i < options.points; ++i) {
    const double share = static_cast<double>(i) / (static_cast<double>(options.points) - 1.0);
    const double x = i + 1 == options.points ? to : kind.log_across ? from * std::pow(to / from, share) : from + (to - from) * share;
    points.push_back({x, kind.answer(x)});
  }
  const std::string format = options.json ? "json" : options.format;
  if (format == "csv") print_csv(kind, points);
  if (format == "json") print_json(kind, event, points);
  if (format == "svg") print_svg(kind, event, points);
  return exit_code::fine;
}

}  // namespace

Command curve_command() {
  const auto describe = [](Command& command, OptionTable& table, CurveOptions& options) {
    options.event.add_to(table);
    table.add("--kind", options.kind, "delta, epsilon or tradeoff", one_of({"delta", "epsilon", "tradeoff"}));
    table.add("--from", options.from, "First epsilon, delta or false positive rate; default 0, 1e-12, 0.001", number());
    table.add("--to", options.to, "Last one; default 10, 0.1, 0.999", number());
    table.add("--points", options.points, "How many points, from 2 to 10000", whole_number());
    table.add("--format", options.format, "csv, json or svg", one_of({"csv", "json", "svg"}));
    table.add("--json", options.json, "The same as --format json");
    table.add("--width", options.width, "The width in epsilon that accountants on a grid aim at", number());
    command.footer = R"(Examples:
  surety curve --event 'repeat(1000, poisson(0.01, gaussian(1)))' --adjacency add-or-remove-one --from 0.5 --to 6
  surety curve --event 'gaussian(2)' --adjacency replace-one --kind tradeoff --format svg > tradeoff.svg)";
  };
  return make_command("curve", "Print a whole curve of an event: delta(epsilon), epsilon(delta), or the trade-off function", curve,
                      describe);
}

}  // namespace surety::cli
