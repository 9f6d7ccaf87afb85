#include <surety/accounting/ledger.h>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include <surety/accounting/json.h>
#include <surety/accounting/new_file.h>
#include <surety/accounting/place.h>

namespace surety::accounting {

namespace {

// The file format. `application_id` ("Sure") and `user_version` stand at fixed places in the first page of the file.
//
//   entry  the log: number 1, 2, 3, ...; content, one JSON object whose only field says what happened; checksum
//   head   one row: the number of entries and the checksum of the last one, so that a lost end of the log is noticed
//
// An entry is one of
//   {"open": {"time", "adjacency"}}                                            the first, and only the first
//   {"budget": {"time", "epsilon", "delta", "filter"}}                         at most one, before any run
//   {"reserve": {"time", "event", "promise", "note", "not_private"}}           promise: null or {"epsilon", "delta"}
//   {"settle": {"time", "run", "released", "stopping"}}                        released: null or an event
constexpr std::int64_t application_id = 0x53757265;
constexpr std::int64_t format_version = 1;
constexpr int busy_timeout_ms = 10'000;

const char* const schema = R"(
  CREATE TABLE entry (number INTEGER PRIMARY KEY, content TEXT NOT NULL, checksum INTEGER NOT NULL) STRICT;
  CREATE TABLE head (id INTEGER PRIMARY KEY CHECK (id = 1), entries INTEGER NOT NULL, checksum INTEGER NOT NULL) STRICT;
)";

// ---------------------------------------------------------------------------------------------------------------- SQLite

[[noreturn]] void damaged(const std::string& path, const std::string& reason) {
  throw Error{ErrorCode::damaged_ledger, fmt::format("'{}' is not an intact ledger: {}", one_line(path), reason)};
}

[[noreturn]] void refused_by_machine(const std::string& path, const std::string& action, int error_number) {
  throw Error{ErrorCode::environment, fmt::format("cannot {} '{}': {}", action, one_line(path), std::strerror(error_number))};
}

/// One connection to a database; closed on destruction. Neither copied nor moved.
class Connection {
 public:
  Connection(std::string name, int flags) : name_{std::move(name)} {
    // Even a failed open leaves a handle, which holds the reason and has to be closed.
    const int code = sqlite3_open_v2(name_.c_str(), &handle_, flags | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_NOMUTEX, nullptr);
    if (code != SQLITE_OK) {
      const std::string reason = handle_ == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(handle_);
      sqlite3_close(handle_);
      raise(code, reason);
    }
    sqlite3_busy_timeout(handle_, busy_timeout_ms);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { sqlite3_close(handle_); }

  [[nodiscard]] sqlite3* handle() const { return handle_; }
  [[nodiscard]] const std::string& name() const { return name_; }

  void require(int code) const {
    if (code != SQLITE_OK) raise(code, sqlite3_errmsg(handle_));
  }
  void run(const char* sql) const { require(sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr)); }

  /// Our statements are fixed and fit our schema. What SQLite cannot make sense of is therefore the file's fault.
  [[noreturn]] void raise(int code, const std::string& reason) const {
    switch (code & 0xff) {
      case SQLITE_FULL:
      case SQLITE_IOERR:
      case SQLITE_CANTOPEN:
      case SQLITE_READONLY:
      case SQLITE_PERM:
      case SQLITE_NOMEM:
      case SQLITE_NOLFS:
      case SQLITE_PROTOCOL: throw Error{ErrorCode::environment, fmt::format("cannot use the ledger '{}': {}", one_line(name_), reason)};
      case SQLITE_BUSY:
      case SQLITE_LOCKED:
        throw Error{ErrorCode::environment,
                    fmt::format("cannot use the ledger '{}': another process has locked it for {} s", one_line(name_), busy_timeout_ms / 1000)};
      case SQLITE_MISUSE:
      case SQLITE_INTERNAL: throw Error{ErrorCode::internal, fmt::format("misuse of SQLite on '{}': {}", one_line(name_), reason)};
      default: damaged(name_, reason);
    }
  }

 private:
  std::string name_;
  sqlite3* handle_ = nullptr;
};

/// One prepared statement. Parameters are given once, in order; rows are read one after the other.
class Statement {
 public:
  Statement(const Connection& connection, std::string_view sql) : connection_{connection} {
    connection.require(sqlite3_prepare_v2(connection.handle(), sql.data(), static_cast<int>(sql.size()), &handle_, nullptr));
  }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement() { sqlite3_finalize(handle_); }

  Statement& bind(std::int64_t value) {
    connection_.require(sqlite3_bind_int64(handle_, ++bound_, value));
    return *this;
  }
  Statement& bind(const std::string& value) {
    connection_.require(sqlite3_bind_text64(handle_, ++bound_, value.data(), value.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
    return *this;
  }

  /// Moves to the next row; false after the last one.
  bool next() {
    const int code = sqlite3_step(handle_);
    if (code == SQLITE_ROW) return true;
    if (code != SQLITE_DONE) connection_.raise(code, sqlite3_errmsg(connection_.handle()));
    return false;
  }
  void run() {
    while (next()) {
    }
  }

  [[nodiscard]] std::int64_t integer(int column) const { return sqlite3_column_int64(handle_, column); }
  [[nodiscard]] std::string text(int column) const {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(handle_, column));
    return bytes == nullptr ? std::string{} : std::string{bytes, static_cast<std::size_t>(sqlite3_column_bytes(handle_, column))};
  }

 private:
  const Connection& connection_;
  sqlite3_stmt* handle_ = nullptr;
  int bound_ = 0;
};

std::int64_t integer_of(const Connection& connection, std::string_view sql) {
  Statement statement{connection, sql};
  if (!statement.next()) damaged(connection.name(), "a table is empty");
  return statement.integer(0);
}

/// A transaction that is undone unless it was committed.
class Transaction {
 public:
  enum class Kind { read, write };

  Transaction(const Connection& connection, Kind kind) : connection_{connection} {
    // A writer locks at once: what it reads is then still true when it writes.
    connection.run(kind == Kind::write ? "BEGIN IMMEDIATE" : "BEGIN");
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction() {
    // Some failures (a full disk) have rolled back already, and a second rollback would only report that.
    if (sqlite3_get_autocommit(connection_.handle()) == 0) sqlite3_exec(connection_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
  }
  void commit() const { connection_.run("COMMIT"); }

 private:
  const Connection& connection_;
};

// --------------------------------------------------------------------------------------------------------------- entries

/// Checksum of an entry over itself and, through `before`, all entries before it: 64-bit FNV-1a. A change of one byte is
/// always noticed, since every step is a bijection of the state; other accidents with probability 1 - 2^-64.
std::uint64_t checksum_after(std::uint64_t before, std::string_view content) {
  constexpr std::uint64_t prime = 0x100000001b3;
  std::uint64_t state = 0xcbf29ce484222325;
  const auto take = [&state](unsigned char byte) { state = (state ^ byte) * prime; };
  for (int shift = 0; shift < 64; shift += 8) take(static_cast<unsigned char>(before >> shift));
  for (const char c : content) take(static_cast<unsigned char>(c));
  return state;
}

std::string now() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))); }

std::string open_entry(Adjacency adjacency) {
  return nlohmann::json{{"open", {{"time", now()}, {"adjacency", surety::name(adjacency)}}}}.dump();
}

std::string budget_entry(const Budget& budget) {
  return nlohmann::json{{"budget",
                         {{"time", now()},
                          {"epsilon", budget.target.epsilon.value()},
                          {"delta", budget.target.delta.value()},
                          {"filter", name(budget.filter)}}}}
      .dump();
}

std::string reserve_entry(const Plan& plan) {
  nlohmann::json promise;
  if (plan.promise) promise = {{"epsilon", plan.promise->epsilon.value()}, {"delta", plan.promise->delta.value()}};
  const nlohmann::json entry{
      {"reserve",
       {{"time", now()}, {"event", to_json(plan.event)}, {"promise", promise}, {"note", plan.note}, {"not_private", plan.not_private}}}};
  // A note may be any bytes, and a run must not fail over one.
  return entry.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string settle_entry(RunId run, const std::optional<Event>& released, Stopping stopping) {
  nlohmann::json event;
  if (released) event = to_json(*released);
  return nlohmann::json{{"settle", {{"time", now()}, {"run", run.value}, {"released", event}, {"stopping", name(stopping)}}}}.dump();
}

/// What the entries amount to.
struct Contents {
  std::optional<Adjacency> adjacency;  // nothing only before the first entry was read
  std::optional<Budget> budget;
  std::vector<Run> runs;
  std::int64_t entries = 0;
  std::uint64_t checksum = 0;

  [[nodiscard]] Releases total(std::optional<Event> (Run::*cost)() const) const {
    Releases sum{*adjacency};
    for (const auto& run : runs) {
      if (const auto event = (run.*cost)()) sum.add(Releases::of(*event));
    }
    return sum;
  }
};

[[noreturn]] void refuse(const std::string& reason) { throw Error{ErrorCode::invalid_argument, reason}; }

void require(bool holds, const std::string& reason) {
  if (!holds) refuse(reason);
}

/// \throws Error{invalid_argument} unless a run with this plan can be settled so.
void require_part(const Run& run, const std::optional<Event>& released) {
  if (run.settlement) refuse(fmt::format("run {} is settled already, a run settles once", run.id.value));
  if (!released) return;
  if (released->adjacency() != run.plan.event.adjacency()) {
    refuse(fmt::format("adjacency of the released event is {}, must be the ledger's, {}", surety::name(released->adjacency()),
                       surety::name(run.plan.event.adjacency())));
  }
  if (!Releases::of(*released).is_part_of(Releases::of(run.plan.event))) {
    refuse(fmt::format("run {} released '{}', must be part of its plan '{}'", run.id.value, describe(*released), describe(run.plan.event)));
  }
}

/// Takes the next entry into account. \throws Error{invalid_argument} or a JSON exception when it makes no sense there.
void replay(Contents& contents, const std::string& text) {
  // An event is at most 3 Event::max_depth + 3 levels of JSON, within the two levels of its entry.
  const auto json = parse_strict_json(text, 3 * Event::max_depth + 5, "entry");
  require(json.is_object() && json.size() == 1, "not an object with one field");
  const auto& kind = json.begin().key();
  const auto& fields = json.begin().value();
  require(contents.adjacency.has_value() == (kind != "open"), "the ledger does not start with its adjacency, and only so");

  const auto event_of = [&](const nlohmann::json& written) {
    Event event = event_from_json(written.dump());
    require(event.adjacency() == *contents.adjacency, "an event has another adjacency than the ledger");
    return event;
  };
  const auto target_of = [&](const nlohmann::json& written) {
    return Target{.epsilon = Epsilon{written.at("epsilon").get<double>()},
                  .delta = Delta{written.at("delta").get<double>()},
                  .adjacency = *contents.adjacency};
  };
  const auto text_of = [&](const char* field) { return fields.at(field).get<std::string>(); };

  if (kind == "open") {
    require_fields(fields, {"time", "adjacency"}, kind);
    contents.adjacency = parse_adjacency(text_of("adjacency"));
  } else if (kind == "budget") {
    require_fields(fields, {"time", "epsilon", "delta", "filter"}, kind);
    require(!contents.budget && contents.runs.empty(), "a budget comes after another budget or after a run");
    contents.budget = Filter{Budget{.target = target_of(fields), .filter = parse_filter_kind(text_of("filter"))}}.budget();
  } else if (kind == "reserve") {
    require_fields(fields, {"time", "event", "promise", "note", "not_private"}, kind);
    Plan plan{.event = event_of(fields.at("event")), .note = text_of("note"), .not_private = fields.at("not_private").get<bool>()};
    if (const auto& promise = fields.at("promise"); !promise.is_null()) {
      require_fields(promise, {"epsilon", "delta"}, "promise");
      plan.promise = target_of(promise);
    }
    contents.runs.push_back(
        {.id = {contents.runs.size() + 1}, .created = text_of("time"), .plan = std::move(plan), .settlement = std::nullopt});
  } else if (kind == "settle") {
    require_fields(fields, {"time", "run", "released", "stopping"}, kind);
    const auto id = fields.at("run").get<std::uint64_t>();
    require(id >= 1 && id <= contents.runs.size(), "an unknown run is settled");
    Settlement settlement{.time = text_of("time"), .released = std::nullopt, .stopping = parse_stopping(text_of("stopping"))};
    if (!fields.at("released").is_null()) settlement.released = event_of(fields.at("released"));
    auto& run = contents.runs[id - 1];
    require_part(run, settlement.released);
    run.settlement = std::move(settlement);
  } else {
    refuse("an entry of unknown kind");
  }
}

/// Everything in the file, verified. \pre within a transaction, so that it is one state of the file.
Contents read(const Connection& connection) {
  Contents contents;
  Statement rows{connection, "SELECT number, content, checksum FROM entry ORDER BY number"};
  while (rows.next()) {
    const std::string content = rows.text(1);
    ++contents.entries;
    contents.checksum = checksum_after(contents.checksum, content);
    if (rows.integer(0) != contents.entries || std::bit_cast<std::uint64_t>(rows.integer(2)) != contents.checksum) {
      damaged(connection.name(), fmt::format("the checksum of entry {} is wrong", contents.entries));
    }
    try {
      replay(contents, content);
    } catch (const Error& error) {
      damaged(connection.name(), fmt::format("entry {}: {}", contents.entries, error.what()));
    } catch (const nlohmann::json::exception& error) {
      damaged(connection.name(), fmt::format("entry {}: {}", contents.entries, error.what()));
    }
  }
  Statement head{connection, "SELECT entries, checksum FROM head"};
  if (!head.next() || head.integer(0) != contents.entries || std::bit_cast<std::uint64_t>(head.integer(1)) != contents.checksum ||
      head.next() || !contents.adjacency) {
    damaged(connection.name(), fmt::format("entries are missing after entry {}", contents.entries));
  }
  return contents;
}

/// \pre within a writing transaction, with `contents` read in it.
void append(const Connection& connection, Contents& contents, const std::string& content) {
  contents.entries += 1;
  contents.checksum = checksum_after(contents.checksum, content);
  const auto checksum = std::bit_cast<std::int64_t>(contents.checksum);
  Statement{connection, "INSERT INTO entry (number, content, checksum) VALUES (?, ?, ?)"}
      .bind(contents.entries)
      .bind(content)
      .bind(checksum)
      .run();
  Statement{connection, "INSERT OR REPLACE INTO head (id, entries, checksum) VALUES (1, ?, ?)"}.bind(contents.entries).bind(checksum).run();
}

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

/// The bytes of a database file that holds a ledger without runs.
std::string first_image(Adjacency adjacency, const std::optional<Budget>& budget) {
  const Connection memory{":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE};
  memory.run(schema);
  memory.run(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", application_id, format_version).c_str());
  Contents contents;
  append(memory, contents, open_entry(adjacency));
  if (budget) append(memory, contents, budget_entry(*budget));
  sqlite3_int64 size = 0;
  const std::unique_ptr<unsigned char, decltype(&sqlite3_free)> bytes{sqlite3_serialize(memory.handle(), "main", &size, 0), sqlite3_free};
  if (!bytes) throw Error{ErrorCode::environment, "cannot make a ledger: out of memory"};
  return {reinterpret_cast<const char*>(bytes.get()), static_cast<std::size_t>(size)};
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

/// An open ledger file. The file alone holds the truth; nothing is remembered between calls but the connection.
class LedgerFile {
 public:
  explicit LedgerFile(std::filesystem::path path) : path_{std::move(path)}, connection_{usable(path_), SQLITE_OPEN_READWRITE} {
    // Hardened against a file made to confuse; see SQLite's "Defense against the dark arts".
    sqlite3_db_config(connection_.handle(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    connection_.run("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON");
    // A rollback journal, not a write-ahead log: between transactions the file alone holds everything, so whoever copies or
    // moves it loses no charge. EXTRA also syncs the folder after the journal is gone, which is the moment of commitment.
    connection_.run("PRAGMA synchronous = EXTRA");

    const Transaction transaction{connection_, Transaction::Kind::read};
    if (integer_of(connection_, "PRAGMA application_id") != application_id)
      damaged(connection_.name(), "it was written by another program");
    if (const auto version = integer_of(connection_, "PRAGMA user_version"); version != format_version) {
      damaged(connection_.name(), fmt::format("its version is {}, must be {}", version, format_version));
    }
    Statement check{connection_, "PRAGMA integrity_check(1)"};
    if (!check.next() || check.text(0) != "ok") damaged(connection_.name(), check.text(0));
    adjacency_ = *read(connection_).adjacency;
  }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] Adjacency adjacency() const { return adjacency_; }

  [[nodiscard]] Contents contents() const {
    const Transaction transaction{connection_, Transaction::Kind::read};
    return read(connection_);
  }

  /// Appends what `next` answers when it is shown the present contents; nothing when it throws.
  template <class Next>
  void append_after(Next next) {
    const Transaction transaction{connection_, Transaction::Kind::write};
    Contents present = read(connection_);
    append(connection_, present, next(std::as_const(present)));
    transaction.commit();
  }

  void settle(RunId id, const std::optional<Event>& released, Stopping stopping) {
    append_after([&](const Contents& contents) {
      if (id.value < 1 || id.value > contents.runs.size()) {
        refuse(fmt::format("run is {}, must be one of the ledger's {} runs", id.value, contents.runs.size()));
      }
      require_part(contents.runs[id.value - 1], released);
      return settle_entry(id, released, stopping);
    });
  }

 private:
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

  std::filesystem::path path_;
  Connection connection_;
  Adjacency adjacency_{};
};

namespace {

/// The checks of `reserve`.
void require_admissible(const Contents& contents, const Plan& plan) {
  const auto adjacency = *contents.adjacency;
  if (plan.event.adjacency() != adjacency) {
    refuse(fmt::format("adjacency of the event is {}, must be the ledger's, {}", surety::name(plan.event.adjacency()),
                       surety::name(adjacency)));
  }
  if (plan.promise && plan.promise->adjacency != adjacency) {
    refuse(fmt::format("adjacency of the promise is {}, must be the ledger's, {}", surety::name(plan.promise->adjacency),
                       surety::name(adjacency)));
  }
  const auto asked = Releases::of(plan.event);
  // Refuses a sum of counts that the ledger could not say again.
  contents.total(&Run::charged).add(asked);
  if (!contents.budget) return;

  const Filter filter{*contents.budget};
  const Releases present = contents.total(&Run::counted);
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

}  // namespace

Reservation::Reservation(std::shared_ptr<LedgerFile> file, RunId id, Plan plan)
    : file_{std::move(file)}, id_{id}, plan_{std::move(plan)}, rest_{Releases::of(plan_.event)}, released_{plan_.event.adjacency()} {}

void Reservation::spend(const Event& event) {
  const auto asked = Releases::of(event);
  if (!asked.is_part_of(rest_)) {
    throw Error{ErrorCode::internal, fmt::format("run {} releases '{}' beyond what is left of its plan '{}'", id_.value, describe(event),
                                                 describe(plan_.event))};
  }
  released_.add(asked);
  rest_.subtract(asked);
}

void Reservation::settle(Stopping stopping) { file_->settle(id_, released_.event(), stopping); }

Ledger Ledger::open(const std::filesystem::path& path) { return Ledger{std::make_shared<LedgerFile>(path)}; }

Ledger Ledger::create(const std::filesystem::path& path, Adjacency adjacency, std::optional<Budget> budget) {
  if (budget) require_budget_fits(*budget, adjacency);
  const std::string name = full_path(path);
  if (exists(name) || !publish(name, first_image(adjacency, budget)))
    refuse(fmt::format("'{}' exists, a new ledger replaces nothing", one_line(name)));
  return open(path);
}

Ledger Ledger::open_or_create(const std::filesystem::path& path, Adjacency adjacency) {
  const std::string name = full_path(path);
  // Where another process is quicker, its ledger is the one to open.
  if (!exists(name)) publish(name, first_image(adjacency, std::nullopt));
  Ledger ledger = open(path);
  if (ledger.adjacency() != adjacency) {
    refuse(fmt::format("adjacency is {}, must be the ledger's, {} (in '{}')", surety::name(adjacency), surety::name(ledger.adjacency()),
                       one_line(name)));
  }
  return ledger;
}

const std::filesystem::path& Ledger::path() const { return file_->path(); }

Adjacency Ledger::adjacency() const { return file_->adjacency(); }

void Ledger::set_budget(const Budget& budget) {
  require_budget_fits(budget, adjacency());
  file_->append_after([&](const Contents& contents) {
    if (contents.budget) refuse("the ledger has a budget already, a budget is set once");
    if (!contents.runs.empty()) {
      refuse(fmt::format("the ledger has {} runs, a budget is set before the first", contents.runs.size()));
    }
    return budget_entry(budget);
  });
}

std::optional<Budget> Ledger::budget() const { return file_->contents().budget; }

std::optional<Balance> Ledger::balance() const {
  const auto contents = file_->contents();
  if (!contents.budget) return std::nullopt;
  const Filter filter{*contents.budget};
  return Balance{
      .budget = *contents.budget, .unit = filter.unit(), .spent = filter.spent(contents.total(&Run::counted)), .limit = filter.limit()};
}

void Ledger::check(const Plan& plan) const { require_admissible(file_->contents(), plan); }

Reservation Ledger::reserve(Plan plan) {
  RunId id{0};
  file_->append_after([&](const Contents& contents) {
    require_admissible(contents, plan);
    id.value = contents.runs.size() + 1;
    return reserve_entry(plan);
  });
  return Reservation{file_, id, std::move(plan)};
}

void Ledger::settle(RunId run, const std::optional<Event>& released, Stopping stopping) { file_->settle(run, released, stopping); }

std::vector<Run> Ledger::runs() const { return file_->contents().runs; }

std::vector<LedgerEntry> Ledger::entries() const {
  std::vector<LedgerEntry> entries;
  for (const auto& run : file_->contents().runs) {
    const auto charged = run.charged();
    if (!charged) continue;
    for (const auto& [leaf, count] : Releases::of(*charged).entries()) {
      entries.push_back({.run = run.id, .count = count, .event = leaf, .note = run.plan.note});
    }
  }
  return entries;
}

std::optional<Event> Ledger::event() const { return file_->contents().total(&Run::charged).event(); }

}  // namespace surety::accounting
