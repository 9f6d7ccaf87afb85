// surety curve: the whole privacy curve of an event, as CSV, JSON or SVG.
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include <nlohmann/json.hpp>

#include <surety/accounting/answers/best.h>
#include <surety/accounting/answers/tradeoff.h>
#include <surety/accounting/events/format.h>
#include <surety/accounting/events/json.h>
#include <surety/cli/commands/command.h>
#include <surety/cli/parser/event_options.h>
#include <surety/cli/pictures/pictures.h>
#include <surety/cli/print/output.h>

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
struct Drawing {
  const char* across;  ///< a field's name
  const char* up;
  const char* across_title;  ///< an axis's
  const char* up_title;
  const char* title;  ///< what the curve is
  double from;
  double to;
  bool log_across;
  bool log_up;
  std::function<Enclosure(double)> answer;
};

struct AnswerAt {
  double x;
  Enclosure y;
};

Drawing drawing_of(const CurveOptions& options, const Event& event) {
  const accounting::Effort effort{.width = options.width};
  if (options.kind == "delta") {
    return {.across = "epsilon",
            .up = "delta",
            .across_title = "epsilon",
            .up_title = "delta",
            .title = "Delta",
            .from = 0,
            .to = 10,
            .log_across = false,
            .log_up = true,
            .answer = [curve = accounting::QuickCurve{event, effort}](double x) { return curve(Epsilon{x}); }};
  }
  if (options.kind == "epsilon") {
    return {.across = "delta",
            .up = "epsilon",
            .across_title = "delta",
            .up_title = "epsilon",
            .title = "Epsilon",
            .from = 1e-12,
            .to = 0.1,
            .log_across = true,
            .log_up = false,
            .answer = [=](double x) { return accounting::quick_epsilon(event, Delta{x}, effort); }};
  }
  return {.across = "false_positive_rate",
          .up = "false_negative_rate",
          .across_title = "false positive rate of an attack",
          .up_title = "its least false negative rate",
          .title = "Trade-off",
          .from = 0.001,
          .to = 0.999,
          .log_across = false,
          .log_up = false,
          .answer = [curve = accounting::QuickCurve{event, effort}](double x) { return accounting::tradeoff(curve, Probability{x}); }};
}

void print_csv(const Drawing& drawing, const std::vector<AnswerAt>& points) {
  say("{},{}_lower,{}_upper\n", drawing.across, drawing.up, drawing.up);
  for (const auto& point : points) {
    const auto spelled = [](double value) { return std::isinf(value) ? std::string{"infinity"} : fmt::format("{}", value); };
    say("{},{},{}\n", point.x, spelled(point.y.lower), spelled(point.y.upper));
  }
}

void print_json(const Drawing& drawing, const Event& event, const std::vector<AnswerAt>& points) {
  auto array = nlohmann::json::array();
  for (const auto& point : points) array.push_back({{drawing.across, point.x}, {drawing.up, json(point.y)}});
  print({{"event", describe(event)}, {"adjacency", name(event.adjacency())}, {"points", std::move(array)}});
}

void print_svg(const Drawing& drawing, const Event& event, const std::vector<AnswerAt>& points) {
  CurvePicture picture{.title = fmt::format("{} of {}, {}", drawing.title, describe(event), name(event.adjacency())),
                       .across = {drawing.across_title, drawing.log_across},
                       .up = {drawing.up_title, drawing.log_up},
                       .points = {}};
  for (const auto& point : points) picture.points.push_back({point.x, point.y.lower, point.y.upper});
  say_lines(svg(picture));
}

int curve(const CurveOptions& options) {
  const Event event = options.event.parse();
  const auto drawing = drawing_of(options, event);
  const double from = options.from.value_or(drawing.from);
  const double to = options.to.value_or(drawing.to);
  if (!(from < to)) invalid(fmt::format("--to is {}, must be greater than --from, {}", to, from));
  if (!std::isfinite(to - from)) invalid("--from and --to must be finite");
  if (drawing.log_across && !(from > 0)) invalid(fmt::format("--from is {}, must be greater than 0", from));
  if (options.points < 2 || options.points > 10'000) {
    invalid(fmt::format("--points is {}, must be from 2 to 10000", options.points));
  }
  std::vector<AnswerAt> points;
  for (std::uint64_t i = 0; i < options.points; ++i) {
    const double share = static_cast<double>(i) / (static_cast<double>(options.points) - 1.0);
    const double x = i + 1 == options.points ? to : drawing.log_across ? from * std::pow(to / from, share) : from + (to - from) * share;
    points.push_back({x, drawing.answer(x)});
  }
  const std::string format = options.json ? "json" : options.format;
  if (format == "csv") print_csv(drawing, points);
  if (format == "json") print_json(drawing, event, points);
  if (format == "svg") print_svg(drawing, event, points);
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
