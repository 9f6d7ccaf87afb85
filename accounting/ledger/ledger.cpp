#include <surety/accounting/ledger/ledger.h>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include <surety/accounting/events/format.h>
#include <surety/accounting/ledger/beyond_reservation.h>
#include <surety/accounting/ledger/ledger_contents.h>
#include <surety/accounting/ledger/sqlite_store.h>
#include <surety/accounting/ledger/store.h>
#include <surety/base/system/drawn_ahead.h>
#include <surety/base/text/safe_text.h>

namespace surety::accounting {

// ---------------------------------------------------------------------------------------------------------------- ledger

/// An open ledger. The store holds the truth; what is remembered between calls is what was verified, to read on from there.
class LedgerFile {
 public:
  LedgerFile(std::filesystem::path path, std::shared_ptr<LedgerStore> store) : path_{std::move(path)}, store_{std::move(store)} {
    store_->transact(LedgerStore::Access::read, [&] {
      store_->verify();
      read_on(*store_, known_);
    });
  }
  /// The ledger in a file.
  [[nodiscard]] static std::shared_ptr<LedgerFile> open(const std::filesystem::path& path) {
    auto store = std::make_shared<SqliteStore>(path);
    const auto version = store->version();
    auto file = std::make_shared<LedgerFile>(path, std::move(store));
    if (file->known_.version != version) {
      damaged(file->store_->name(), fmt::format("its version is {}, which its first entry is not of", version));
    }
    return file;
  }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] Adjacency adjacency() const { return *known_.adjacency; }
  [[nodiscard]] const UnitOfPrivacy& unit() const { return known_.unit; }

  /// What `use` makes of the present contents.
  template <class Use>
  auto read(Use use) {
    const Turn turn{*this};
    std::optional<decltype(use(std::as_const(known_)))> found;
    store_->transact(LedgerStore::Access::read, [&] {
      read_on(*store_, known_);
      found.emplace(use(std::as_const(known_)));
    });
    return std::move(*found);
  }

  /// Appends what `next` answers when it is shown the present contents; nothing when it throws.
  template <class Next>
  void append_after(Next next) {
    const Turn turn{*this};
    store_->transact(LedgerStore::Access::write, [&] {
      read_on(*store_, known_);
      store_->append(entry_after({known_.entries, known_.checksum}, next(std::as_const(known_))));
    });
  }

  /// Makes a new run, alive until `forget`.
  struct Reserved {
    RunId id;
    std::time_t time;
  };
  /// \param once what no other run's note may end with; empty where nothing is asked
  Reserved reserve(const Plan& plan, std::string_view once = {});
  void settle_own(RunId id, const std::optional<Event>& released, Stopping stopping);
  /// Settles a run whose reservation is gone.
  void settle_other(RunId id, const std::optional<Event>& released, Stopping stopping);
  /// \pre the run is alive by `reserve` of this object. Does nothing in a copy of the process.
  void forget(RunId id) noexcept {
    if (home_.is_here()) store_->release(id.value);
  }

 private:
  /// One call: in the process that opened the ledger, one thread at a time.
  class Turn {
   public:
    explicit Turn(LedgerFile& file) : lock_{(file.home_.require_here("this ledger object"), file.turns_)} {}

   private:
    std::lock_guard<std::mutex> lock_;
  };

  /// Where the store shows when it changed last, it shows the last reservation from now on: a settlement's time would tell how long a run took.
  void forget_time_of_settlement() noexcept;

  HomeProcess home_;
  std::filesystem::path path_;
  std::shared_ptr<LedgerStore> store_;
  std::mutex turns_;
  LedgerContents known_;
};

namespace {

/// Without pricing all again that is counted. False where only the filter can say, and refuse with a reason.
bool is_surely_admitted(const LedgerContents& contents, const Releases& asked) {
  auto& cost = contents.cost;
  try {
    if (!cost) cost.emplace(*contents.budget, *contents.counted);
    return cost->surely_admits(asked);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    return false;
  }
}

/// The checks of `reserve`.
void require_admissible(const LedgerContents& contents, const Plan& plan) {
  const auto adjacency = *contents.adjacency;
  if (plan.event.adjacency() != adjacency) {
    invalid(fmt::format("adjacency of the event is {}, must be the ledger's, {}", surety::name(plan.event.adjacency()),
                        surety::name(adjacency)));
  }
  if (plan.promise && plan.promise->adjacency != adjacency) {
    invalid(fmt::format("adjacency of the promise is {}, must be the ledger's, {}", surety::name(plan.promise->adjacency),
                        surety::name(adjacency)));
  }
  if (plan.unit != contents.unit) {
    invalid(fmt::format("unit of the plan is {}, must be the ledger's, {}: they differ in {}", describe(plan.unit), describe(contents.unit),
                        difference(plan.unit, contents.unit)));
  }
  const auto asked = Releases::of(plan.event);
  // Refuses a sum of counts that the ledger could not say again.
  contents.charged->require_room_for(asked);
  if (!contents.budget || is_surely_admitted(contents, asked)) return;

  const Filter filter{*contents.budget};
  const Releases& present = *contents.counted;
  Releases total = present;
  total.add(asked);
  if (filter.admits(total)) return;
  const auto& target = contents.budget->target;
  const double delta = filter.spent_delta(asked).upper;
  if (delta > 0 && filter.spent_delta(total).upper > target.delta.value()) {
    throw Error{ErrorCode::budget_exceeded,
                fmt::format("the budget epsilon = {} at delta = {} is exceeded in delta: {:.6g} is spent and '{}' asks {:.6g}",
                            target.epsilon, target.delta, filter.spent_delta(present).upper, describe(plan.event), delta)};
  }
  const auto& order = filter.budget().order;
  const auto epsilon = filter.spent_epsilon(total);
  std::string other_rule;
  if (epsilon)
    other_rule = fmt::format("; all epsilons together are {:.6g}, above {}", epsilon->upper, target.epsilon);
  else if (filter.spent_epsilon(present))
    other_rule = "; the sum of epsilons admits nothing that promises none";
  throw Error{ErrorCode::budget_exceeded,
              fmt::format("the budget epsilon = {} at delta = {} allows {}{} of at most {:.6g}: {:.6g} is spent and '{}' asks {:.6g}{}",
                          target.epsilon, target.delta, filter.unit(), order ? fmt::format(" of order {:.6g}", order->value()) : "",
                          filter.limit().lower, filter.spent(present).upper, describe(plan.event), filter.spent(asked).upper, other_rule)};
}

void require_budget_fits(const Budget& budget, Adjacency adjacency) {
  if (budget.target.adjacency != adjacency) {
    invalid(fmt::format("adjacency of the budget is {}, must be the ledger's, {}", surety::name(budget.target.adjacency),
                        surety::name(adjacency)));
  }
  static_cast<void>(Filter{budget});
}

/// The entry that settles a run, which the ledger must have.
std::string checked_settle_entry(const LedgerContents& contents, RunId id, const std::optional<Event>& released, Stopping stopping) {
  if (id.value < 1 || id.value > contents.runs.size()) {
    invalid(fmt::format("run is {}, must be one of the ledger's {} runs", id.value, contents.runs.size()));
  }
  const Run& run = contents.runs[id.value - 1];
  require_part(run, released);
  return settle_entry(id, run.created, released, stopping);
}

/// A mark as it ends a note.
std::string end_of_note(std::string_view mark) {
  constexpr std::size_t longest = 64;
  const auto is_plain = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == ' '; };
  if (mark.empty() || mark.size() > longest || !std::all_of(mark.begin(), mark.end(), is_plain)) {
    invalid(fmt::format("mark of a run is '{}', must be 1 to {} letters, digits and blanks", one_line(mark), longest));
  }
  return fmt::format("[{}]", mark);
}

/// No run has this end of its note. What it says of itself or how it ended does not matter.
void require_first(const LedgerContents& contents, std::string_view end) {
  const auto found = std::find_if(contents.runs.begin(), contents.runs.end(), [&](const Run& run) { return run.plan.note.ends_with(end); });
  if (found == contents.runs.end()) return;
  invalid(fmt::format("run {} of the ledger has the mark {}, which one run may have: it is {}", found->id.value, end,
                      found->settlement ? "settled" : "charged in full, and may have released"));
}

}  // namespace

// Proved: docs/proofs/ledger.md#ledger-charge
LedgerFile::Reserved LedgerFile::reserve(const Plan& plan, std::string_view once) {
  RunId id{0};
  std::time_t time = 0;
  try {
    append_after([&](const LedgerContents& contents) {
      if (!once.empty()) require_first(contents, once);
      require_admissible(contents, plan);
      const std::uint64_t next = contents.runs.size() + 1;
      // Alive before others can see it.
      if (!store_->hold(next)) {
        throw Error{ErrorCode::environment,
                    fmt::format("run {} of '{}' is running, though the ledger does not have it", next, one_line(path_.string()))};
      }
      id.value = next;
      time = present_time();
      return reserve_entry(plan, utc_text(time));
    });
  } catch (...) {
    // Where the failure came too late to undo the entry, it is that of a dead run and counts in full.
    if (id.value != 0) store_->release(id.value);
    throw;
  }
  return {id, time};
}

void LedgerFile::forget_time_of_settlement() noexcept {
  try {
    const Turn turn{*this};
    store_->transact(LedgerStore::Access::write, [&] {  // nobody else writes meanwhile
      read_on(*store_, known_);
      if (const auto time = time_of_text(known_.last_time)) store_->show_change(*time, known_.entries);
    });
  } catch (const std::exception&) {  // The run is settled. A store that does not let us leaves its own time there.
  }
}

void LedgerFile::settle_own(RunId id, const std::optional<Event>& released, Stopping stopping) {
  append_after([&](const LedgerContents& contents) { return checked_settle_entry(contents, id, released, stopping); });
  forget_time_of_settlement();
}

void LedgerFile::settle_other(RunId id, const std::optional<Event>& released, Stopping stopping) {
  struct Holder {
    LedgerStore& store;
    std::uint64_t held = 0;
    ~Holder() {
      if (held != 0) store.release(held);
    }
  } holder{*store_};
  append_after([&](const LedgerContents& contents) {
    auto entry = checked_settle_entry(contents, id, released, stopping);
    if (!store_->hold(id.value)) {
      invalid(fmt::format("run {} is still running, must be settled by its own reservation: it may release more", id.value));
    }
    holder.held = id.value;
    return entry;
  });
  forget_time_of_settlement();
}

Reservation::Reservation(std::shared_ptr<LedgerFile> file, RunId id, std::time_t time, Plan plan)
    : file_{std::move(file)},
      state_{State::open},
      id_{id},
      time_{time},
      plan_{std::move(plan)},
      rest_{Releases::of(plan_.event)},
      released_{plan_.event.adjacency()} {}

Reservation::Reservation(Reservation&& other) noexcept
    : home_{other.home_},
      file_{std::move(other.file_)},
      state_{std::exchange(other.state_, State::moved_from)},
      id_{other.id_},
      time_{other.time_},
      plan_{std::move(other.plan_)},
      rest_{std::move(other.rest_)},
      released_{std::move(other.released_)},
      ask_{std::move(other.ask_)} {}

Reservation& Reservation::operator=(Reservation&& other) noexcept {
  if (this == &other) return *this;
  end();
  home_ = other.home_;
  file_ = std::move(other.file_);
  state_ = std::exchange(other.state_, State::moved_from);
  id_ = other.id_;
  time_ = other.time_;
  plan_ = std::move(other.plan_);
  rest_ = std::move(other.rest_);
  released_ = std::move(other.released_);
  ask_ = std::move(other.ask_);
  return *this;
}

Reservation::~Reservation() { end(); }

void Reservation::end() noexcept {
  if (state_ == State::open || state_ == State::settling) file_->forget(id_);
}

void Reservation::require_usable() const {
  home_.require_here("this reservation");
  if (state_ == State::moved_from) invalid("a reservation was moved from, must be used where it was moved to");
}

void Reservation::spend(const Event& event) {
  require_usable();
  if (state_ != State::open) {
    invalid(fmt::format("run {} releases '{}' after it was settled, must release before", id_.value, describe(event)));
  }
  if (ask_) ask_();
  const auto asked = Releases::of(event);
  if (!asked.is_part_of(rest_)) {
    throw BeyondReservation{
        fmt::format("run {} releases '{}' beyond what is left of its plan '{}'", id_.value, describe(event), describe(plan_.event))};
  }
  released_.add(asked);
  rest_.subtract(asked);
}

void Reservation::settle(Stopping stopping) {
  require_usable();
  if (state_ == State::settled) invalid(fmt::format("run {} is settled already, a run settles once", id_.value));
  // A failure may come after the entry is durable, so from here on nothing more may be released, whatever happens.
  state_ = State::settling;
  file_->settle_own(id_, released_.event(), stopping);
  file_->forget(id_);
  state_ = State::settled;
}

// Proved so far.
Ledger Ledger::open(const std::filesystem::path& path) { return Ledger{LedgerFile::open(path), false}; }

Ledger Ledger::open(std::shared_ptr<LedgerStore> store) {
  const std::string name = store->name();
  return Ledger{std::make_shared<LedgerFile>(name, std::move(store)), false};
}

Ledger Ledger::create(const std::filesystem::path& path, Adjacency adjacency, std::optional<Budget> budget, const UnitOfPrivacy& unit) {
  if (budget) require_budget_fits(*budget, adjacency);
  const std::string name = full_path(path);
  if (exists(name) || !SqliteStore::publish(name, version_of(unit), first_entries(adjacency, unit, budget)))
    invalid(fmt::format("'{}' exists, a new ledger replaces nothing", one_line(name)));
  return Ledger{LedgerFile::open(path), true};
}

Ledger Ledger::create(std::shared_ptr<LedgerStore> store, Adjacency adjacency, std::optional<Budget> budget, const UnitOfPrivacy& unit) {
  if (budget) require_budget_fits(*budget, adjacency);
  store->transact(LedgerStore::Access::write, [&] {
    if (store->head()) invalid(fmt::format("'{}' holds a ledger, a new one replaces nothing", one_line(store->name())));
    for (const auto& entry : first_entries(adjacency, unit, budget)) store->append(entry);
  });
  const std::string name = store->name();
  return Ledger{std::make_shared<LedgerFile>(name, std::move(store)), true};
}

Ledger Ledger::open_or_create(const std::filesystem::path& path, Adjacency adjacency, const UnitOfPrivacy& unit) {
  const std::string name = full_path(path);
  // Where another process is quicker, its ledger is the one to open.
  const bool is_new = !exists(name) && SqliteStore::publish(name, version_of(unit), first_entries(adjacency, unit, std::nullopt));
  Ledger ledger{LedgerFile::open(path), is_new};
  if (ledger.adjacency() != adjacency) {
    invalid(fmt::format("adjacency is {}, must be the ledger's, {} (in '{}')", surety::name(adjacency), surety::name(ledger.adjacency()),
                        one_line(name)));
  }
  if (ledger.unit() != unit) {
    invalid(fmt::format("unit is {}, must be the ledger's, {}: they differ in {} (in '{}')", describe(unit), describe(ledger.unit()),
                        difference(unit, ledger.unit()), one_line(name)));
  }
  return ledger;
}

const std::filesystem::path& Ledger::path() const { return file_->path(); }

Adjacency Ledger::adjacency() const { return file_->adjacency(); }

const UnitOfPrivacy& Ledger::unit() const { return file_->unit(); }

void Ledger::set_budget(const Budget& budget) {
  require_budget_fits(budget, adjacency());
  file_->append_after([&](const LedgerContents& contents) {
    if (contents.budget) invalid("the ledger has a budget already, a budget is set once");
    if (!contents.runs.empty()) {
      invalid(fmt::format("the ledger has {} runs, a budget is set before the first", contents.runs.size()));
    }
    return budget_entry(budget);
  });
}

std::optional<Budget> Ledger::budget() const {
  return file_->read([](const LedgerContents& contents) { return contents.budget; });
}

std::optional<Balance> Ledger::balance() const {
  return file_->read([](const LedgerContents& contents) -> std::optional<Balance> {
    if (!contents.budget) return std::nullopt;
    const Filter filter{*contents.budget};
    const Releases& counted = *contents.counted;
    return Balance{.budget = *contents.budget,
                   .unit = filter.unit(),
                   .spent = filter.spent(counted),
                   .limit = filter.limit(),
                   .spent_epsilon = filter.spent_epsilon(counted),
                   .odometer = filter.odometer(counted)};
  });
}

std::optional<std::uint64_t> Ledger::room_for(const Event& event, std::uint64_t most) const {
  return file_->read([&](const LedgerContents& contents) -> std::optional<std::uint64_t> {
    if (!contents.budget) return std::nullopt;
    return Filter{*contents.budget}.room_for(*contents.counted, event, most);
  });
}

void Ledger::check(const Plan& plan) const {
  file_->read([&plan](const LedgerContents& contents) {
    require_admissible(contents, plan);
    return true;
  });
}

Reservation Ledger::reserve(Plan plan) {
  const auto [id, time] = file_->reserve(plan);
  DrawnAhead::forget_all();
  return Reservation{file_, id, time, std::move(plan)};
}

Reservation Ledger::reserve_once(Plan plan, std::string_view mark) {
  const auto end = end_of_note(mark);
  plan.note += plan.note.empty() ? end : " " + end;
  const auto [id, time] = file_->reserve(plan, end);
  DrawnAhead::forget_all();
  return Reservation{file_, id, time, std::move(plan)};
}

void Ledger::settle(RunId run, const std::optional<Event>& released, Stopping stopping) { file_->settle_other(run, released, stopping); }

std::vector<Run> Ledger::runs() const {
  return file_->read([](const LedgerContents& contents) { return contents.runs; });
}

std::vector<LedgerEntry> Ledger::entries() const {
  std::vector<LedgerEntry> entries;
  for (const auto& run : runs()) {
    const auto charged = run.charged();
    if (!charged) continue;
    for (const auto& [leaf, count] : Releases::of(*charged).entries()) {
      entries.push_back({.run = run.id, .count = count, .event = leaf, .note = run.plan.note});
    }
  }
  return entries;
}

std::optional<Event> Ledger::event() const {
  return file_->read([](const LedgerContents& contents) { return contents.charged->event(); });
}

}  // namespace surety::accounting
