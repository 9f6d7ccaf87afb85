// Runs the surety command as a user's shell would, and looks at all that it says: exit code, standard output, standard error.
//
// Every run is checked for what no run may do: print a NaN or a negative epsilon, fail without exactly one line
// "surety: error: ..." on standard error, print anything else with a failure, or chatter on standard error when all is well.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <support/sanitized.h>
#include <support/temporary_folder.h>

namespace surety_test {

using Words = std::vector<std::string>;

inline Words operator+(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

inline std::string joined(const Words& words) {
  std::string text = "surety";
  for (const auto& word : words) text += " '" + word + "'";
  return text;
}

struct Outcome {
  int code = -1;    ///< exit code; -1 when a signal ended the process
  int signal = 0;   ///< that signal
  std::string out;  ///< empty when standard output was sent elsewhere
  std::string err;

  [[nodiscard]] nlohmann::json json() const;
};

/// How a run differs from the usual one.
struct Surroundings {
  std::optional<rlim_t> largest_file = std::nullopt;  ///< RLIMIT_FSIZE, in bytes
  const char* standard_output = nullptr;              ///< a file that takes standard output
  const char* standard_error = nullptr;
  const char* standard_input = "/dev/null";
  const char* folder = nullptr;  ///< the working directory
  bool close_output = false;
  bool close_error = false;
  Words launcher = {};  ///< the program that starts the command, and its words
};

/// A running command. Standard output and error are pipes; `read` collects both until the process closes them.
class Process {
 public:
  explicit Process(const Words& arguments, const Surroundings& around = {});
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() {
    close(out_);
    close(err_);
  }

  void kill() const { ::kill(id_, SIGKILL); }
  [[nodiscard]] pid_t id() const { return id_; }

  Outcome finish();

 private:
  [[noreturn]] static void become(const std::vector<char*>& words, const Surroundings& around, int out, int err);
  static void take(pollfd& source, std::string& text);

  pid_t id_ = -1;
  int out_ = -1;
  int err_ = -1;
};

/// Every {"lower": ..., "upper": ...} in `json` is an enclosure of something that is not negative.
void expect_enclosures(const nlohmann::json& json, const std::string& said);

/// "surety: error: ...", and nothing else.
bool is_one_error_line(const std::string& text);

/// What holds for every run.
void expect_sound(const Words& arguments, const Outcome& outcome);

/// Runs the command to its end, and holds it to what holds for every run.
Outcome surety(const Words& arguments, const Surroundings& around = {});

/// The command fails with `code`, and its message holds each of `words`.
void expect_refused(const Words& arguments, int code, const Words& words = {});

/// JSON that is written with apostrophes.
inline std::string json_text(std::string text) {
  std::replace(text.begin(), text.end(), '\'', '"');
  return text;
}

std::string contents(const std::filesystem::path& path);
void write(const std::filesystem::path& path, const std::string& text);

/// A new folder for each test, which is removed afterwards.
class CommandTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }

  /// Every file below the folder, with its contents: equal before and after means that nothing was written.
  [[nodiscard]] std::map<std::string, std::string> files() const;

  /// As `expect_refused`, and no file appears, vanishes or changes.
  void expect_refused_untouched(const Words& arguments, int code, const Words& words = {}) const;

  /// A CSV file whose label follows x, in `rows` rows.
  [[nodiscard]] std::string small_data(int rows = 60) const;

  /// train on `data` in 5 steps at epsilon 1, into run.db and model.json.
  [[nodiscard]] Words train(const std::string& data, const std::string& label = "label>0",
                            const std::string& algorithm = "gradient-descent") const;

  /// How many runs a ledger lists.
  [[nodiscard]] static std::size_t runs_in(const std::string& ledger);

 private:
  TemporaryFolder folder_;
};

inline const std::string randhie = SURETY_EXAMPLES "/randhie.csv";

}  // namespace surety_test
