// surety_sampler_report RESULTS.json: the samplers of a run of surety_benchmarks as a Markdown table on standard output.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "results.h"

namespace {

void report(const char* file) {
  results::Rows<results::Repetitions> rows;  // million items per second
  results::for_each_run(file, [&](const std::string& name, const nlohmann::json& run) {
    const std::string_view kind = std::string_view{name}.substr(0, name.find('/'));
    if (kind != "sampler" && kind != "path" && kind != "release" && kind != "scalar" && kind != "insecure") return;
    rows.of(name).first.values.push_back(run.at("items_per_second").get<double>() * 1e-6);
  });

  const double ziggurat = rows.at("insecure/boost_ziggurat_mt19937_64").median();
  fmt::print("| case | median | slowest | fastest | over the ziggurat |\n|---|---|---|---|---|\n");
  for (const std::string& name : rows.names()) {
    auto& row = rows.at(name);
    fmt::print("| {} | {:.0f} | {:.0f} | {:.0f} | {:.2f} |\n", name, row.median(), row.values.front(), row.values.back(),
               row.median() / ziggurat);
  }
  fmt::print("\nThe slowest isochronous case over the ziggurat, by each loop:");
  for (const auto& [path, asked] : {std::pair{"baseline", 0.2}, {"avx2", 0.4}, {"avx512", 0.75}}) {
    double least = 1e9;
    for (const std::string& name : rows.names()) {
      if (name.starts_with(fmt::format("path/{}/", path))) least = std::min(least, rows.at(name).median() / ziggurat);
    }
    if (least < 1e9) fmt::print(" {} {:.2f} (target {}){}", path, least, asked, path == std::string_view{"avx512"} ? ".\n" : ",");
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
