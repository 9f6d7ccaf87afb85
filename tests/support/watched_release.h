// `surety release` as a function of this process that is cheap enough for tens of thousands of files: its own words, tables, plan, queries, reader, choice
// of rows, parts and report, with a scale of noise that no accountant is asked for, the ledger in memory, and each release watched.
//
// Calls from the command into the libraries go through functions of watched_release.cpp (the linker's --wrap, as of watched_doors.h). What leaves is
// looked at where exact numbers meet noise, and what is charged is taken from the event that was spent, not from what the statistic says of itself. Told
// to replay, a run is given what the recorded one was: whatever still differs has come past the noise. Mistakes can be planted, which the comparison
// must find.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace surety_test {

/// What is wrong with the libraries below the command.
enum class Mistake {
  none,
  half_the_noise,        ///< a sensitivity that is half of what it should be
  no_cap,                ///< K rows of a unit are asked for, and all are kept
  cap_by_the_file,       ///< which rows of a unit are kept depends on the others
  rows_twice,            ///< every row is read twice
  damaged_rows_dropped,  ///< so that a public number of records depends on damage
  error_for_a_value,     ///< a cell stops the run
  charge_forgotten,      ///< a release that was not charged
  number_by_data,        ///< a public number of records that counts one more where a cell is missing
};
inline constexpr Mistake every_mistake[] = {
    Mistake::half_the_noise,    Mistake::no_cap,           Mistake::cap_by_the_file, Mistake::rows_twice, Mistake::damaged_rows_dropped,
    Mistake::error_for_a_value, Mistake::charge_forgotten, Mistake::number_by_data};

/// From what a run reads the rows of its file.
enum class TableForm {
  csv,
  arrow,  ///< a stream of batches
  parts,  ///< several streams, of which the partials are merged in any order; where units have several rows, an owner's lie in one of them
  c,      ///< a stream, and all of the run through surety.h
  parts_of_c,  ///< several of them, through the calls of surety.h for parts
};
struct TableSource {
  TableForm form = TableForm::csv;
  bool has_types = false;  ///< of a stream: numbers as doubles and int16, and texts in a dictionary; or all as texts
  std::uint64_t seed = 0;  ///< of where batches end and what is in which part
};

/// One meeting of exact numbers and noise.
struct Release {
  std::string charged;          ///< the event that was spent for it
  std::vector<double> content;  ///< in steps of the grid, or scores
  double sensitivity =
      0;  ///< what the noise is enough for under that event: in l1 of Laplace, in l2 of Gaussian noise, of one score of a choice, or of the range of its changes
  enum class Norm { l1, l2, largest, range } norm = Norm::l1;
  bool shares_charge = false;  ///< a choice of the level of the one before, and charged with it
};

/// What one run let be seen.
struct ReleaseRun {
  int code = 0;
  std::string out;  ///< of C its result as JSON, or where the words ask for CSV as the cells of its Arrow stream
  std::string err;  ///< of C the failure, and all that its caller was told on the way
  std::vector<Release> releases;
  std::vector<std::vector<double>> released;  ///< what they were given, choices as one number
};

/// How far apart two releases are, over the sensitivity. Nothing where they are not the same question.
[[nodiscard]] std::optional<double> move(const Release& a, const Release& b);

/// Runs `surety release WORDS...` \param as_released what to give to each release, in order; where there is none, the exact numbers plus `reveal`, which no
/// command would do, and of a choice any candidate, by the seed of `source`. \param source in place of the file whose columns are who, x, y and t
[[nodiscard]] ReleaseRun run_release(const std::vector<std::string>& words, const std::vector<std::vector<double>>* as_released,
                                     Mistake mistake = Mistake::none, const TableSource& source = {});
/// Whole, and above every threshold of keys.
inline constexpr double reveal = 0x1p40;

}  // namespace surety_test
