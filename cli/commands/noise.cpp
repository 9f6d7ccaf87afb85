// surety noise: whether the time of a draw tells the noise, measured on this machine.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <surety/base/system/processor.h>
#include <surety/base/text/error.h>
#include <surety/cli/commands/command.h>
#include <surety/cli/print/output.h>
#include <surety/mechanisms/timing/noise_timing.h>

namespace surety::cli {
namespace {

using mechanisms::TimingReport;
using mechanisms::TimingVerdict;

struct NoiseOptions {
  bool check_timing = false;
  double seconds = 40;
  std::uint64_t draws = std::numeric_limits<std::uint64_t>::max();
  std::optional<std::string> mechanism;
  bool require_independent = false;
  bool json = false;
};

/// A number of a table, or "-" where there is none.
std::string cell(const std::optional<double>& value, int digits) { return value ? fmt::format("{:.{}f}", *value, digits) : "-"; }

nlohmann::json number_or_null(const std::optional<double>& value) { return value ? nlohmann::json(*value) : nlohmann::json(); }

nlohmann::json side_json(const mechanisms::TimingSide& side) {
  const auto& times = side.times;
  return {{"draws", times.count + side.trimmed},
          {"trimmed", side.trimmed},
          {"mean", times.count > 0 ? nlohmann::json(times.mean) : nlohmann::json()},
          {"standard_deviation",
           times.count > 1 ? nlohmann::json(std::sqrt(times.squares / static_cast<double>(times.count - 1))) : nlohmann::json()}};
}

nlohmann::json row_json(const mechanisms::NoiseTiming& row, const TimingReport& report) {
  nlohmann::json contrasts;
  for (const auto& contrast : report.contrasts) {
    contrasts[std::string{contrast.name}] = {{"first", side_json(contrast.first)},
                                             {"second", side_json(contrast.second)},
                                             {"t", number_or_null(contrast.t())},
                                             {"trimmed_z", number_or_null(contrast.trimmed_z())},
                                             {"resolution", number_or_null(contrast.resolution())}};
  }
  return {{"mechanism", row.name},
          {"scale", row.scale},
          {"draws", report.draws},
          {"trimmed", report.trimmed},
          {"trim_above", report.trim_above},
          {"mean", report.mean},
          {"correlation", number_or_null(report.correlation)},
          {"contrasts", std::move(contrasts)},
          {"independent", report.verdict() == TimingVerdict::independent},
          {"verdict", report.verdict_text()}};
}

/// Columns of the table, in the order of `contrasts`.
constexpr auto row_format = "{:<29} {:>9} {:>10} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>6}  {}\n";

void say_row(const mechanisms::NoiseTiming& row, const TimingReport& report) {
  const auto& [tail, magnitude, zero, sign] = report.contrasts;
  say(row_format, row.name, row.scale, report.draws, report.trimmed, cell(report.mean, 1), cell(tail.t(), 2), cell(magnitude.t(), 2),
      cell(zero.t(), 2), cell(sign.t(), 2), cell(report.correlation, 3), report.verdict_text());
}

int noise(const NoiseOptions& options) {
  if (!options.check_timing) invalid("--check-timing is required: it is all that surety noise does");
  if (!(options.seconds > 0 && options.seconds <= mechanisms::TimingOptions::most_seconds)) {
    invalid(
        fmt::format("--seconds is {}, must be greater than 0 and at most {}", options.seconds, mechanisms::TimingOptions::most_seconds));
  }
  auto rows = mechanisms::noise_timings();
  if (options.mechanism) std::erase_if(rows, [&](const auto& row) { return row.mechanism != *options.mechanism; });
  const std::string processor = processor_name();
  const std::string governor = frequency_governor();
  if (!options.json) {
    say("{:<10} {}\n{:<10} {}\n{:<10} {}\n", "processor", processor.empty() ? "unknown" : processor, "governor",
        governor.empty() ? "unknown" : governor, "tick", mechanisms::CycleCounter::tick);
    say(row_format, "mechanism", "scale", "draws", "trimmed", "mean", "t tail", "t size", "t zero", "t sign", "corr", "verdict");
  }
  nlohmann::json printed = nlohmann::json::array();
  bool all_independent = true;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>{options.seconds};
  for (std::size_t n = 0; n < rows.size(); ++n) {
    // What earlier rows left, in equal parts, the time to make samplers included.
    const std::chrono::duration<double> left = end - std::chrono::steady_clock::now();
    const double share = std::max(left.count() / static_cast<double>(rows.size() - n), 1e-3);
    const auto report = rows[n].check({.seconds = std::min(share, options.seconds), .draws = options.draws});
    all_independent = all_independent && report.verdict() == TimingVerdict::independent;
    if (options.json) {
      printed.push_back(row_json(rows[n], report));
    } else {
      say_row(rows[n], report);
    }
  }
  if (options.json) {
    print({{"version", 1},
           {"processor", processor.empty() ? nlohmann::json() : nlohmann::json(processor)},
           {"governor", governor.empty() ? nlohmann::json() : nlohmann::json(governor)},
           {"tick", mechanisms::CycleCounter::tick},
           {"threshold", mechanisms::timing_threshold},
           {"rows", std::move(printed)}});
  }
  return options.require_independent && !all_independent ? exit_code::broken : exit_code::fine;
}

}  // namespace

Command noise_command() {
  const auto describe = [](Command& command, OptionTable& table, NoiseOptions& options) {
    table.add("--check-timing", options.check_timing,
              "Time single draws of every additive mechanism and compare the times by the noise drawn");
    table.add("--seconds", options.seconds, "Measure for at most this many seconds in all", number());
    table.add("--draws", options.draws, "Draw at most this many times for each row", whole_number(1)).standard("as many as fit");
    table.add("--mechanism", options.mechanism, "Measure this mechanism alone", one_of(mechanisms::timed_mechanisms()));
    table.add("--require-independent", options.require_independent, "Exit with code 1 unless every row is independent");
    table.add("--json", options.json, "Print one JSON object, with counts, means and deviations of both sides of each contrast");
    command.footer =
        R"(Each t is Welch's t between two mean times. t tail: the outer 1 % by magnitude, and draws up to the 95th percentile. t size: above the
median magnitude, and up to it. t zero: zero, and other values. t sign: negative and positive values. corr: the correlation of time and
magnitude. |t| of 4.5 or more is a leak: the time of a draw tells something of the noise. A row without a leak holds for this machine and
for so many draws. Percentiles come from a first batch. Draws that take more than 20 times its median time are trimmed; where their
shares on two sides differ, that is a leak as well. draw_ahead: single draws of the C++ class DrawAhead.
scaled_gaussian: of ScaledGaussian. k_norm(l1, 8): a vector of 8 values, compared by its first one.
A leak is no error: the exit code is 0 without --require-independent. No data are read, and nothing is charged.
Examples:
  surety noise --check-timing
  surety noise --check-timing --mechanism discrete_laplace --seconds 10 --json)";
  };
  return make_command("noise", "Measure on this machine whether the time of a draw tells the noise", noise, describe);
}

}  // namespace surety::cli
