// Where a ledger stands: what its runs cost, and what its budget still admits. For use inside Surety.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include <nlohmann/json.hpp>

#include <surety/accounting/ledger/ledger.h>
#include <surety/base/numbers/enclosure.h>

namespace surety::accounting {

/// "settled" or "reserved".
[[nodiscard]] std::string_view state_of(const Run& run);

/// What runs cost at their promises' deltas. Equal runs are accounted for once.
class RunCosts {
 public:
  /// Of what is charged, up to infinity where its noise was replayed. Nothing without a promise, or where no accountant has a theorem.
  [[nodiscard]] std::optional<Enclosure> of(const Run& run);

 private:
  std::map<std::tuple<std::string, double, double>, std::optional<Enclosure>> known_;
};

/// What a budget still admits, in runs of something.
struct Room {
  Event event;
  std::uint64_t runs;
  static constexpr std::uint64_t most = 1'000'000;  ///< it is counted no further
};

/// A tenth of the budget's epsilon, for a count by Laplace noise.
[[nodiscard]] double epsilon_of_count(const Budget& budget);

struct Standing {
  Adjacency adjacency;
  UnitOfPrivacy unit;
  std::size_t runs = 0;
  std::optional<Balance> balance;
  std::optional<Room> like_the_last = {};  ///< of runs; nothing where the filter has no theorem for it
  std::optional<Room> counts = {};         ///< of `epsilon_of_count`, likewise

  explicit Standing(const Ledger& ledger);
};

[[nodiscard]] nlohmann::json to_json(const Run& run, RunCosts& costs);
[[nodiscard]] nlohmann::json to_json(const Standing& stands);

}  // namespace surety::accounting
