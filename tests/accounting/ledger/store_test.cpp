// The ledger over its stores: an SQLite file, and a store in memory that shows that the interface suffices.
#include <surety/accounting/ledger/store.h>

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <support/refusal.h>
#include <support/temporary_folder.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/accounting/ledger/ledger_contents.h>
#include <surety/accounting/ledger/memory_store.h>

namespace surety::accounting::store_test {
namespace {

using reference::refusal_of;

constexpr auto adjacency = Adjacency::replace_one;
const Event leaf = gaussian(NoiseMultiplier{40}, adjacency);
Event times(std::uint64_t count) { return repeat(Count{count}, leaf); }
std::uint64_t releases_in(const std::optional<Event>& event) { return event ? Releases::of(*event).count(leaf) : 0; }

/// One place for a ledger: makes it, and opens it again by a handle of its own.
struct Place {
  std::function<Ledger(std::optional<Budget>)> create;
  std::function<Ledger()> open;
};

Place in_memory() {
  auto memory = std::make_shared<LedgerMemory>();
  return {[memory](std::optional<Budget> budget) { return Ledger::create(std::make_shared<MemoryStore>(memory), adjacency, budget); },
          [memory] { return Ledger::open(std::make_shared<MemoryStore>(memory)); }};
}

class LedgerStores : public ::testing::Test {
 protected:
  Place in_a_file() {
    const auto path = folder_ / (std::to_string(files_++) + ".db");
    return {[path](std::optional<Budget> budget) { return Ledger::create(path, adjacency, budget); },
            [path] { return Ledger::open(path); }};
  }
  std::vector<Place> places() { return {in_a_file(), in_memory()}; }

 private:
  TemporaryFolder folder_;
  int files_ = 0;
};

TEST_F(LedgerStores, ARunIsChargedSettledAndSeenByOtherHandles) {
  for (const auto& place : places()) {
    auto ledger = place.create(std::nullopt);
    auto other = place.open();
    auto run = ledger.reserve({.event = times(3)});
    EXPECT_EQ(releases_in(other.event()), 3U);
    run.spend(times(2));
    EXPECT_EQ(refusal_of([&] { return other.settle(run.id(), std::nullopt, Stopping::data_independent), 0; }).code,
              ErrorCode::invalid_argument);
    run.settle(Stopping::data_independent);
    EXPECT_EQ(releases_in(other.event()), 2U);
    EXPECT_EQ(other.runs().size(), 1U);
  }
}

TEST_F(LedgerStores, ABudgetIsKept) {
  const Budget budget{.target = {.epsilon = Epsilon{1}, .delta = Delta{1e-6}, .adjacency = adjacency}, .filter = FilterKind::gaussian};
  for (const auto& place : places()) {
    auto ledger = place.create(budget);
    const auto refusal = refusal_of([&] { return ledger.reserve({.event = gaussian(NoiseMultiplier{0.5}, adjacency)}); });
    EXPECT_EQ(refusal.code, ErrorCode::budget_exceeded) << refusal;
    EXPECT_TRUE(place.open().runs().empty());
    EXPECT_NO_THROW(static_cast<void>(ledger.reserve({.event = times(1)})));
    EXPECT_EQ(place.open().runs().size(), 1U);
    EXPECT_EQ(refusal_of([&] { return place.create(budget); }).code, ErrorCode::invalid_argument);
  }
}

TEST_F(LedgerStores, TheOrderOfABudgetIsWrittenDown) {
  const Budget budget{.target = {.epsilon = Epsilon{1}, .delta = Delta{1e-6}, .adjacency = adjacency}};
  for (const auto& place : places()) {
    const auto made = place.create(budget).budget();
    ASSERT_TRUE(made && made->order);
    const auto opened = place.open();
    EXPECT_EQ(opened.budget()->filter, FilterKind::renyi);
    EXPECT_EQ(opened.budget()->order, made->order);
    EXPECT_EQ(opened.balance()->unit, "divergence");
    EXPECT_EQ(opened.balance()->spent_epsilon, Enclosure(0, 0));
  }
  const auto memory = std::make_shared<LedgerMemory>();
  auto ledger = Ledger::create(std::make_shared<MemoryStore>(memory), adjacency);
  EXPECT_FALSE(ledger.room_for(leaf, 9));
  auto planned = budget;
  planned.order = RenyiOrder{17.5};
  ledger.set_budget(planned);
  EXPECT_EQ(Ledger::open(std::make_shared<MemoryStore>(memory)).budget()->order, RenyiOrder{17.5});
  EXPECT_EQ(ledger.room_for(leaf, 9), 9U);
}

// A budget entry of a form that no version writes, with a checksum that is right.
TEST(MemoryStore, ABudgetOfAnotherFormIsRefusedByName) {
  const std::string begin = R"({"budget": {"time": "", "epsilon": 1, "delta": 1e-6, "filter": )";
  for (const auto& [end, reason] : std::vector<std::pair<std::string, std::string>>{{R"("renyi", "order": 22.5}})", ""},
                                                                                    {R"("renyi"}})", "an order goes with"},
                                                                                    {R"("zcdp", "order": 22.5}})", "an order goes with"},
                                                                                    {R"("renyi", "order": 1}})", "order is 1"},
                                                                                    {R"("renyi", "order": 2}})", "larger"},
                                                                                    {R"("renyi", "order": "22"}})", "must be a number"},
                                                                                    {R"("renyi", "order": 22.5, "share": 1}})", "'share'"},
                                                                                    {R"("tangent", "order": 22.5}})", "'tangent'"}}) {
    auto memory = std::make_shared<LedgerMemory>();
    static_cast<void>(Ledger::create(std::make_shared<MemoryStore>(memory), adjacency));
    const auto entry = entry_after(*memory->head, begin + end);
    memory->entries.push_back(entry);
    memory->head = StoredHead{entry.number, entry.checksum};
    const auto opened = refusal_of([&] { return Ledger::open(std::make_shared<MemoryStore>(memory)); });
    EXPECT_EQ(opened.refused, !reason.empty()) << end;
    if (!opened.refused) continue;
    EXPECT_EQ(opened.code, ErrorCode::damaged_ledger) << end;
    EXPECT_NE(opened.message.find(reason), std::string::npos) << opened.message;
  }
}

TEST(MemoryStore, OfWhatWasChangedIsDamaged) {
  const auto changed_by = [](const std::function<void(LedgerMemory&)>& change) {
    auto memory = std::make_shared<LedgerMemory>();
    auto ledger = Ledger::create(std::make_shared<MemoryStore>(memory), adjacency);
    static_cast<void>(ledger.reserve({.event = times(3)}));
    static_cast<void>(ledger.reserve({.event = times(4)}));
    change(*memory);
    const auto opened = refusal_of([&] { return Ledger::open(std::make_shared<MemoryStore>(memory)); });
    return std::pair{opened, refusal_of([&] { return ledger.runs(); })};
  };
  for (const auto& change : std::vector<std::function<void(LedgerMemory&)>>{
           [](LedgerMemory& memory) { memory.entries.pop_back(); },
           [](LedgerMemory& memory) { memory.head.reset(); },
           [](LedgerMemory& memory) { memory.entries.clear(); },
           [](LedgerMemory& memory) { memory.entries.erase(memory.entries.begin() + 2); },
       }) {
    const auto [opened, read_on] = changed_by(change);
    EXPECT_EQ(opened.code, ErrorCode::damaged_ledger) << opened;
    EXPECT_EQ(read_on.code, ErrorCode::damaged_ledger) << read_on;
  }
  const auto [opened, read_on] = changed_by([](LedgerMemory& memory) { memory.entries[1].content += ' '; });
  EXPECT_EQ(opened.code, ErrorCode::damaged_ledger) << opened;
  EXPECT_FALSE(read_on.refused) << "it was verified before, and the last entry is what it was";
}

// The model of ledger_model_test in short: random histories of two handles, over both stores alike.
TEST_F(LedgerStores, HoldInRandomHistoriesWhatAModelSays) {
  std::mt19937_64 random{20261122};
  for (int history = 0; history < 12; ++history) {
    for (const auto& place : places()) {
      struct Known {
        std::uint64_t planned;
        std::uint64_t spent = 0;
        bool is_settled = false;
        std::optional<Reservation> reservation;
      };
      std::vector<Known> model;
      std::array<Ledger, 2> handles{place.create(std::nullopt), place.open()};
      for (int step = 0; step < 25; ++step) {
        auto& handle = handles[random() % 2];
        const auto which = model.empty() ? 0 : random() % model.size();
        switch (random() % 5) {
          case 0: {
            const auto planned = 1 + random() % 4;
            model.push_back({.planned = planned, .reservation = handle.reserve({.event = times(planned)})});
            EXPECT_EQ(model.back().reservation->id().value, model.size());
            break;
          }
          case 1:
            if (model.empty() || !model[which].reservation) break;
            if (model[which].is_settled || model[which].spent == model[which].planned) {
              EXPECT_TRUE(refusal_of([&] { return model[which].reservation->spend(leaf), 0; }).refused);
            } else {
              model[which].reservation->spend(leaf);
              ++model[which].spent;
            }
            break;
          case 2:
            if (model.empty() || !model[which].reservation || model[which].is_settled) break;
            model[which].reservation->settle(Stopping::data_independent);
            model[which].is_settled = true;
            break;
          case 3:
            if (!model.empty()) model[which].reservation.reset();
            break;
          case 4: {
            if (model.empty()) break;
            auto& run = model[which];
            const auto released = run.spent == 0 ? std::nullopt : std::optional{times(run.spent)};
            const auto answer = refusal_of([&] { return handle.settle({which + 1}, released, Stopping::data_independent), 0; });
            EXPECT_EQ(answer.refused, run.is_settled || run.reservation.has_value()) << answer;
            if (!answer.refused) run.is_settled = true;
            break;
          }
        }
      }
      const auto runs = place.open().runs();
      ASSERT_EQ(runs.size(), model.size());
      for (std::size_t i = 0; i < runs.size(); ++i) {
        EXPECT_EQ(releases_in(runs[i].charged()), model[i].is_settled ? model[i].spent : model[i].planned) << "run " << i + 1;
      }
    }
  }
}

/// More kinds than are remembered, each met again after all the others.
TEST(LedgerContents, ReadEachOfManyEventsAsItWasWritten) {
  constexpr int kinds = 1500;
  LedgerContents contents;
  contents.take(open_entry(Adjacency::add_or_remove_one, {}));
  const auto plan = [](int kind) {
    return Plan{.event = repeat(Count{2}, gaussian(NoiseMultiplier{1.0 + kind}, Adjacency::add_or_remove_one)), .note = "one of many"};
  };
  for (int k = 0; k < 3 * kinds; ++k) contents.take(reserve_entry(plan(k % kinds), utc_text(0)));
  ASSERT_EQ(contents.runs.size(), std::size_t{3 * kinds});
  for (int k = 0; k < 3 * kinds; ++k) EXPECT_EQ(contents.runs[static_cast<std::size_t>(k)].plan.event, plan(k % kinds).event) << k;
  EXPECT_EQ(contents.charged->entries().size(), std::size_t{kinds});
}

}  // namespace
}  // namespace surety::accounting::store_test
