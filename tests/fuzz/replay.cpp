// fuzz_NAME FOLDER INPUTS: puts each kept input of the folder to a target, and then changes of them, the same ones in every run, until there were INPUTS
// of them in all. The driver for compilers without libFuzzer; what it finds ends it with a signal, behind a line that says which input it was.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "target.h"

/// Of targets that have one.
extern "C" __attribute__((weak)) std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                                                     unsigned int seed);

namespace {

constexpr std::size_t longest = 4096;
std::string current;

void say_input(int signal) {
  std::fprintf(stderr, "fuzz: signal %d by the input of %zu bytes:\n", signal, current.size());
  for (const char byte : current.substr(0, 4000)) std::fprintf(stderr, "\\x%02x", static_cast<unsigned char>(byte));
  std::fprintf(stderr, "\n");
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void run(std::string input) {
  current = std::move(input);
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(current.data()), current.size());
}

/// One to eight changes: bytes, pieces of this and of other inputs, and words that formats know.
std::string changed(std::string input, const std::vector<std::string>& all, std::mt19937_64& random) {
  static const std::vector<std::string> words{"\"",
                                              "\n",
                                              "\r\n",
                                              ",",
                                              "0",
                                              "-1",
                                              "1e400",
                                              "nan",
                                              "null",
                                              "true",
                                              "{}",
                                              "[",
                                              "]",
                                              "{",
                                              "}",
                                              ":",
                                              "\xff",
                                              std::string(1, '\0'),
                                              "9007199254740993",
                                              "1e-320",
                                              "\\u0000",
                                              "\x1f\x8b",
                                              "(",
                                              ")",
                                              "=",
                                              "\xef\xbb\xbf",
                                              "18446744073709551616",
                                              "0.1",
                                              "\"\""};
  const auto below = [&](std::size_t count) { return count == 0 ? 0 : static_cast<std::size_t>(random() % count); };
  for (std::size_t n = 1 + below(8); n > 0; --n) {
    const std::size_t at = below(input.size() + 1);
    switch (below(6)) {
      case 0:
        if (at < input.size()) input[at] = static_cast<char>(below(256));
        break;
      case 1:
        if (at < input.size()) input[at] = static_cast<char>(input[at] ^ (1 << below(8)));
        break;
      case 2: input.insert(at, words[below(words.size())]); break;
      case 3: input.erase(at, 1 + below(8)); break;
      case 4: {
        const auto& other = all[below(all.size())];
        const std::size_t from = below(other.size() + 1);
        input.insert(at, other.substr(from, 1 + below(40)));
        break;
      }
      default: {
        const auto piece = input.substr(at, 1 + below(16));
        input.insert(below(input.size() + 1), piece);
      }
    }
  }
  if (input.size() > longest) input.resize(longest);
  return input;
}

std::vector<std::string> kept;
std::mt19937_64 random_changes{1};

/// By the target's own mutator, which knows its format.
std::string changed_by_target(std::string input) {
  const auto size = input.size();
  input.resize(std::max(size, longest));
  input.resize(LLVMFuzzerCustomMutator(reinterpret_cast<std::uint8_t*>(input.data()), size, input.size(),
                                       static_cast<unsigned int>(random_changes())));
  return input;
}

}  // namespace

/// As the function of libFuzzer, which mutators call for the bytes in a text.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most) {
  auto bytes = changed({reinterpret_cast<const char*>(data), size}, kept, random_changes);
  bytes.resize(std::min(bytes.size(), most));
  std::copy(bytes.begin(), bytes.end(), data);
  return bytes.size();
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  for (const int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGILL, SIGBUS}) std::signal(signal, say_input);
  std::vector<std::filesystem::path> paths;
  for (const auto& file : std::filesystem::directory_iterator{argv[1]}) paths.push_back(file.path());
  std::sort(paths.begin(), paths.end());
  for (const auto& path : paths) {
    std::ifstream file{path, std::ios::binary};
    kept.emplace_back(std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{});
  }
  if (kept.empty()) {
    std::fprintf(stderr, "fuzz: %s holds no input\n", argv[1]);
    return 2;
  }
  for (const auto& input : kept) run(input);
  const std::size_t inputs = std::strtoul(argv[2], nullptr, 10);
  for (std::size_t k = kept.size(); k < inputs; ++k) {
    const auto& input = kept[static_cast<std::size_t>(random_changes() % kept.size())];
    run(LLVMFuzzerCustomMutator != nullptr && k % 2 == 0 ? changed_by_target(input) : changed(input, kept, random_changes));
  }
  std::printf("%zu inputs, of which %zu are kept\n", std::max(inputs, kept.size()), kept.size());
  return 0;
}
