// A plan of `surety train` through C, on records that stand in columns: what a program does that holds a frame.
#pragma once

#include <cstddef>
#include <string>

#include <support/held_by_c.h>
#include <support/train_command.h>

#include <surety/accounting/events/unit.h>
#include <surety/accounting/events/units.h>

namespace surety_test {

/// A job that was prepared once, and is run on as many tables as one likes, each with a ledger of its own.
class TrainThroughC {
 public:
  /// \param plan as --print-plan writes it, of questions of a TrainCommand
  explicit TrainThroughC(const std::string& plan);

  /// Features that are damaged are NaN, labels that are and all that is empty null. The rows are cut into other batches in each run.
  [[nodiscard]] TrainCommand::Seen run(const TrainCommand::Records& records);

 private:
  HeldJob job_;
  surety::Adjacency adjacency_;
  surety::UnitOfPrivacy unit_;
  std::size_t runs_ = 0;
};

}  // namespace surety_test
