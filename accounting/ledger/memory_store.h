// A ledger's store that is no file and knows no SQL: what the interface asks for, and nothing else. Several stores may share one memory, as
// several handles share a file. Nothing of it is durable: with its process, or the last who shares it, all that was charged is forgotten.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <surety/accounting/ledger/store.h>

namespace surety::accounting {

/// What the stores of one ledger share.
struct LedgerMemory {
  std::mutex writing;  ///< held while one of them transacts
  std::vector<StoredEntry> entries;
  std::optional<StoredHead> head;
  std::mutex holding;              ///< held while `living` is looked at
  std::set<std::uint64_t> living;  ///< runs
};

class MemoryStore final : public LedgerStore {
 public:
  explicit MemoryStore(std::shared_ptr<LedgerMemory> memory = std::make_shared<LedgerMemory>()) : memory_{std::move(memory)} {}

  [[nodiscard]] const std::string& name() const override { return name_; }
  void transact(Access /*access*/, const std::function<void()>& work) override {
    const std::lock_guard lock{memory_->writing};
    const auto entries = memory_->entries.size();
    const auto head = memory_->head;
    try {
      work();
    } catch (...) {
      memory_->entries.resize(entries);  // nothing is ever taken away, so this takes away what was appended
      memory_->head = head;
      throw;
    }
  }
  [[nodiscard]] std::optional<StoredHead> head() const override { return memory_->head; }
  [[nodiscard]] std::optional<std::uint64_t> checksum_of(std::int64_t number) const override {
    for (const auto& entry : memory_->entries) {
      if (entry.number == number) return entry.checksum;
    }
    return std::nullopt;
  }
  void each_after(std::int64_t number, const std::function<void(const StoredEntry&)>& take) const override {
    for (const auto& entry : memory_->entries) {
      if (entry.number > number) take(entry);
    }
  }
  void append(const StoredEntry& entry) override {
    memory_->entries.push_back(entry);
    memory_->head = StoredHead{entry.number, entry.checksum};
  }
  [[nodiscard]] bool hold(std::uint64_t run) override {
    const std::lock_guard lock{memory_->holding};
    return memory_->living.insert(run).second;
  }
  void release(std::uint64_t run) noexcept override {
    const std::lock_guard lock{memory_->holding};
    memory_->living.erase(run);
  }

 private:
  std::string name_ = "memory";
  std::shared_ptr<LedgerMemory> memory_;
};

}  // namespace surety::accounting
