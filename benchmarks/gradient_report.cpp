// surety_gradient_report RESULTS.json: the gradients of a run of surety_gradient_benchmarks as a Markdown table on standard output.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace {

struct Row {
  std::vector<double> milliseconds;  ///< of each repetition
  double asked_for = 0;
};

int report(const char* file) {
  std::ifstream stream{file};
  const nlohmann::json results = nlohmann::json::parse(stream);
  std::vector<std::string> order;
  std::map<std::string, Row> rows;
  for (const nlohmann::json& run : results.at("benchmarks")) {
    if (run.value("run_type", "iteration") != "iteration") continue;
    const std::string name = run.at("run_name");
    const auto [row, is_new] = rows.try_emplace(name);
    if (is_new) order.push_back(name);
    row->second.milliseconds.push_back(run.at(name.ends_with("/real_time") ? "real_time" : "cpu_time").get<double>());
    row->second.asked_for = run.value("asked_for", 0.0);
  }
  fmt::print("| case | fastest | median | slowest | asked for |\n|---|---|---|---|---|\n");
  for (const std::string& name : order) {
    Row& row = rows.at(name);
    std::sort(row.milliseconds.begin(), row.milliseconds.end());
    const double fastest = row.milliseconds.front();
    const std::string asked = row.asked_for == 0 ? "" : fmt::format("{:g}{}", row.asked_for, fastest > row.asked_for ? ": **missed**" : "");
    fmt::print("| {} | {:.3g} | {:.3g} | {:.3g} | {} |\n", name, fastest, row.milliseconds[row.milliseconds.size() / 2],
               row.milliseconds.back(), asked);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc == 2) return report(argv[1]);
  fmt::print(stderr, "usage: surety_gradient_report RESULTS.json\n");
  return 2;
} catch (const std::exception& error) {
  fmt::print(stderr, "surety_gradient_report: {}\n", error.what());
  return 1;
}
