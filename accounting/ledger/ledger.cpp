#include <surety/accounting/ledger/ledger.h>

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <mutex>
#include <utility>

#include <surety/accounting/events/format.h>
#include <surety/accounting/ledger/database.h>
#include <surety/accounting/ledger/ledger_contents.h>
#include <surety/accounting/system/new_file.h>
#include <surety/accounting/system/place.h>
#include <surety/accounting/ledger/run_locks.h>
#include <surety/accounting/numbers/safe_text.h>

namespace surety::accounting {

namespace {

[[noreturn]] void refuse(const std::string& reason) { throw Error{ErrorCode::invalid_argument, reason}; }

// ----------------------------------------------------------------------------------------------------------------- files

/// Whether there is anything at `path`, be it a link that leads nowhere.
bool exists(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

/// An absolute path, since SQLite gives ":memory:" and the like a meaning of their own.
std::string full_path(const std::filesystem::path& path) {
  if (path.empty()) refuse("the path of the ledger is empty, must name a file");
  return std::filesystem::absolute(path).string();
}

/// Puts `image` at `path`, complete and durable, unless something is there already: then false, and nothing has changed.
bool publish(const std::string& path, std::string_view image) {
  const Place place{path};
  for (const auto suffix : database_side_files) {
    if (place.name().ends_with(suffix)) {
      refuse(fmt::format("the ledger is '{}', must not end in {}: SQLite deletes what has such a name", one_line(path), suffix));
    }
  }
  NewFile file{place, image.size()};
  file.write(image);
  // SQLite would take a journal that an earlier database left under this name for the new ledger's, and play it back into it.
  // A journal that belongs to a ledger which another process has just put here is not left over: that file is looked for last.
  for (const auto suffix : {"-journal", "-wal"}) {
    if (exists(path + suffix) && !exists(path)) {
      throw Error{ErrorCode::environment,
                  fmt::format("cannot create '{0}': '{0}{1}' is left over from another database, move it away", one_line(path), suffix)};
    }
  }
  return file.put_where_nothing_is();
}

}  // namespace

// ---------------------------------------------------------------------------------------------------------------- ledger

std::string_view name(Stopping stopping) {
  switch (stopping) {
    case Stopping::data_independent: return "data-independent";
    case Stopping::adaptive: return "adaptive";
  }
  throw Error{ErrorCode::internal, "a way of stopping without a name"};
}

Stopping parse_stopping(std::string_view text) {
  for (const auto stopping : {Stopping::data_independent, Stopping::adaptive}) {
    if (text == name(stopping)) return stopping;
  }
  throw Error{ErrorCode::invalid_argument, fmt::format("stopping is '{}', must be data-independent or adaptive", text)};
}

std::optional<Event> Run::charged() const {
  return settlement && settlement->stopping == Stopping::data_independent ? settlement->released : plan.event;
}

std::optional<Event> Run::counted() const { return settlement ? settlement->released : plan.event; }

/// An open ledger file. The file holds the truth; what is remembered between calls is what was verified, to read on from there.
class LedgerFile {
 public:
  explicit LedgerFile(std::filesystem::path path)
      : path_{std::move(path)}, locks_{usable(path_)}, connection_{full_path(path_), SQLITE_OPEN_READWRITE} {
    // Hardened against a file made to confuse; see SQLite's "Defense against the dark arts". Nothing is done to another program's file.
    for (const int option : {SQLITE_DBCONFIG_DEFENSIVE, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE})
      sqlite3_db_config(connection_.handle(), option, 1, nullptr);
    connection_.run("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON");
    // EXTRA also syncs the folder after the journal is gone, which is the moment of commitment.
    connection_.run("PRAGMA synchronous = EXTRA");
    const std::int64_t version = version_of_a_ledger();
    // A rollback journal, not a write-ahead log: between transactions the file alone holds everything, so whoever copies or
    // moves it loses no charge.
    if (!connection_.writes_to_the_file()) connection_.end_write_ahead_log();

    const Transaction transaction{connection_, Transaction::Kind::read};
    Statement check{connection_, "PRAGMA integrity_check(1)"};
    if (!check.next() || check.text(0) != "ok") damaged(connection_.name(), check.text(0));
    read_on(connection_, known_);
    if (known_.says_unit != (version != ledger_version_without_unit)) {
      damaged(connection_.name(), fmt::format("its version is {}, which its first entry is not of", version));
    }
  }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] Adjacency adjacency() const { return *known_.adjacency; }
  [[nodiscard]] const UnitOfPrivacy& unit() const { return known_.unit; }

  /// What `use` makes of the present contents.
  template <class Use>
  auto read(Use use) {
    const Turn turn{*this};
    const Transaction transaction{connection_, Transaction::Kind::read};
    read_on(connection_, known_);
    return use(std::as_const(known_));
  }

  /// Appends what `next` answers when it is shown the present contents; nothing when it throws.
  template <class Next>
  void append_after(Next next) {
    const Turn turn{*this};
    if (try_append_after(next)) return;
    connection_.end_write_ahead_log();
    if (!try_append_after(next)) throw Error{ErrorCode::internal, "a write-ahead log has come back"};
  }

  /// Makes a new run, alive until `forget`.
  RunId reserve(const Plan& plan);
  void settle_own(RunId id, const std::optional<Event>& released, Stopping stopping);
  /// Settles a run whose reservation is gone.
  void settle_other(RunId id, const std::optional<Event>& released, Stopping stopping);
  /// \pre the run is alive by `reserve` of this object. Does nothing in a copy of the process.
  void forget(RunId id) noexcept {
    if (home_.is_here()) locks_.release(id.value);
  }

 private:
  /// One call: in the process that opened the file, one thread at a time.
  class Turn {
   public:
    explicit Turn(LedgerFile& file) : lock_{(file.home_.require_here("this ledger object"), file.turns_)} {}

   private:
    std::lock_guard<std::mutex> lock_;
  };

  /// False when what would be written does not go to the file; nothing was done then.
  template <class Next>
  bool try_append_after(Next& next) {
    const Transaction transaction{connection_, Transaction::Kind::write};
    if (!connection_.writes_to_the_file()) return false;
    read_on(connection_, known_);
    append_entry(connection_, known_, next(std::as_const(known_)));
    transaction.commit();
    return true;
  }

  /// \throws unless there is a file at `path`. Only its name is looked at: opening and closing the file here would drop the
  /// POSIX locks that another connection of this process holds on it.
  static std::string usable(const std::filesystem::path& path) {
    std::string name = full_path(path);
    struct stat status {};
    if (::stat(name.c_str(), &status) != 0) refused_by_machine(name, "open the ledger", errno);
    if (!S_ISREG(status.st_mode)) damaged(name, "it is not a file");
    if (status.st_size == 0) damaged(name, "it is empty");
    return name;
  }

  /// \throws Error{damaged_ledger} for what is no ledger.
  [[nodiscard]] std::int64_t version_of_a_ledger() const {
    const Transaction transaction{connection_, Transaction::Kind::read};
    if (integer_of(connection_, "PRAGMA application_id") != ledger_application_id)
      damaged(connection_.name(), "it was written by another program");
    const auto version = integer_of(connection_, "PRAGMA user_version");
    if (version != ledger_version && version != ledger_version_without_unit) {
      damaged(connection_.name(), fmt::format("its version is {}, must be {} or {}", version, ledger_version_without_unit, ledger_version));
    }
    return version;
  }

  HomeProcess home_;
  std::filesystem::path path_;
  RunLocks locks_;  // before the connection: its descriptor may be closed only afterwards
  Connection connection_;
  std::mutex turns_;
  LedgerContents known_;
};

namespace {

/// The checks of `reserve`.
void require_admissible(const LedgerContents& contents, const Plan& plan) {
  const auto adjacency = *contents.adjacency;
  if (plan.event.adjacency() != adjacency) {
    refuse(fmt::format("adjacency of the event is {}, must be the ledger's, {}", surety::name(plan.event.adjacency()),
                       surety::name(adjacency)));
  }
  if (plan.promise && plan.promise->adjacency != adjacency) {
    refuse(fmt::format("adjacency of the promise is {}, must be the ledger's, {}", surety::name(plan.promise->adjacency),
                       surety::name(adjacency)));
  }
  if (plan.unit != contents.unit) {
    refuse(fmt::format("unit of the plan is {}, must be the ledger's, {}", describe(plan.unit), describe(contents.unit)));
  }
  const auto asked = Releases::of(plan.event);
  // Refuses a sum of counts that the ledger could not say again.
  Releases(*contents.charged).add(asked);
  if (!contents.budget) return;

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
  throw Error{ErrorCode::budget_exceeded,
              fmt::format("the budget epsilon = {} at delta = {} allows {} of at most {:.6g}: {:.6g} is spent and '{}' asks {:.6g}",
                          target.epsilon, target.delta, filter.unit(), filter.limit().lower, filter.spent(present).upper,
                          describe(plan.event), filter.spent(asked).upper)};
}

void require_budget_fits(const Budget& budget, Adjacency adjacency) {
  if (budget.target.adjacency != adjacency) {
    refuse(fmt::format("adjacency of the budget is {}, must be the ledger's, {}", surety::name(budget.target.adjacency),
                       surety::name(adjacency)));
  }
  static_cast<void>(Filter{budget});
}

/// The entry that settles a run, which the ledger must have.
std::string checked_settle_entry(const LedgerContents& contents, RunId id, const std::optional<Event>& released, Stopping stopping) {
  if (id.value < 1 || id.value > contents.runs.size()) {
    refuse(fmt::format("run is {}, must be one of the ledger's {} runs", id.value, contents.runs.size()));
  }
  require_part(contents.runs[id.value - 1], released);
  return settle_entry(id, released, stopping);
}

}  // namespace

RunId LedgerFile::reserve(const Plan& plan) {
  RunId id{0};
  try {
    append_after([&](const LedgerContents& contents) {
      require_admissible(contents, plan);
      const std::uint64_t next = contents.runs.size() + 1;
      // Alive before others can see it.
      if (!locks_.hold(next)) refuse(fmt::format("run {} of '{}' is running, though the ledger does not have it", next, path_.string()));
      id.value = next;
      return reserve_entry(plan);
    });
  } catch (...) {
    // Where the failure came too late to undo the entry, it is that of a dead run and counts in full.
    if (id.value != 0) locks_.release(id.value);
    throw;
  }
  return id;
}

void LedgerFile::settle_own(RunId id, const std::optional<Event>& released, Stopping stopping) {
  append_after([&](const LedgerContents& contents) { return checked_settle_entry(contents, id, released, stopping); });
}

void LedgerFile::settle_other(RunId id, const std::optional<Event>& released, Stopping stopping) {
  struct Holder {
    RunLocks& locks;
    std::uint64_t held = 0;
    ~Holder() {
      if (held != 0) locks.release(held);
    }
  } holder{locks_};
  append_after([&](const LedgerContents& contents) {
    auto entry = checked_settle_entry(contents, id, released, stopping);
    if (!locks_.hold(id.value)) {
      refuse(fmt::format("run {} is still running, must be settled by its own reservation: it may release more", id.value));
    }
    holder.held = id.value;
    return entry;
  });
}

Reservation::Reservation(std::shared_ptr<LedgerFile> file, RunId id, Plan plan)
    : file_{std::move(file)},
      state_{State::open},
      id_{id},
      plan_{std::move(plan)},
      rest_{Releases::of(plan_.event)},
      released_{plan_.event.adjacency()} {}

Reservation::Reservation(Reservation&& other) noexcept
    : home_{other.home_},
      file_{std::move(other.file_)},
      state_{std::exchange(other.state_, State::moved_from)},
      id_{other.id_},
      plan_{std::move(other.plan_)},
      rest_{std::move(other.rest_)},
      released_{std::move(other.released_)} {}

Reservation& Reservation::operator=(Reservation&& other) noexcept {
  if (this == &other) return *this;
  end();
  home_ = other.home_;
  file_ = std::move(other.file_);
  state_ = std::exchange(other.state_, State::moved_from);
  id_ = other.id_;
  plan_ = std::move(other.plan_);
  rest_ = std::move(other.rest_);
  released_ = std::move(other.released_);
  return *this;
}

Reservation::~Reservation() { end(); }

void Reservation::end() noexcept {
  if (state_ == State::open || state_ == State::settling) file_->forget(id_);
}

void Reservation::require_usable() const {
  home_.require_here("this reservation");
  if (state_ == State::moved_from) refuse("a reservation was moved from, must be used where it was moved to");
}

void Reservation::spend(const Event& event) {
  require_usable();
  if (state_ != State::open) {
    refuse(fmt::format("run {} releases '{}' after it was settled, must release before", id_.value, describe(event)));
  }
  const auto asked = Releases::of(event);
  if (!asked.is_part_of(rest_)) {
    throw Error{ErrorCode::internal, fmt::format("run {} releases '{}' beyond what is left of its plan '{}'", id_.value, describe(event),
                                                 describe(plan_.event))};
  }
  released_.add(asked);
  rest_.subtract(asked);
}

void Reservation::settle(Stopping stopping) {
  require_usable();
  if (state_ == State::settled) refuse(fmt::format("run {} is settled already, a run settles once", id_.value));
  // A failure may come after the entry is durable, so from here on nothing more may be released, whatever happens.
  state_ = State::settling;
  file_->settle_own(id_, released_.event(), stopping);
  file_->forget(id_);
  state_ = State::settled;
}

Ledger Ledger::open(const std::filesystem::path& path) { return Ledger{std::make_shared<LedgerFile>(path), false}; }

Ledger Ledger::create(const std::filesystem::path& path, Adjacency adjacency, std::optional<Budget> budget, const UnitOfPrivacy& unit) {
  if (budget) require_budget_fits(*budget, adjacency);
  const std::string name = full_path(path);
  if (exists(name) || !publish(name, first_image(adjacency, unit, budget)))
    refuse(fmt::format("'{}' exists, a new ledger replaces nothing", one_line(name)));
  return Ledger{std::make_shared<LedgerFile>(path), true};
}

Ledger Ledger::open_or_create(const std::filesystem::path& path, Adjacency adjacency, const UnitOfPrivacy& unit) {
  const std::string name = full_path(path);
  // Where another process is quicker, its ledger is the one to open.
  const bool is_new = !exists(name) && publish(name, first_image(adjacency, unit, std::nullopt));
  Ledger ledger{std::make_shared<LedgerFile>(path), is_new};
  if (ledger.adjacency() != adjacency) {
    refuse(fmt::format("adjacency is {}, must be the ledger's, {} (in '{}')", surety::name(adjacency), surety::name(ledger.adjacency()),
                       one_line(name)));
  }
  if (ledger.unit() != unit) {
    refuse(fmt::format("unit is {}, must be the ledger's, {} (in '{}')", describe(unit), describe(ledger.unit()), one_line(name)));
  }
  return ledger;
}

const std::filesystem::path& Ledger::path() const { return file_->path(); }

Adjacency Ledger::adjacency() const { return file_->adjacency(); }

const UnitOfPrivacy& Ledger::unit() const { return file_->unit(); }

void Ledger::set_budget(const Budget& budget) {
  require_budget_fits(budget, adjacency());
  file_->append_after([&](const LedgerContents& contents) {
    if (contents.budget) refuse("the ledger has a budget already, a budget is set once");
    if (!contents.runs.empty()) {
      refuse(fmt::format("the ledger has {} runs, a budget is set before the first", contents.runs.size()));
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
    return Balance{.budget = *contents.budget, .unit = filter.unit(), .spent = filter.spent(*contents.counted), .limit = filter.limit()};
  });
}

void Ledger::check(const Plan& plan) const {
  file_->read([&plan](const LedgerContents& contents) { require_admissible(contents, plan); });
}

Reservation Ledger::reserve(Plan plan) {
  const RunId id = file_->reserve(plan);
  return Reservation{file_, id, std::move(plan)};
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
