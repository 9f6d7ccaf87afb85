#include "ledgers.h"

#include <utility>

#include <surety/accounting/ledger/memory_store.h>
#include <surety/base/text/error.h>

namespace surety::python {

using accounting::Ledger;
using accounting::MemoryStore;

LedgerHandle::LedgerHandle(Ledger ledger, bool is_in_memory) {
  place_->ledger = std::move(ledger);
  place_->is_in_memory = is_in_memory;
}

LedgerHandle LedgerHandle::in_memory() {
  LedgerHandle handle;
  handle.place_->is_in_memory = true;
  return handle;
}

void LedgerHandle::require_open() const {
  if (place_->is_closed) invalid("the ledger is closed, must be open");
}

std::optional<Ledger> LedgerHandle::found() const {
  const std::lock_guard lock{place_->mutex};
  require_open();
  return place_->ledger;
}

Ledger LedgerHandle::open() const {
  if (auto ledger = found()) return *std::move(ledger);
  invalid("the ledger in memory has had no run yet, must have one: its adjacency and its unit are those of the first");
}

Ledger LedgerHandle::open_for(Adjacency adjacency, const UnitOfPrivacy& unit) const {
  const std::lock_guard lock{place_->mutex};
  require_open();
  if (!place_->ledger) place_->ledger = Ledger::create(std::make_shared<MemoryStore>(), adjacency, std::nullopt, unit);
  return *place_->ledger;
}

std::optional<std::filesystem::path> LedgerHandle::path() const {
  if (place_->is_in_memory) {
    const std::lock_guard lock{place_->mutex};
    require_open();
    return std::nullopt;
  }
  return open().path();
}

std::optional<Ledger> LedgerHandle::close() {
  const std::lock_guard lock{place_->mutex};
  place_->is_closed = true;
  return std::exchange(place_->ledger, std::nullopt);
}

}  // namespace surety::python
