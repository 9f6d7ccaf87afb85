// Ranks: the processes that one mpirun started, and messages between them.
//
// The command is not linked with MPI: a shared module beside it is (mpi_ranks.cpp), and that is loaded only where mpirun says that it
// started this process. So the command starts as fast without MPI as if there were none, and runs on machines that have none.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <surety/jobs/run/team.h>

namespace surety::cli {

using jobs::Clock;
using jobs::Words;

/// What mpirun says in the environment of a process that it started.
struct Launch {
  std::size_t rank;
  std::size_t size;
};
/// OpenMPI's words, OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE, or PMI_RANK and PMI_SIZE; nothing for a process started otherwise.
[[nodiscard]] std::optional<Launch> launched_by_mpirun();
/// Before an error that all processes of an mpirun make alike, and before MPI lets them talk: a later rank waits for two seconds, in which
/// the first one's error makes mpirun end it. A later rank that is still there has an error of its own, and goes on to say so.
void let_the_first_speak();

/// For every command but those that run on several processes: each of them would release, and charge, once more.
/// \throws Error{invalid_argument} in a process of an mpirun with several.
void require_one_process();

/// For one thread. Every function throws std::runtime_error when MPI reports an error.
class Ranks {
 public:
  struct Message {
    std::size_t from;
    Words words;
  };

  Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  virtual ~Ranks() = default;

  [[nodiscard]] virtual std::size_t rank() const = 0;
  [[nodiscard]] virtual std::size_t size() const = 0;
  /// Returns at once; messages from one rank to another arrive in order. \pre to < size(), to != rank(), at least one word.
  virtual void send(std::size_t to, Words words) = 0;
  /// The next message from any rank; nothing when none comes until `deadline`.
  [[nodiscard]] virtual std::optional<Message> receive(Clock::time_point deadline) = 0;
  /// Waits until every rank has called this. \pre every message that was sent is received. Nothing may be called afterwards.
  virtual void finish() = 0;
  /// Ends every rank at once with this exit code, wherever it is.
  [[noreturn]] virtual void abort(int code) = 0;
};

/// Loads the module and starts MPI: a third of a second.
/// \throws Error{environment} when the command was built without MPI, or the module does not load or start, or MPI sees other processes
/// than `launch` says. MPI itself waits without end for a rank that never starts it: when it has not started within `timeout`, this process
/// ends with one line and the exit code of the environment, which makes mpirun end the others.
[[nodiscard]] std::unique_ptr<Ranks> start_ranks(const Launch& launch, std::chrono::milliseconds timeout);

/// The one function of the module. \throws std::runtime_error when MPI does not start.
inline constexpr const char* ranks_module_function = "surety_start_ranks";
using RanksModuleFunction = Ranks* (*)();

}  // namespace surety::cli
