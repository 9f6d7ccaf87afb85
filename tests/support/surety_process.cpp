#include <support/surety_process.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <stdexcept>

namespace surety_test {

nlohmann::json Outcome::json() const {
  auto parsed = nlohmann::json::parse(out, nullptr, false);
  EXPECT_FALSE(parsed.is_discarded()) << "not JSON: " << out;
  return parsed;
}

Process::Process(const Words& arguments, const Surroundings& around) {
  std::array<int, 2> out{};
  std::array<int, 2> err{};
  if (pipe2(out.data(), O_CLOEXEC) != 0 || pipe2(err.data(), O_CLOEXEC) != 0) throw std::runtime_error{"no pipe"};
  std::vector<char*> words;
  for (const auto& word : around.launcher) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(const_cast<char*>(SURETY_COMMAND));
  for (const auto& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  id_ = fork();
  if (id_ == 0) become(words, around, out[1], err[1]);
  close(out[1]);
  close(err[1]);
  out_ = out[0];
  err_ = err[0];
}

Outcome Process::finish() {
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

void Process::become(const std::vector<char*>& words, const Surroundings& around, int out, int err) {
  dup2(open(around.standard_input, O_RDONLY | O_CLOEXEC), STDIN_FILENO);
  dup2(around.standard_output != nullptr ? open(around.standard_output, O_RDWR | O_NOCTTY | O_CLOEXEC) : out, STDOUT_FILENO);
  dup2(around.standard_error != nullptr ? open(around.standard_error, O_RDWR | O_NOCTTY | O_CLOEXEC) : err, STDERR_FILENO);
  if (around.close_output) close(STDOUT_FILENO);
  if (around.close_error) close(STDERR_FILENO);
  if (around.largest_file) {
    const rlimit limit{*around.largest_file, *around.largest_file};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  if (around.folder != nullptr && chdir(around.folder) != 0) _exit(126);
  execv(words.front(), words.data());
  _exit(127);
}

void Process::take(pollfd& source, std::string& text) {
  if (source.fd < 0 || source.revents == 0) return;
  std::array<char, 1 << 16> buffer{};
  const ssize_t count = read(source.fd, buffer.data(), buffer.size());
  if (count > 0) text.append(buffer.data(), static_cast<std::size_t>(count));
  if (count == 0) source.fd = -1;
}

void expect_enclosures(const nlohmann::json& json, const std::string& said) {
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

bool is_one_error_line(const std::string& text) {
  return text.starts_with("surety: error: ") && text.size() > 20 && std::count(text.begin(), text.end(), '\n') == 1 && text.back() == '\n';
}

/// Standard error without notes about the promise, which are lines of their own before the charge.
std::string without_notes(const std::string& text) {
  std::istringstream lines{text};
  std::string rest;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("surety: note: ")) rest += line + (lines.eof() ? "" : "\n");
  }
  return rest;
}

void expect_sound(const Words& arguments, const Outcome& outcome) {
  const std::string said = joined(arguments) + "\n" + outcome.out + outcome.err;
  static const std::regex nan{R"((^|[^A-Za-z])nan([^A-Za-z]|$))", std::regex::icase};
  static const std::regex negative{R"(epsilon[^\n]*[ \[=,(]-[0-9.i])"};
  EXPECT_EQ(outcome.signal, 0) << said;
  std::istringstream lines{outcome.out};
  for (std::string line; std::getline(lines, line);) {
    EXPECT_FALSE(std::regex_search(line, nan)) << line << "\n" << joined(arguments);
    EXPECT_FALSE(std::regex_search(line, negative)) << line << "\n" << joined(arguments);
  }
  const auto has = [&](const char* word) { return std::find(arguments.begin(), arguments.end(), word) != arguments.end(); };
  if (has("--json") && has("--every")) {
    std::istringstream objects{outcome.out};
    Outcome object;
    while (std::getline(objects, object.out)) expect_enclosures(object.json(), said);
  } else if (has("--json") && !outcome.out.empty()) {
    expect_enclosures(outcome.json(), said);
  }
  const std::string error = without_notes(outcome.err);
  if (has("--json=2") && !outcome.out.empty()) {
    const auto object = outcome.json();
    EXPECT_EQ(object["version"], 2) << said;
    EXPECT_EQ(object.contains("error"), outcome.code > 1 || !error.empty()) << said;
    expect_enclosures(object, said);
    EXPECT_EQ(error.empty(), !object.contains("error")) << said;
  } else if (outcome.code > 1) {
    EXPECT_TRUE(is_one_error_line(error)) << said;
    EXPECT_EQ(outcome.out, "") << said;
  } else if (outcome.code == 1) {
    EXPECT_TRUE(error.empty() || (is_one_error_line(error) && outcome.out.empty())) << said;
  } else {
    EXPECT_EQ(error, "") << said;
  }
}

Outcome surety(const Words& arguments, const Surroundings& around) {
  auto outcome = Process{arguments, around}.finish();
  expect_sound(arguments, outcome);
  return outcome;
}

void expect_refused(const Words& arguments, int code, const Words& words) {
  const auto outcome = surety(arguments);
  EXPECT_EQ(outcome.code, code) << joined(arguments) << "\n" << outcome.out << outcome.err;
  for (const auto& word : words) {
    EXPECT_NE(outcome.err.find(word), std::string::npos) << joined(arguments) << "\nsays: " << outcome.err << "without: " << word;
  }
}

std::string contents(const std::filesystem::path& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file{path, std::ios::binary};
  file << text;
}

std::map<std::string, std::string> CommandTest::files() const {
  std::map<std::string, std::string> result;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::recursive_directory_iterator{path("")}) {
    result[entry.path().string()] = entry.is_symlink()               ? "-> " + std::filesystem::read_symlink(entry.path()).string()
                                    : entry.is_regular_file(ignored) ? contents(entry.path())
                                                                     : "";
  }
  return result;
}

void CommandTest::expect_refused_untouched(const Words& arguments, int code, const Words& words) const {
  const auto before = files();
  expect_refused(arguments, code, words);
  EXPECT_TRUE(before == files()) << joined(arguments) << " changed a file";
}

std::string CommandTest::small_data(int rows) const {
  std::string text = "x,y,label\n";
  for (int i = 0; i < rows; ++i) text += std::to_string(i % 7 - 3) + "," + std::to_string(i % 5) + "," + std::to_string(i % 7 / 4) + "\n";
  write(path("small.csv"), text);
  return path("small.csv");
}

Words CommandTest::train(const std::string& data, const std::string& label, const std::string& algorithm) const {
  return {"train",     data, "--label", label,  "--algorithm", algorithm,      "--steps", "5",
          "--epsilon", "1",  "--delta", "1e-5", "--ledger",    path("run.db"), "--model", path("model.json")};
}

std::size_t CommandTest::runs_in(const std::string& ledger) {
  const auto listed = surety({"ledger", "list", ledger, "--json"});
  EXPECT_EQ(listed.code, 0) << listed.err;
  return listed.code == 0 ? listed.json()["runs"].size() : 0;
}

}  // namespace surety_test
