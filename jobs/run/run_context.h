// What a job may use of whoever runs it: to whom it tells how far it is, who calls it off, and how much memory it takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

#include <surety/accounting/ledger/ledger.h>
#include <surety/base/text/error.h>

namespace surety::jobs {

/// What a job does, in its order.
enum class Phase { calibrating, reading, releasing };
[[nodiscard]] std::string_view name(Phase phase);

/// Every function may be empty, and is told nothing that is private.
struct RunContext {
  /// Told that a phase begins (0 of 0), and within it of public progress: how many of how many are done. How many records of a file were read
  /// is no such thing; those of a stream have public places, and their number is.
  std::function<void(Phase phase, std::uint64_t done, std::uint64_t all)> progress = {};
  /// Whether the job is called off. Asked while it calibrates, while it reads, before anything is charged and between releases. What was released by then is charged,
  /// and no more: unless released numbers were told on the way, for then the decision may follow from them, and the whole plan stays charged.
  std::function<bool()> should_stop = {};
  /// Bytes for what is kept of each row while those of a unit are chosen. What is beyond them goes into an unlinked file, and of an Arrow stream, whose
  /// columns are held in memory, is looked for in further passes. It is no limit on data sets.
  std::size_t memory = std::size_t{1} << 29;

  void begin(Phase phase) const {
    if (progress) progress(phase, 0, 0);
  }
  /// \throws Error{stopped} where the job is called off.
  void require_going_on() const;
};

/// Does what releases by a reservation, which asks `context` before each release whether to go on, and settles it where that says no.
/// \param tells whether released numbers are told on the way. \throws what `release` throws; what was spent by then is charged, or more.
template <class Release>
auto release_unless_stopped(accounting::Reservation& reservation, const RunContext& context, bool tells, Release release) {
  if (context.should_stop) reservation.ask_before_spending([&context] { context.require_going_on(); });
  try {
    auto released = release();
    reservation.ask_before_spending({});
    return released;
  } catch (const Error& error) {
    reservation.ask_before_spending({});
    if (error.code() == ErrorCode::stopped) {
      reservation.settle(tells ? accounting::Stopping::adaptive : accounting::Stopping::data_independent);
    }
    throw;
  }
}

/// Does what may take long before anything is charged, unless it is called off. \throws Error{stopped} then; what `action` throws.
void until_called_off(const RunContext& context, const std::function<void()>& action);

}  // namespace surety::jobs
