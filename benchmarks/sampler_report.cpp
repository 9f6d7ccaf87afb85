// surety_sampler_report RESULTS.json: the samplers of a run of surety_benchmarks as a Markdown table on standard output.
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

struct Row {
  std::vector<double> speeds;  ///< million items per second, of each repetition
  double asked_for = 0;

  [[nodiscard]] double median() {
    std::sort(speeds.begin(), speeds.end());
    return speeds[speeds.size() / 2];
  }
};

int report(const char* file) {
  std::ifstream stream{file};
  const nlohmann::json results = nlohmann::json::parse(stream);
  std::vector<std::string> order;
  std::map<std::string, Row> rows;
  for (const nlohmann::json& run : results.at("benchmarks")) {
    const std::string name = run.at("run_name");
    const std::string_view kind = std::string_view{name}.substr(0, name.find('/'));
    if (run.value("run_type", "iteration") != "iteration" ||
        (kind != "sampler" && kind != "release" && kind != "scalar" && kind != "insecure")) {
      continue;
    }
    const auto [row, is_new] = rows.try_emplace(name);
    if (is_new) order.push_back(name);
    row->second.speeds.push_back(run.at("items_per_second").get<double>() * 1e-6);
    row->second.asked_for = run.value("asked_for", 0.0) * 1e-6;
  }

  fmt::print("| case | median | slowest | fastest | asked for |\n|---|---|---|---|---|\n");
  for (const std::string& name : order) {
    Row& row = rows.at(name);
    const double median = row.median();
    const std::string asked =
        row.asked_for == 0 ? "" : fmt::format("{:.0f}{}", row.asked_for, median < row.asked_for ? ": **missed**" : "");
    fmt::print("| {} | {:.0f} | {:.0f} | {:.0f} | {} |\n", name, median, row.speeds.front(), row.speeds.back(), asked);
  }

  const auto speed = [&](const char* name) { return rows.at(name).median(); };
  fmt::print("\nIn place against the bulk sampler that stores doubles (at most 1.5 times its time): Gaussian {:.2f}, Laplace {:.2f}.\n",
             speed("sampler/gaussian_doubles/1024") / speed("release/gaussian_in_place/1024"),
             speed("sampler/laplace_doubles/1024") / speed("release/laplace_in_place/1024"));
  fmt::print(
      "Two threads against one, by the wall clock (at least 1.8 times its samples): {:.2f}.\n",
      speed("sampler/two_threads/gaussian/1024/real_time/threads:2") / speed("sampler/one_thread/gaussian/1024/real_time/threads:1"));
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc == 2) return report(argv[1]);
  fmt::print(stderr, "usage: surety_sampler_report RESULTS.json\n");
  return 2;
} catch (const std::exception& error) {
  fmt::print(stderr, "surety_sampler_report: {}\n", error.what());
  return 1;
}
