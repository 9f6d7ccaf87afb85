// surety_gradient_report RESULTS.json: the gradients of a run of surety_gradient_benchmarks as a Markdown table on standard output.
#include "results.h"

namespace {

void report(const char* file) {
  results::Rows<results::Repetitions> rows;  // milliseconds
  results::for_each_run(file, [&](const std::string& name, const nlohmann::json& run) {
    auto& row = rows.of(name).first;
    row.values.push_back(run.at(name.ends_with("/real_time") ? "real_time" : "cpu_time").get<double>());
    row.asked_for = run.value("asked_for", 0.0);
  });
  fmt::print("| case | fastest | median | slowest | target |\n|---|---|---|---|---|\n");
  for (const std::string& name : rows.names()) {
    auto& row = rows.at(name);
    const double median = row.median();
    const double fastest = row.values.front();
    const std::string asked = row.asked_for == 0 ? "" : fmt::format("{:g}{}", row.asked_for, fastest > row.asked_for ? ": **missed**" : "");
    fmt::print("| {} | {:.3g} | {:.3g} | {:.3g} | {} |\n", name, fastest, median, row.values.back(), asked);
  }
}

}  // namespace

int main(int count, char** arguments) { return results::main_of_report(count, arguments, "surety_gradient_report", report); }
