// surety_benchmark_report RESULTS.json: the accounting jobs of a run of surety_benchmarks as a Markdown table on standard output.
#include <string_view>

#include "results.h"

namespace {

/// A benchmark with the least time of its repetitions.
struct Row {
  nlohmann::json run;
  double milliseconds = 0;
};

std::string target(const nlohmann::json& run, const char* name, std::string_view format, double reached, bool at_least = false) {
  if (!run.contains(name)) return "";
  const auto asked = run[name].get<double>();
  const bool met = at_least ? reached >= asked : reached <= asked;
  return fmt::format(" ({} {}{})", at_least ? "at least" : "at most", fmt::format(fmt::runtime(format), asked), met ? "" : ": **missed**");
}

std::string line(const std::string& name, const Row& row, double reference) {
  const std::size_t cut = name.rfind('/');
  const std::string head = fmt::format("| {} | {} |", name.substr(0, cut), name.substr(cut + 1));
  if (row.run.value("error_occurred", false)) return fmt::format("{} **{}** | | | |\n", head, row.run.value("error_message", "failed"));
  const double lower = row.run.value("lower", 0.0), upper = row.run.at("upper").get<double>();
  const std::string width = lower > 0 ? fmt::format("{:.2g}", upper - lower) : "";
  return fmt::format("{} [{:.10g}{}, {:.10g}{}] | {}{} | {:.3g}{} | {:.3g} |\n", head, lower,
                     target(row.run, "target_lower", "{:.8g}", lower, true), upper, target(row.run, "target_upper", "{:.8g}", upper), width,
                     target(row.run, "target_width", "{:.0e}", upper - lower), row.milliseconds,
                     target(row.run, "target_ms", "{:g}", row.milliseconds), row.milliseconds / reference);
}

void report(const char* file) {
  const std::string prefix = "account/";
  results::Rows<Row> rows;
  double reference = 0;
  double small = 0;
  double peak = 0;
  results::for_each_run(file, [&](const std::string& name, const nlohmann::json& run) {
    const double time = run.value("cpu_time", 0.0);
    if (name == "reference/exp") reference = reference > 0 ? std::min(reference, time) : time;
    if (!name.starts_with(prefix)) return;
    const std::string job = name.substr(prefix.size());
    const auto [row, is_new] = rows.of(job);
    row = {is_new ? run : row.run, is_new ? time : std::min(row.milliseconds, time)};
    const double memory = run.value("peak_mb", 0.0);
    peak = std::max(peak, memory);
    if (std::string_view{"ace"}.find(job[0]) != std::string_view::npos) small = std::max(small, memory);
  });

  fmt::print("| job | accountant | enclosure | width | ms | ratio |\n|---|---|---|---|---|---|\n");
  for (const std::string& job : rows.names()) fmt::print("{}", line(job, rows.at(job), reference));
  fmt::print("\nThe reference workload, 10 million exponentials, took {:.3g} ms. ", reference);
  fmt::print("Peak memory of the process: {:.0f} MB after (a), (c), (e) (at most 64{}), {:.0f} MB at the end (at most 256{}).\n", small,
             small <= 64 ? "" : ": **missed**", peak, peak <= 256 ? "" : ": **missed**");
}

}  // namespace

int main(int count, char** arguments) { return results::main_of_report(count, arguments, "surety_benchmark_report", report); }
