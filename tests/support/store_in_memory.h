// A ledger's store that is no file and knows no SQL: what the interface asks for, and nothing else. Several stores may share one memory, as
// several handles share a file.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <surety/accounting/ledger/store.h>

namespace surety::accounting::testing {

struct LedgerMemory {
  std::mutex writing;
  std::vector<StoredEntry> entries;
  std::optional<StoredHead> head;
  std::set<std::uint64_t> living;
};

class StoreInMemory final : public LedgerStore {
 public:
  explicit StoreInMemory(std::shared_ptr<LedgerMemory> memory) : memory_{std::move(memory)} {}

  [[nodiscard]] const std::string& name() const override { return name_; }
  void transact(Access /*access*/, const std::function<void()>& work) override {
    const std::lock_guard lock{memory_->writing};
    const auto entries = memory_->entries;
    const auto head = memory_->head;
    try {
      work();
    } catch (...) {
      memory_->entries = entries;
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
    const std::lock_guard lock{holding_};
    return memory_->living.insert(run).second;
  }
  void release(std::uint64_t run) noexcept override {
    const std::lock_guard lock{holding_};
    memory_->living.erase(run);
  }

 private:
  std::string name_ = "memory";
  std::shared_ptr<LedgerMemory> memory_;
  inline static std::mutex holding_;
};

}  // namespace surety::accounting::testing
