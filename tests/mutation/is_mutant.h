// What scripts/mutate writes into its copies of the sources: all mutants are compiled at once, and SURETY_MUTANT chooses one of them.
//
// SURETY_MUTANTS_REACHED names a file into which the numbers of all mutants are written, at the end, whose place was reached.
#pragma once

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace mutants {

inline constexpr unsigned most = 8192;
inline std::array<std::atomic<bool>, most> reached{};

inline unsigned chosen() noexcept {
  static const unsigned number = [] {
    if (std::getenv("SURETY_MUTANTS_REACHED") != nullptr) {
      std::atexit([] {
        std::FILE* const file = std::fopen(std::getenv("SURETY_MUTANTS_REACHED"), "w");
        if (file == nullptr) return;
        for (unsigned id = 0; id < most; ++id) {
          if (reached[id].load(std::memory_order_relaxed)) std::fprintf(file, "%u\n", id);
        }
        std::fclose(file);
      });
    }
    const char* const said = std::getenv("SURETY_MUTANT");
    return said == nullptr ? 0U : static_cast<unsigned>(std::strtoul(said, nullptr, 10));
  }();
  return number;
}

}  // namespace mutants

/// Whether this mutant is the one that was chosen.
inline bool is_mutant(unsigned id) noexcept {
  const unsigned number = mutants::chosen();
  if (!mutants::reached[id].load(std::memory_order_relaxed)) mutants::reached[id].store(true, std::memory_order_relaxed);
  return number == id;
}
