// Prints what is asked at the doors and charged by `surety train --algorithm NAME` with the options that it requires and no others, under replayed
// noise: a mutant counts that changes a line of it.
#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <string>

#include <support/train_command.h>
#include <support/watched_doors.h>
#include <surety/jobs/algorithms/algorithms.h>

namespace {

using namespace surety_test;

std::uint64_t digest(const std::vector<double>& content) {
  std::uint64_t hash = 1469598103934665603;
  for (const double value : content) hash = (hash ^ std::bit_cast<std::uint64_t>(value)) * 1099511628211;
  return hash;
}

void trace(const TrainCommand::Question& question, const TrainCommand::Records& records, std::size_t count) {
  TrainCommand command;
  std::string defect;
  const bool is_accepted = command.accepts(question, records, count, defect);
  fmt::print("{} {} {} {}: {} {}\n", question.loss, question.adjacency, question.has_units ? "units" : "records", count, is_accepted,
             defect);
  if (!is_accepted) return;
  const WatchedDoors doors;
  static_cast<void>(command.run(question, records, count));
  for (const auto& entry : doors.log()) fmt::print("{} {:016x}\n", entry.asked, digest(entry.content));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print("auto\n");
    for (const auto& algorithm : surety::jobs::all_algorithms()) fmt::print("{}\n", algorithm->name());
    return 0;
  }
  for (const char* adjacency : {"replace-one", "zero-out", "add-or-remove-one"}) {
    for (const std::size_t count : {20, 65}) {
      trace({.algorithm = argv[1], .loss = "logistic", .adjacency = adjacency}, ordinary_records(count), count);
    }
    trace({.algorithm = argv[1], .loss = "logistic", .adjacency = adjacency, .has_units = true}, rows_of_units(), 10);
  }
  trace({.algorithm = argv[1], .loss = "squared", .adjacency = "replace-one"}, ordinary_records(20), 20);
}
