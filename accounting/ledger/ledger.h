// The ledger: a file that never reports less than was released.
//
// Definitions:
//   run       one use of private data: an optimizer's training, one query. Its plan says, before data is touched, which
//             releases it may make at most.
//   reserve   write the plan, durably. Only then may noise be drawn, so a run that dies afterwards counts in full.
//   settle    once, at the end: write the part of the plan that was really released. Not when: the entry repeats the time of the
//             reservation, and the file's own time of change is that of the last reservation afterwards.
//   charged   what a run costs when plans are fixed in advance; what an audit adds up.
//   counted   what a run costs under a budget, whose filter also covers runs chosen after earlier results were seen.
//
//     state of the run                         charged           counted
//     reserved (running, or killed)            plan              plan
//     settled, stop data independent           what was released what was released
//     settled, stop adaptive                   plan              what was released
//
// "Adaptive" means that earlier releases had a say in when to stop. The transcript is then one of a plan whose length was
// not fixed, and the smaller cost of a short transcript proves nothing by itself; only a filter, which bounds every transcript
// at once, may count it (docs/proofs/ledger.md#ledger-settle). Private data itself may never decide when to stop: that would be
// a release of its own, without noise.
//
// Who may do what to a run, by what its Reservation does; everything else is refused:
//
//     its Reservation                      spend   settle by it   Ledger::settle, from any handle and process
//     open                                 yes     yes            no: the run is alive
//     settle has failed                    no      yes, again     no
//     settled, or moved from               no      no             no
//     destroyed, or its process is dead    -       -              yes, once; who calls it vouches for what was released
//     in a copy of its process (fork)      no      no             no, while the reservation that was copied is alive
//
// So a settlement is written either by the one who spends, after the last spend, or when nobody can spend any more: what is charged is never
// less than what was spent. A reservation is alive by a lock that the kernel drops with its process (docs/proofs/ledger.md#ledger-charge).
//
// One ledger is one file with one adjacency and one unit of privacy. It is an append-only table in an SQLite database, or in another store
// that store.h describes: entries are added, never changed, and each carries a checksum over itself and all entries before it, against accidents, not against forgery.
//
// Processes: any number may use one ledger at a time, on a local file system (SQLite and living runs need its locks). Objects of this file
// are used in the process that made them; a copy made by fork opens the ledger anew, and destroying what it inherited harms nobody.
// Threads: a Ledger, its copies and its Reservations may be used by several, whose calls wait for each other; one Reservation, by one
// at a time. A process that forks while a thread is within a call leaves a child that can use no ledger, and is told so.
#pragma once

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/accounting/events/releases.h>
#include <surety/accounting/events/unit.h>
#include <surety/accounting/events/units.h>
#include <surety/accounting/ledger/filter.h>
#include <surety/accounting/ledger/run.h>
#include <surety/base/numbers/enclosure.h>
#include <surety/base/system/home_process.h>

namespace surety::accounting {

/// One line of an audit: `count` times the leaf `event`, charged by `run`.
struct LedgerEntry {
  RunId run;
  Count count;
  Event event;
  std::string note;
};

/// Where a budget stands. The exact values are inside the enclosures; `unit` is the filter's, "divergence", "mu^2", "rho" or "epsilon".
struct Balance {
  Budget budget;
  std::string_view unit;
  Enclosure spent;
  Enclosure limit;
  std::optional<Enclosure> spent_epsilon = std::nullopt;  ///< as Filter::spent_epsilon: what is compared with the budget's epsilon instead
  std::optional<Enclosure> odometer = std::nullopt;       ///< as Filter::odometer
};

class LedgerFile;
class LedgerStore;

/// A run that may release what it planned. Destroyed without `settle`, it leaves the full plan charged.
class Reservation {
 public:
  Reservation(Reservation&& other) noexcept;
  Reservation& operator=(Reservation&& other) noexcept;
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;
  ~Reservation();

  [[nodiscard]] RunId id() const noexcept { return id_; }
  /// When the charge was written, to the second. Whatever the run writes says this time and no later one.
  [[nodiscard]] std::time_t time() const noexcept { return time_; }
  [[nodiscard]] const Plan& plan() const noexcept { return plan_; }
  /// What was released so far.
  [[nodiscard]] const Releases& released() const noexcept { return released_; }

  /// Says, before the noise is drawn, that `event` is released now. In memory only: the plan is already charged.
  /// \throws BeyondReservation, an Error{budget_exceeded}, when the rest of the plan does not hold it, and then the release must not
  ///         happen (in an optimizer it is a defect); Error{invalid_argument} after `settle` was called, even when that failed, and in
  ///         a process made by fork.
  /// \complexity O(log k) for a leaf, among k different leaves in the plan.
  void spend(const Event& event);

  /// From now on `ask` is called before each `spend`, while nothing of it is said: what it throws ends the run between two releases.
  void ask_before_spending(std::function<void()> ask) { ask_ = std::move(ask); }

  /// Writes what was released; durable on return. \throws Error{invalid_argument} when the run is settled already, and in a process made
  /// by fork; Error{environment} when it cannot be written, and then the full plan stays charged and `settle` may be called again.
  void settle(Stopping stopping);

 private:
  friend class Ledger;
  enum class State { open, settling, settled, moved_from };

  Reservation(std::shared_ptr<LedgerFile> file, RunId id, std::time_t time, Plan plan);
  /// The run is no longer alive.
  void end() noexcept;
  void require_usable() const;

  HomeProcess home_;
  std::shared_ptr<LedgerFile> file_;
  State state_;
  RunId id_;
  std::time_t time_;
  Plan plan_;
  Releases rest_;
  Releases released_;
  std::function<void()> ask_;
};

/// Every member function that reads sees one consistent state of the file. Opening verifies all of it; a later call verifies that the last
/// entry it knows is still there, and every entry that came after it, so no object ever reports less than it has seen. All of them
/// \throw Error{damaged_ledger} when the file is not an intact ledger, Error{environment} when the machine refuses (full disk,
/// no permission, a lock that is not to be had in ten seconds in which nobody writes), Error{invalid_argument} in a process made by fork.
/// A call that throws has written nothing, but for a failure of the disk in the last moment of `reserve` or `settle`.
/// \complexity linear in the number of runs for opening; later calls, in that of the runs since, and of the different leaves that are
/// charged. Those that return all runs or entries are linear in what they return.
class Ledger {
 public:
  /// Opens an existing ledger; one without write permission opens for reading.
  /// \throws Error{damaged_ledger} when there is something else at `path`, which is left as it is;
  ///         Error{environment} when there is nothing.
  [[nodiscard]] static Ledger open(const std::filesystem::path& path);

  /// The same for a ledger that is kept elsewhere than in a file of its own; see store.h. Its path is the store's name.
  [[nodiscard]] static Ledger open(std::shared_ptr<LedgerStore> store);
  /// Writes a new ledger into a store that holds nothing. \throws Error{invalid_argument} when it holds something, or as above.
  [[nodiscard]] static Ledger create(std::shared_ptr<LedgerStore> store, Adjacency adjacency, std::optional<Budget> budget = std::nullopt,
                                     const UnitOfPrivacy& unit = {});

  /// Makes a new ledger. It appears at `path` complete or not at all, and replaces nothing.
  /// Like any new file it may be read and written by whom the umask says.
  /// \throws Error{invalid_argument} when something exists at `path`, or the budget is not under `adjacency`.
  [[nodiscard]] static Ledger create(const std::filesystem::path& path, Adjacency adjacency, std::optional<Budget> budget = std::nullopt,
                                     const UnitOfPrivacy& unit = {});

  /// Opens the ledger at `path`, or makes one; right also when several processes do so at once.
  /// \throws Error{invalid_argument} when the ledger has another adjacency or unit.
  [[nodiscard]] static Ledger open_or_create(const std::filesystem::path& path, Adjacency adjacency, const UnitOfPrivacy& unit = {});

  [[nodiscard]] const std::filesystem::path& path() const;
  [[nodiscard]] Adjacency adjacency() const;
  /// One row in ledgers of Surety 0.1.0, which do not say it.
  [[nodiscard]] const UnitOfPrivacy& unit() const;
  /// Whether the call that returned this object made the file.
  [[nodiscard]] bool is_new() const noexcept { return is_new_; }

  /// Attaches the budget that every run must keep. A filter is a rule fixed before the first release, hence:
  /// \throws Error{invalid_argument} when the ledger has a budget or any run, or the budget has another adjacency.
  void set_budget(const Budget& budget);
  [[nodiscard]] std::optional<Budget> budget() const;
  /// Where the budget stands; nothing without a budget.
  [[nodiscard]] std::optional<Balance> balance() const;

  /// How many runs of `event`, up to `most`, the budget would admit now, one after the other; nothing without a budget.
  /// \throws Error{unsupported} when the budget's filter has no theorem for it; Error{invalid_argument} for another adjacency.
  [[nodiscard]] std::optional<std::uint64_t> room_for(const Event& event, std::uint64_t most) const;

  /// Refuses what `reserve` would refuse at this moment, and writes nothing: ask it before private data is touched.
  /// \throws as `reserve`.
  void check(const Plan& plan) const;

  /// Charges `plan`; durable on return. Processes that reserve at once are admitted one after the other.
  /// \throws Error{invalid_argument} when the plan or its promise has another adjacency than the ledger, or another unit, or a leaf would be
  ///         charged more than Releases::max_count times; Error{budget_exceeded} with what is spent, asked and allowed;
  ///         Error{unsupported} naming an event for which the budget's filter has no theorem.
  [[nodiscard]] Reservation reserve(Plan plan);

  /// As `reserve`, of a run that the ledger may have once: the note of its plan ends with the mark in brackets, "... [ticket 07]", and where the
  /// note of any run does so, running, killed or settled, it is refused. That is looked for where the charge is written, so of several that
  /// reserve at once one is admitted.
  /// \throws Error{invalid_argument} naming the run that has the mark, and unless that is 1 to 64 letters, digits and blanks of ASCII; as `reserve`.
  /// \complexity as `reserve`, and a look at the note of each run.
  [[nodiscard]] Reservation reserve_once(Plan plan, std::string_view mark);

  /// Settles a run whose reservation is gone, killed or destroyed. `released` is nothing when nothing was released; the caller vouches for
  /// it, since nobody else knows.
  /// \throws Error{invalid_argument} when there is no such run, it is settled already, its reservation is alive in any process, or
  ///         `released` is not part of its plan.
  void settle(RunId run, const std::optional<Event>& released, Stopping stopping);

  /// All runs, in the order of reservation.
  [[nodiscard]] std::vector<Run> runs() const;
  /// What is charged, by run and leaf.
  [[nodiscard]] std::vector<LedgerEntry> entries() const;
  /// Everything that is charged, as one event for an accountant; nothing when nothing is.
  /// It holds for runs that were not chosen by looking at earlier results; for others, the budget's target is what is proved.
  [[nodiscard]] std::optional<Event> event() const;

 private:
  Ledger(std::shared_ptr<LedgerFile> file, bool is_new) : file_{std::move(file)}, is_new_{is_new} {}

  std::shared_ptr<LedgerFile> file_;
  bool is_new_;
};

}  // namespace surety::accounting
