// Ledgers as the module hands them out.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>

#include <surety/accounting/events/unit.h>
#include <surety/accounting/events/units.h>
#include <surety/accounting/ledger/ledger.h>

namespace surety::python {

/// A ledger that may be closed. Calls work on a copy, which several threads may. One in memory may be there before it is known for what: it is made for
/// what it is charged with first.
class LedgerHandle {
 public:
  explicit LedgerHandle(accounting::Ledger ledger, bool is_in_memory = false);
  /// One in memory that is still to be made.
  [[nodiscard]] static LedgerHandle in_memory();

  /// \throws Error{invalid_argument} where it is closed, or still to be made.
  [[nodiscard]] accounting::Ledger open() const;
  /// The same; nothing where it is still to be made.
  [[nodiscard]] std::optional<accounting::Ledger> found() const;
  /// The same, made now where it is still to be made.
  [[nodiscard]] accounting::Ledger open_for(Adjacency adjacency, const UnitOfPrivacy& unit) const;
  /// Nothing of one in memory.
  [[nodiscard]] std::optional<std::filesystem::path> path() const;
  /// Later calls refuse. \return what was open
  [[nodiscard]] std::optional<accounting::Ledger> close();

 private:
  struct Place {
    std::mutex mutex = {};
    std::optional<accounting::Ledger> ledger = {};
    bool is_closed = false;
    bool is_in_memory = false;
  };
  LedgerHandle() = default;
  void require_open() const;

  std::shared_ptr<Place> place_ = std::make_shared<Place>();
};

}  // namespace surety::python
