// surety_sampler_report RESULTS.json: the samplers of a run of surety_benchmarks as a Markdown table on standard output.
#include <string_view>

#include "results.h"

namespace {

void report(const char* file) {
  results::Rows<results::Repetitions> rows;  // million items per second
  results::for_each_run(file, [&](const std::string& name, const nlohmann::json& run) {
    const std::string_view kind = std::string_view{name}.substr(0, name.find('/'));
    if (kind != "sampler" && kind != "release" && kind != "scalar" && kind != "insecure") return;
    auto& row = rows.of(name).first;
    row.values.push_back(run.at("items_per_second").get<double>() * 1e-6);
    row.asked_for = run.value("asked_for", 0.0) * 1e-6;
  });

  fmt::print("| case | median | slowest | fastest | asked for |\n|---|---|---|---|---|\n");
  for (const std::string& name : rows.names()) {
    auto& row = rows.at(name);
    const double median = row.median();
    const std::string asked =
        row.asked_for == 0 ? "" : fmt::format("{:.0f}{}", row.asked_for, median < row.asked_for ? ": **missed**" : "");
    fmt::print("| {} | {:.0f} | {:.0f} | {:.0f} | {} |\n", name, median, row.values.front(), row.values.back(), asked);
  }

  const auto speed = [&](const char* name) { return rows.at(name).median(); };
  fmt::print("\nIn place against the bulk sampler that stores doubles (at most 1.5 times its time): Gaussian {:.2f}, Laplace {:.2f}.\n",
             speed("sampler/gaussian_doubles/1024") / speed("release/gaussian_in_place/1024"),
             speed("sampler/laplace_doubles/1024") / speed("release/laplace_in_place/1024"));
  fmt::print(
      "Two threads against one, by the wall clock (at least 1.8 times its samples): {:.2f}.\n",
      speed("sampler/two_threads/gaussian/1024/real_time/threads:2") / speed("sampler/one_thread/gaussian/1024/real_time/threads:1"));
}

}  // namespace

int main(int count, char** arguments) { return results::main_of_report(count, arguments, "surety_sampler_report", report); }
