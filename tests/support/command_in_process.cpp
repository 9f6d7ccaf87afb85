#include <support/command_in_process.h>

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include <surety/cli/process/run.h>

namespace surety_test {
namespace {

/// Sends a descriptor to a file as long as it lives.
class Redirected {
 public:
  Redirected(std::FILE* stream, std::string path) : stream_{stream}, path_{std::move(path)}, kept_{dup(fileno(stream))} {
    std::fflush(stream_);
    const int file = open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (kept_ == -1 || file == -1 || dup2(file, fileno(stream_)) == -1) throw std::runtime_error{"standard output cannot be kept"};
    close(file);
  }
  Redirected(const Redirected&) = delete;
  Redirected& operator=(const Redirected&) = delete;
  ~Redirected() {
    std::fflush(stream_);
    dup2(kept_, fileno(stream_));
    close(kept_);
  }
  [[nodiscard]] std::string text() const {
    std::fflush(stream_);
    std::ifstream file{path_, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
  }

 private:
  std::FILE* stream_;
  std::string path_;
  int kept_;
};

}  // namespace

Said command_in_process(const std::vector<std::string>& words, const std::string& folder) {
  const Redirected out{stdout, folder + "/out"};
  const Redirected err{stderr, folder + "/err"};
  const int code = surety::cli::run_command(words);
  return {.code = code, .out = out.text(), .err = err.text()};
}

nlohmann::json without_what_is_not_private(const nlohmann::json& json) {
  if (!json.is_object()) return json;
  nlohmann::json rest = nlohmann::json::object();
  for (const auto& [key, value] : json.items()) {
    if (!key.ends_with("_not_private")) rest[key] = without_what_is_not_private(value);
  }
  return rest;
}

}  // namespace surety_test
