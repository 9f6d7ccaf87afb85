// surety curve: the whole privacy curve of an event, as CSV, JSON or SVG.
#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include <surety/accounting/answers/tabulated_curve.h>
#include <surety/cli/commands/command.h>
#include <surety/cli/parser/event_options.h>
#include <surety/cli/print/output.h>
#include <surety/jobs/pictures/curve_picture.h>

namespace surety::cli {
namespace {
enum class CurveFormat : std::uint8_t { csv, json, svg };
}
}  // namespace surety::cli

template <>
struct surety::jobs::Choices<surety::cli::CurveFormat> {
  static constexpr std::array all{Named{cli::CurveFormat::csv, "csv"}, Named{cli::CurveFormat::json, "json"},
                                  Named{cli::CurveFormat::svg, "svg"}};
};

namespace surety::cli {
namespace {

struct CurveOptions {
  EventOptions event;
  std::string kind = "delta";
  std::optional<double> from;
  std::optional<double> to;
  std::uint64_t points = 41;
  CurveFormat format = CurveFormat::csv;
  bool json = false;
  double width = 1e-3;
};

jobs::CurvePicture picture_of(const accounting::TabulatedCurve& curve) {
  const auto& form = accounting::form_of(curve.kind);
  jobs::CurvePicture picture{.title = fmt::format("{} of {}, {}", form.title, describe(curve.event), name(curve.event.adjacency())),
                             .across = {std::string{form.across_title}, form.is_logarithmic_across},
                             .up = {std::string{form.up_title}, form.is_logarithmic_up},
                             .points = {}};
  for (const auto& point : curve.points) picture.points.push_back({point.x, point.y.lower, point.y.upper});
  return picture;
}

int curve(const CurveOptions& options) {
  const Event event = options.event.parse();
  const auto kind = accounting::parse_curve_kind(options.kind);
  const auto& form = accounting::form_of(kind);
  const accounting::CurveRange range{options.from.value_or(form.from), options.to.value_or(form.to), options.points};
  range.validate(kind, "--");
  const auto curve = accounting::tabulated(event, kind, range, {.width = options.width});
  const CurveFormat format = options.json ? CurveFormat::json : options.format;
  if (format == CurveFormat::csv) say_lines(accounting::csv(curve));
  if (format == CurveFormat::json) print(accounting::to_json(curve));
  if (format == CurveFormat::svg) say_lines(jobs::svg(picture_of(curve)));
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
    table.add("--format", options.format, "csv, json or svg");
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
