// What the reports share: the runs that a file of Google Benchmark holds, grouped by name, and a main function.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace results {

/// Calls take(name, run) for every repetition of every benchmark.
template <class Take>
void for_each_run(const char* file, const Take& take) {
  std::ifstream stream{file};
  const nlohmann::json results = nlohmann::json::parse(stream);
  for (const nlohmann::json& run : results.at("benchmarks")) {
    if (run.value("run_type", "iteration") == "iteration") take(run.at("run_name").get<std::string>(), run);
  }
}

/// Values in the order in which their names come first.
template <class Value>
class Rows {
 public:
  /// \return the value of `name`, and whether it is new.
  std::pair<Value&, bool> of(const std::string& name) {
    const auto [place, is_new] = rows_.try_emplace(name);
    if (is_new) order_.push_back(name);
    return {place->second, is_new};
  }
  [[nodiscard]] Value& at(const std::string& name) { return rows_.at(name); }
  [[nodiscard]] const std::vector<std::string>& names() const { return order_; }

 private:
  std::vector<std::string> order_;
  std::map<std::string, Value> rows_;
};

/// A number for each repetition, and what was asked for.
struct Repetitions {
  std::vector<double> values;
  double asked_for = 0;

  /// Also sorts them.
  [[nodiscard]] double median() {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  }
};

/// Calls report(file) with the one argument. \return the exit status.
template <class Report>
int main_of_report(int count, char** arguments, const char* program, const Report& report) try {
  if (count == 2) {
    report(arguments[1]);
    return 0;
  }
  fmt::print(stderr, "usage: {} RESULTS.json\n", program);
  return 2;
} catch (const std::exception& error) {
  fmt::print(stderr, "{}: {}\n", program, error.what());
  return 1;
}

}  // namespace results
