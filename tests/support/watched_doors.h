// The doors of production, watched: what is asked at each, what is charged, and in which order, while the command itself runs in this process.
//
// Every door of a run is made by one maker (jobs/doors/releasers.h), in whose place the program is linked with another one
// (watched_doors.cpp): its doors hold those that the first one makes, let them do all that they do, charge and draw, and keep what was asked.
// Told to replay, they return what the last recorded run was given in the place of what was drawn: released values are then held fixed while
// the data differ, and what is still different has come past the noise. Nothing of this is in the library or in the command, which know no way
// to be told a release.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace surety_test {

/// One call of a door, or one charge.
struct DoorEntry {
  enum class Kind { charge, vector, scores, secret };
  Kind kind;
  /// All of it that must not depend on a record, as a text: the door, the event, the sensitivity, the grid, the number of coordinates.
  std::string asked;
  std::vector<double> content;  ///< the query in data units, or the scores
  double sensitivity = 0;       ///< of a vector in l2; of scores, of the range of their changes
};

/// What went through the doors in one run, in order.
using DoorLog = std::vector<DoorEntry>;

/// Watches one run, from its beginning to its end. One at a time.
class WatchedDoors {
 public:
  /// Keeps what is released.
  WatchedDoors();
  /// Releases what `recorded` released. Secret batches are those of `recorded` too; where the records are more, or fewer, the last one joins
  /// every second batch, or leaves all of them.
  explicit WatchedDoors(const WatchedDoors& recorded);
  WatchedDoors& operator=(const WatchedDoors&) = delete;
  ~WatchedDoors();

  [[nodiscard]] const DoorLog& log() const noexcept { return log_; }
  /// The run drew batches in secret.
  [[nodiscard]] bool has_batches() const noexcept { return !batches_.empty(); }

 private:
  friend struct Watch;
  DoorLog log_;
  bool is_replay_ = false;
  std::vector<std::vector<double>> released_;
  std::vector<std::size_t> selected_;
  std::vector<std::vector<std::size_t>> batches_;
  std::vector<std::size_t> records_;  ///< of each batch
  std::size_t next_released_ = 0;
  std::size_t next_selected_ = 0;
  std::size_t next_batch_ = 0;
};

/// How the log of a neighbour may differ from that of the recorded run.
struct DoorDifference {
  ::testing::AssertionResult allowed;  ///< nothing differs but contents, one between two charges, by no more than was said
  double ratio = 0;                    ///< the largest change over its sensitivity
  std::size_t moved = 0;               ///< contents that differ, those among them that a secret vector covers and no sensitivity bounds
};
[[nodiscard]] DoorDifference compare(const DoorLog& a, const DoorLog& b);

/// Success when each charge has a release: otherwise there is a door that nobody watches.
[[nodiscard]] ::testing::AssertionResult every_charge_has_a_release(const DoorLog& log);

}  // namespace surety_test
