#include "report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <mutex>

#include <nlohmann/json.hpp>

#include <surety/accounting/ledger/audit.h>
#include <surety/base/text/error.h>

namespace surety::experiments {
namespace {

#ifdef __clang__
constexpr std::string_view compiler = "Clang " __clang_version__;
#else
constexpr std::string_view compiler = "g++ " __VERSION__;
#endif

struct KnownAudits {
  std::mutex mutex;
  std::map<std::string, double> epsilons;  ///< by what the audit reads
};
KnownAudits& known_audits() {
  static KnownAudits known;
  return known;
}

std::filesystem::path make_folder() {
  std::string name = (std::filesystem::temp_directory_path() / "surety-experiment-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw Error{ErrorCode::environment, fmt::format("cannot make the folder {}", name)};
  return name;
}

}  // namespace

MeanAndDeviation mean_and_deviation(std::span<const double> values) {
  const auto count = static_cast<double>(values.size());
  double mean = 0;
  for (const double value : values) mean += value / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {.mean = mean, .deviation = values.size() < 2 ? 0 : std::sqrt(squares / (count - 1))};
}

std::string text(const MeanAndDeviation& value) { return fmt::format("{:.3g} ({:.1g})", value.mean, value.deviation); }

TemporaryLedger::TemporaryLedger(Adjacency adjacency)
    : folder_{make_folder()}, ledger_{accounting::Ledger::create(folder_ / "run.db", adjacency)} {}

TemporaryLedger::~TemporaryLedger() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

double TemporaryLedger::audited_epsilon(Delta delta) const {
  // What the audit reads: the adjacency, and each run's promise and charge. The text of an event says all of it.
  std::string read = fmt::format("{} {}", static_cast<int>(ledger_.adjacency()), delta.value());
  for (const auto& run : ledger_.runs()) {
    const auto& promise = run.plan.promise;
    const auto charged = run.charged();
    read += fmt::format("; {}: {}", promise ? fmt::format("{} {}", promise->epsilon.value(), promise->delta.value()) : "",
                        charged ? describe(*charged) : "");
  }
  auto& [mutex, epsilons] = known_audits();
  {
    const std::lock_guard lock{mutex};
    if (const auto known = epsilons.find(read); known != epsilons.end()) return known->second;
  }
  const double epsilon = accounting::audit(ledger_, delta).epsilon_of_fresh_noise.upper;
  const std::lock_guard lock{mutex};
  return epsilons.emplace(std::move(read), epsilon).first->second;
}

void forget_audits() {
  auto& [mutex, epsilons] = known_audits();
  const std::lock_guard lock{mutex};
  epsilons.clear();
}

std::string Table::line(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const auto& cell : cells) line += fmt::format(" {} |", cell);
  return line;
}

std::string Table::markdown() const {
  std::string lines;
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    lines += line(rows_[row]) + "\n";
    if (row > 0) continue;
    lines += "|";
    for (std::size_t column = 0; column < rows_[0].size(); ++column) lines += "---|";
    lines += "\n";
  }
  return lines;
}

std::string Table::markdown(const Kept& kept) const {
  nlohmann::ordered_json mark{{"file", kept.file}};
  for (const auto& [name, value] : kept.labels) mark[name] = value;
  if (!kept.keep.empty()) mark["keep"] = kept.keep;
  if (!kept.columns.empty()) mark["columns"] = kept.columns;
  return fmt::format("<!-- csv {} -->\n{}", mark.dump(), markdown());
}

std::string heading(std::string_view title, std::string_view command) {
  return fmt::format("# {}\n\nMade by\n\n    {}\n\nwith Surety {}, {}.\n\n", title, command, SURETY_VERSION, compiler);
}

std::vector<std::string> lines_of(const std::string& command) {
  std::vector<std::string> lines;
  std::FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return lines;
  std::array<char, 4096> buffer{};
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) lines.emplace_back(buffer.data());
  pclose(pipe);
  return lines;
}

std::uint64_t number_at(std::span<char* const> arguments, std::size_t place, std::uint64_t otherwise) {
  return arguments.size() > place ? std::strtoull(arguments[place], nullptr, 10) : otherwise;
}

}  // namespace surety::experiments
