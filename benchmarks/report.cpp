// surety_benchmark_report RESULTS.json: the accounting jobs of a run of surety_benchmarks as a Markdown table on standard output.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace {

/// A benchmark with the least time of its repetitions.
struct Row {
  nlohmann::json run;
  double milliseconds;
};

std::string target(const nlohmann::json& run, const char* name, std::string_view format, double reached, bool at_least = false) {
  if (!run.contains(name)) return "";
  const double asked = run[name];
  const bool met = at_least ? reached >= asked : reached <= asked;
  return fmt::format(" ({} {}{})", at_least ? "at least" : "at most", fmt::format(fmt::runtime(format), asked), met ? "" : ": **missed**");
}

std::string line(const std::string& name, const Row& row, double reference) {
  const std::size_t cut = name.rfind('/');
  const std::string head = fmt::format("| {} | {} |", name.substr(0, cut), name.substr(cut + 1));
  if (row.run.value("error_occurred", false)) return fmt::format("{} **{}** | | | |\n", head, row.run.value("error_message", "failed"));
  const double lower = row.run.value("lower", 0.0), upper = row.run["upper"];
  const std::string width = lower > 0 ? fmt::format("{:.2g}", upper - lower) : "";
  return fmt::format("{} [{:.10g}{}, {:.10g}{}] | {}{} | {:.3g}{} | {:.3g} |\n", head, lower,
                     target(row.run, "target_lower", "{:.8g}", lower, true), upper, target(row.run, "target_upper", "{:.8g}", upper), width,
                     target(row.run, "target_width", "{:.0e}", upper - lower), row.milliseconds,
                     target(row.run, "target_ms", "{:g}", row.milliseconds), row.milliseconds / reference);
}

int report(const char* file) {
  std::ifstream stream{file};
  const nlohmann::json results = nlohmann::json::parse(stream);
  const std::string prefix = "account/";
  std::vector<std::string> order;
  std::map<std::string, Row> rows;
  double reference = 0;
  double small = 0;
  double peak = 0;
  for (const nlohmann::json& run : results.at("benchmarks")) {
    if (run.value("run_type", "iteration") != "iteration") continue;
    const std::string name = run.at("run_name");
    const double time = run.value("cpu_time", 0.0);
    if (name == "reference/exp") reference = reference > 0 ? std::min(reference, time) : time;
    if (!name.starts_with(prefix)) continue;
    const std::string job = name.substr(prefix.size());
    if (const auto [found, fresh] = rows.try_emplace(job, Row{run, time}); fresh) {
      order.push_back(job);
    } else {
      found->second.milliseconds = std::min(found->second.milliseconds, time);
    }
    const double memory = run.value("peak_mb", 0.0);
    peak = std::max(peak, memory);
    if (std::string_view{"ace"}.find(job[0]) != std::string_view::npos) small = std::max(small, memory);
  }

  fmt::print("| job | accountant | enclosure | width | ms | ratio |\n|---|---|---|---|---|---|\n");
  for (const std::string& job : order) fmt::print("{}", line(job, rows.at(job), reference));
  fmt::print("\nThe reference workload, 10 million exponentials, took {:.3g} ms; ratio is time over that. ", reference);
  fmt::print("Peak memory of the process: {:.0f} MB after (a), (c), (e) (at most 64{}), {:.0f} MB at the end (at most 256{}).\n", small,
             small <= 64 ? "" : ": **missed**", peak, peak <= 256 ? "" : ": **missed**");
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc == 2) return report(argv[1]);
  fmt::print(stderr, "usage: surety_benchmark_report RESULTS.json\n");
  return 2;
} catch (const std::exception& error) {
  fmt::print(stderr, "surety_benchmark_report: {}\n", error.what());
  return 1;
}
