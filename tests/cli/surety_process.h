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

namespace surety_test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

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

  [[nodiscard]] nlohmann::json json() const {
    auto parsed = nlohmann::json::parse(out, nullptr, false);
    EXPECT_FALSE(parsed.is_discarded()) << "not JSON: " << out;
    return parsed;
  }
};

/// How a run differs from the usual one.
struct Surroundings {
  std::optional<rlim_t> largest_file = std::nullopt;  ///< RLIMIT_FSIZE, in bytes
  const char* standard_output = nullptr;              ///< a file that takes standard output
  const char* standard_error = nullptr;
  bool close_output = false;
  bool close_error = false;
};

/// A running command. Standard output and error are pipes; `read` collects both until the process closes them.
class Process {
 public:
  explicit Process(const Words& arguments, const Surroundings& around = {}) {
    std::array<int, 2> out{};
    std::array<int, 2> err{};
    if (pipe2(out.data(), O_CLOEXEC) != 0 || pipe2(err.data(), O_CLOEXEC) != 0) throw std::runtime_error{"no pipe"};
    std::vector<char*> words{const_cast<char*>(SURETY_COMMAND)};
    for (const auto& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    id_ = fork();
    if (id_ == 0) become(words, around, out[1], err[1]);
    close(out[1]);
    close(err[1]);
    out_ = out[0];
    err_ = err[0];
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() {
    close(out_);
    close(err_);
  }

  void kill() const { ::kill(id_, SIGKILL); }

  Outcome finish() {
    Outcome outcome;
    std::array<pollfd, 2> sources{{{out_, POLLIN, 0}, {err_, POLLIN, 0}}};
    while (sources[0].fd >= 0 || sources[1].fd >= 0) {
      poll(sources.data(), sources.size(), -1);
      take(sources[0], outcome.out);
      take(sources[1], outcome.err);
    }
    int status = 0;
    while (waitpid(id_, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status)) outcome.code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
    return outcome;
  }

 private:
  [[noreturn]] static void become(const std::vector<char*>& words, const Surroundings& around, int out, int err) {
    dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
    dup2(around.standard_output != nullptr ? open(around.standard_output, O_RDWR | O_NOCTTY | O_CLOEXEC) : out, STDOUT_FILENO);
    dup2(around.standard_error != nullptr ? open(around.standard_error, O_RDWR | O_NOCTTY | O_CLOEXEC) : err, STDERR_FILENO);
    if (around.close_output) close(STDOUT_FILENO);
    if (around.close_error) close(STDERR_FILENO);
    if (around.largest_file) {
      const rlimit limit{*around.largest_file, *around.largest_file};
      setrlimit(RLIMIT_FSIZE, &limit);
    }
    execv(words.front(), words.data());
    _exit(127);
  }

  static void take(pollfd& source, std::string& text) {
    if (source.fd < 0 || source.revents == 0) return;
    std::array<char, 1 << 16> buffer{};
    const ssize_t count = read(source.fd, buffer.data(), buffer.size());
    if (count > 0) text.append(buffer.data(), static_cast<std::size_t>(count));
    if (count == 0) source.fd = -1;
  }

  pid_t id_ = -1;
  int out_ = -1;
  int err_ = -1;
};

/// Every {"lower": ..., "upper": ...} in `json` is an enclosure of something that is not negative.
inline void expect_enclosures(const nlohmann::json& json, const std::string& said) {
  const auto number = [](const nlohmann::json& value) {
    if (value == "infinity") return HUGE_VAL;
    return value.is_number() ? value.get<double>() : -1.0;
  };
  if (json.is_object() && json.contains("lower") && json.contains("upper")) {
    EXPECT_GE(number(json["lower"]), 0) << said;
    EXPECT_GE(number(json["upper"]), number(json["lower"])) << said;
  }
  if (json.is_structured()) {
    for (const auto& part : json) expect_enclosures(part, said);
  }
}

inline bool is_one_error_line(const std::string& text) {
  return text.starts_with("surety: error: ") && text.size() > 20 && std::count(text.begin(), text.end(), '\n') == 1 && text.back() == '\n';
}

/// What holds for every run.
inline void expect_sound(const Words& arguments, const Outcome& outcome) {
  const std::string said = joined(arguments) + "\n" + outcome.out + outcome.err;
  static const std::regex nan{R"((^|[^A-Za-z])nan([^A-Za-z]|$))", std::regex::icase};
  static const std::regex negative{R"(epsilon[^\n]*[ \[=,(]-[0-9.i])"};
  EXPECT_EQ(outcome.signal, 0) << said;
  std::istringstream lines{outcome.out};
  for (std::string line; std::getline(lines, line);) {
    EXPECT_FALSE(std::regex_search(line, nan)) << line << "\n" << joined(arguments);
    EXPECT_FALSE(std::regex_search(line, negative)) << line << "\n" << joined(arguments);
  }
  if (std::find(arguments.begin(), arguments.end(), "--json") != arguments.end() && !outcome.out.empty()) {
    expect_enclosures(outcome.json(), said);
  }
  if (outcome.code > 1) {
    EXPECT_TRUE(is_one_error_line(outcome.err)) << said;
    EXPECT_EQ(outcome.out, "") << said;
  } else if (outcome.code == 1) {
    EXPECT_TRUE(outcome.err.empty() || (is_one_error_line(outcome.err) && outcome.out.empty())) << said;
  } else {
    EXPECT_EQ(outcome.err, "") << said;
  }
}

inline Outcome surety(const Words& arguments, const Surroundings& around = {}) {
  auto outcome = Process{arguments, around}.finish();
  expect_sound(arguments, outcome);
  return outcome;
}

/// The command fails with `code`, and its message holds each of `words`.
inline void expect_refused(const Words& arguments, int code, const Words& words = {}) {
  const auto outcome = surety(arguments);
  EXPECT_EQ(outcome.code, code) << joined(arguments) << "\n" << outcome.out << outcome.err;
  for (const auto& word : words) {
    EXPECT_NE(outcome.err.find(word), std::string::npos) << joined(arguments) << "\nsays: " << outcome.err << "without: " << word;
  }
}

inline std::string contents(const std::filesystem::path& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

inline void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file{path, std::ios::binary};
  file << text;
}

/// A new folder for each test, which is removed afterwards.
class CommandTest : public ::testing::Test {
 protected:
  CommandTest() {
    std::string name = (std::filesystem::temp_directory_path() / "surety-cli-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error{"no folder for the test"};
    folder_ = name;
  }
  ~CommandTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }

  /// Every file below the folder, with its contents: equal before and after means that nothing was written.
  [[nodiscard]] std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> result;
    for (const auto& entry : std::filesystem::recursive_directory_iterator{folder_}) {
      result[entry.path().string()] = entry.is_regular_file() ? contents(entry.path()) : "";
    }
    return result;
  }

  /// As `expect_refused`, and no file appears, vanishes or changes.
  void expect_refused_untouched(const Words& arguments, int code, const Words& words = {}) const {
    const auto before = files();
    expect_refused(arguments, code, words);
    EXPECT_TRUE(before == files()) << joined(arguments) << " changed a file";
  }

  /// A CSV file whose label follows x, in `rows` rows.
  [[nodiscard]] std::string small_data(int rows = 60) const {
    std::string text = "x,y,label\n";
    for (int i = 0; i < rows; ++i) text += std::to_string(i % 7 - 3) + "," + std::to_string(i % 5) + "," + std::to_string(i % 7 / 4) + "\n";
    write(path("small.csv"), text);
    return path("small.csv");
  }

  /// train on `data` in 5 steps at epsilon 1, into run.db and model.json.
  [[nodiscard]] Words train(const std::string& data, const std::string& label = "label") const {
    return {"train", data,      "--label", label,      "--steps",      "5",       "--epsilon",
            "1",     "--delta", "1e-5",    "--ledger", path("run.db"), "--model", path("model.json")};
  }

  /// How many runs a ledger lists.
  [[nodiscard]] static std::size_t runs_in(const std::string& ledger) {
    const auto listed = surety({"ledger", "list", ledger, "--json"});
    EXPECT_EQ(listed.code, 0) << listed.err;
    return listed.code == 0 ? listed.json()["runs"].size() : 0;
  }

 private:
  std::filesystem::path folder_;
};

inline const std::string randhie = SURETY_EXAMPLES "/randhie.csv";

}  // namespace surety_test
