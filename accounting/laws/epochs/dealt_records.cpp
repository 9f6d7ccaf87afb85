#include <surety/accounting/laws/epochs/dealt_records.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace surety::accounting {
namespace {

/// The sizes of the parts of all partitions of a number, each falling.
void partitions(std::uint64_t left, std::uint64_t most, std::vector<std::uint64_t>& parts, std::vector<std::vector<std::uint64_t>>& all) {
  if (left == 0) all.push_back(parts);
  for (std::uint64_t part = std::min(left, most); part >= 1; --part) {
    parts.push_back(part);
    partitions(left - part, part, parts, all);
    parts.pop_back();
  }
}

double factorial(std::uint64_t n) { return n < 2 ? 1 : static_cast<double>(n) * factorial(n - 1); }

}  // namespace

std::vector<DealtRecords> in_so_many_rounds(std::uint64_t participations) { return {{Ball{1}, {participations}}}; }

std::vector<DealtRecords> each_in_some_round(std::uint64_t records, std::uint64_t rounds) {
  std::vector<std::vector<std::uint64_t>> all;
  std::vector<std::uint64_t> parts;
  partitions(records, records, parts, all);
  const auto t = static_cast<double>(rounds);
  std::vector<DealtRecords> found;
  for (const auto& shared : all) {
    if (shared.size() > rounds) continue;
    // Set partitions of the records into parts of these sizes, times the ways to give them different rounds.
    Ball weight = Exact{factorial(records)};
    for (std::uint64_t i = 0; i < records; ++i) weight = weight / Exact{t};
    std::uint64_t alike = 0;
    for (std::size_t i = 0; i < shared.size(); ++i) {
      alike = i > 0 && shared[i] == shared[i - 1] ? alike + 1 : 1;
      weight = weight * Exact{t - static_cast<double>(i)} / Exact{factorial(shared[i]) * static_cast<double>(alike)};
    }
    std::vector<std::uint64_t> rounds_with(shared.front(), 0);
    for (const auto part : shared) ++rounds_with[part - 1];
    found.push_back({weight, std::move(rounds_with)});
  }
  return found;
}

}  // namespace surety::accounting
