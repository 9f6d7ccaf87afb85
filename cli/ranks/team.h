// A team: what one command does as several processes, of which the first alone owns the ledger, the model and the output.
//
// How a run begins, for the first rank and for every later one:
//
//     first                                         later
//     checks options, calibrates, asks the ledger   checks options, waits
//     begin(noise)                                  reads its data
//     reads its data, waits for all                 ready(what it is about to run)
//     refuses where they differ, reserves
//     go                                            draws its first noise
//
// and how one ends: whoever fails tells the first, which tells all to stop, hears from all that they have stopped, prints the one line of
// the error, and lets everybody end with the same exit code. A rank that does not answer in time ends all of them by MPI_Abort; one that is
// killed makes mpirun kill the others. All of this is over the one seam of ranks.h.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <surety/cli/print/failure.h>
#include <surety/cli/ranks/ranks.h>
#include <surety/jobs/run/team.h>

namespace surety::cli {

/// Thrown where a rank is told to stop: another one failed, and the first says so.
struct Stopped {};

class Team final : public jobs::Team {
 public:
  /// Alone without ranks. `timeout` is how long ranks wait for each other while they learn, and where one has failed.
  explicit Team(std::unique_ptr<Ranks> ranks, std::chrono::milliseconds timeout = jobs::Alone{}.timeout())
      : ranks_{std::move(ranks)}, timeout_{timeout} {}

  [[nodiscard]] std::size_t rank() const override { return ranks_ ? ranks_->rank() : 0; }
  [[nodiscard]] std::size_t size() const override { return ranks_ ? ranks_->size() : 1; }
  [[nodiscard]] std::chrono::milliseconds timeout() const override { return timeout_; }

  /// The first tells all others the noise to use.
  void begin(double noise);
  /// A later rank waits for it, as long as it takes.
  [[nodiscard]] double await_begin();
  /// A later rank says what it is about to run.
  void report_ready(const std::string& run);
  /// The first waits for that, as long as data are being read. \throws Error{invalid_argument} when a rank is about to run something else.
  void await_ready(const std::string& run);
  /// The first says that the run is reserved.
  void go();
  /// A later rank waits for it before its first draw.
  void await_go();

  void send_frames(std::size_t to, Words frames) override;
  [[nodiscard]] std::optional<Words> receive_frames(Clock::time_point deadline) override;

  /// Ends the run on all ranks, with the first one's exit code, or that of the rank that failed. \pre called once, last.
  int end(const std::optional<Failure>& failure);

 private:
  friend int as_a_team(std::chrono::milliseconds timeout, const std::function<int(Team&)>& run);
  enum class Signal : std::uint64_t { begin = 1, ready, go, frames, failed, stop, stopped, end };

  void tell(std::size_t rank, Signal signal, Words words = {});
  void tell_others(Signal signal, const Words& words = {});
  /// The next message; nothing until the deadline. \throws Failure when a rank reports one to the first, Stopped when the first says stop.
  [[nodiscard]] std::optional<Ranks::Message> receive(Clock::time_point deadline);
  /// The next message of one kind. Frames that come before are kept; every other kind is a defect.
  [[nodiscard]] Ranks::Message await(Signal signal);
  /// Forgets everything but the next message of one kind; false when that does not come in time.
  bool await_only(Signal signal, Clock::time_point deadline);
  int end_first(const std::optional<Failure>& failure);
  int end_later(const std::optional<Failure>& failure, bool was_stopped);
  [[nodiscard]] Clock::time_point soon() const { return Clock::now() + timeout_; }

  std::unique_ptr<Ranks> ranks_;
  std::chrono::milliseconds timeout_;
  bool has_begun_ = false;            ///< whether noise may be drawn: from now on nobody is busy with reading
  std::deque<Ranks::Message> early_;  ///< frames that came while something else was awaited
};

/// Runs `run` alone, or as one of the ranks that mpirun started. Returns the exit code; where there are several ranks, errors end in it
/// too, after the first rank has printed one line. \throws what `run` throws when alone; Error{environment} when MPI does not start.
/// When the other ranks do not come within `timeout`, the process ends there, with a line that says so.
int as_a_team(std::chrono::milliseconds timeout, const std::function<int(Team&)>& run);

}  // namespace surety::cli
