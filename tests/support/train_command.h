// `surety train` in this process: an algorithm with the options that it requires and no others, on a file of records.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <support/command_in_process.h>
#include <support/temporary_folder.h>

namespace surety_test {

class TrainCommand {
 public:
  using Records = std::vector<std::string>;  ///< lines of CSV

  /// How an algorithm is asked.
  struct Question {
    std::string algorithm;
    std::string loss;
    std::string adjacency;
    bool has_units = false;
    int most = 2;                        ///< rows of a unit; of one each where nothing is held out
    std::string classes = {};            ///< of --classes, of those that know them
    std::vector<std::string> more = {};  ///< words, behind all others
  };

  /// A run of the command on a file, and what it let be seen.
  struct Seen {
    Said said;
    nlohmann::json report;  ///< without what is labelled as not private
    std::string model;
  };

  /// Asks the command until it calls nothing missing, and keeps what it required. False where it refuses: it has no theorem for what is asked,
  /// or too few records. \param count the public number of records, or of units
  /// \param defect what is wrong with the question or the command, if anything is
  bool accepts(const Question& question, const Records& records, std::size_t count, std::string& defect);
  /// The same of the plan alone, of which a few algorithms count the columns: its text; nothing where the command refuses it.
  [[nodiscard]] std::optional<std::string> accepted_plan(const Question& question, const Records& records, std::size_t count,
                                                         std::string& defect);

  /// Runs it, as it was accepted last, in new files.
  [[nodiscard]] Seen run(const Question& question, const Records& records, std::size_t count) const;
  [[nodiscard]] std::vector<std::string> words(const Question& question, std::size_t count) const;

 private:
  bool accepts(std::size_t count, std::string& defect, const std::function<Said()>& ask);
  void write(const Question& question, const Records& records) const;
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }

  TemporaryFolder folder_;
  std::vector<std::string> required_;
};

/// The same records everywhere: ordinary, the longest, an extreme one and a damaged one among them.
[[nodiscard]] TrainCommand::Records ordinary_records(std::size_t count);
/// Rows "owner,x,y,label" of owners a to j, or of more of one letter or digit, of two or three rows. \pre units, 10 to 62, are no multiple of 7
[[nodiscard]] TrainCommand::Records rows_of_units(int units = 10);

}  // namespace surety_test
