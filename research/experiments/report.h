// What every experiment needs: runs that are charged to a ledger and audited, means over seeds, tables.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <surety/accounting/events/units.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/mechanisms/bits/random_bits.h>

namespace surety::experiments {

struct MeanAndDeviation {
  double mean;
  double deviation;  ///< of the sample, with size - 1; 0 for one value
};

/// \pre values is not empty.
[[nodiscard]] MeanAndDeviation mean_and_deviation(std::span<const double> values);
/// "0.0123 (0.0004)".
[[nodiscard]] std::string text(const MeanAndDeviation& value);

/// A ledger of its own in a folder of its own, both removed at the end.
class TemporaryLedger {
 public:
  explicit TemporaryLedger(Adjacency adjacency);
  TemporaryLedger(const TemporaryLedger&) = delete;
  TemporaryLedger& operator=(const TemporaryLedger&) = delete;
  ~TemporaryLedger();

  [[nodiscard]] accounting::Ledger& ledger() noexcept { return ledger_; }
  /// The upper bound on epsilon at `delta` that an audit of everything charged gives, as if the replayed noise had been fresh. Ledgers of
  /// equal promises and equal charges, as runs of many seeds make them, are audited once for all of them.
  [[nodiscard]] double audited_epsilon(Delta delta) const;

 private:
  std::filesystem::path folder_;
  accounting::Ledger ledger_;
};

/// Every ledger is audited again from here on: before a run whose time includes its audit.
void forget_audits();

/// A run of its own ledger with noise replayed from `seed`: reserves `event`, calls algorithm(reservation, bits), settles, audits.
/// \return what `algorithm` returned, and the audited epsilon at target.delta.
template <class Algorithm>
auto charged(const Event& event, const Target& target, std::uint64_t seed, Algorithm algorithm) {
  TemporaryLedger ledger{event.adjacency()};
  auto reservation = ledger.ledger().reserve({.event = event, .promise = target, .not_private = true});
  mechanisms::ReplayBits bits{seed};
  auto result = algorithm(reservation, bits);
  reservation.settle(accounting::Stopping::data_independent);
  return std::pair{std::move(result), ledger.audited_epsilon(target.delta)};
}

/// Where scripts/result_page.py puts the rows of a table that is too long to read.
struct Kept {
  std::string file;                                              ///< FILE.csv has all rows
  std::vector<std::pair<std::string, std::string>> labels = {};  ///< columns before the others, with one value for the table
  std::string keep = {};                  ///< the rows that the page shows too: what their cells hold, joined by " | "
  std::vector<std::string> columns = {};  ///< of these the columns; all, if empty
};

/// A table in Markdown.
class Table {
 public:
  explicit Table(std::vector<std::string> header) { rows_.push_back(std::move(header)); }
  /// \pre as many cells as the header has.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  /// How a table shows these cells.
  [[nodiscard]] static std::string line(const std::vector<std::string>& cells);
  [[nodiscard]] std::string markdown() const;
  /// With the mark before it by which scripts/result_page.py divides it between a file and the page.
  [[nodiscard]] std::string markdown(const Kept& kept) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

/// The first lines of a page: its title, the command that made it, the version, the compiler.
[[nodiscard]] std::string heading(std::string_view title, std::string_view command);

/// What a command prints, as of a compressed file by the program that reads it; nothing when it does not start.
[[nodiscard]] std::vector<std::string> lines_of(const std::string& command);

/// The number at a place of a program's arguments, or `otherwise`.
[[nodiscard]] std::uint64_t number_at(std::span<char* const> arguments, std::size_t place, std::uint64_t otherwise);

}  // namespace surety::experiments
