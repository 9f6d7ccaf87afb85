// Memory that runs out within the library, at each allocation in turn: no crash, a code, nothing lost. This program replaces operator new, also for
// the shared library. Functions of JSON and of ledgers are not here: the JSON library allocates in its destructors, and ends the process where that
// fails; nor is what MPFR allocates, which does so too. A process may end at any time without harm to a ledger.
#include <surety.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>

#include <support/temporary_folder.h>

namespace surety::memory_test {
namespace {

/// Of this thread: while armed, allocation number `fails_at` throws, and with `all_after` all later ones.
struct Failing {
  bool is_armed = false;
  bool all_after = false;
  long fails_at = 0;
  long allocated = 0;
  long living = 0;
};
thread_local Failing failing;

void* allocate(std::size_t size, std::size_t alignment) {
  if (failing.is_armed) {
    ++failing.allocated;
    if (failing.allocated == failing.fails_at || (failing.all_after && failing.allocated > failing.fails_at)) throw std::bad_alloc{};
  }
  void* const memory = std::aligned_alloc(alignment, (size + alignment) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc{};
  ++failing.living;
  return memory;
}

void give_back(void* memory) noexcept {
  if (memory == nullptr) return;
  --failing.living;
  std::free(memory);
}

}  // namespace
}  // namespace surety::memory_test

void* operator new(std::size_t size) { return surety::memory_test::allocate(size, 16); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return surety::memory_test::allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { surety::memory_test::give_back(memory); }
void operator delete(void* memory, std::size_t /*size*/) noexcept { surety::memory_test::give_back(memory); }
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept { surety::memory_test::give_back(memory); }
void operator delete(void* memory, std::size_t /*size*/, std::align_val_t /*alignment*/) noexcept {
  surety::memory_test::give_back(memory);
}

namespace surety::memory_test {
namespace {

/// `call(failure)` with its n-th allocation failing, alone or with all after it, for n = 1, 2, ... until one call needs fewer; in larger steps
/// later on. `undo` frees what a call that succeeded has made.
void starve(const char* name, const std::function<surety_code(surety_failure**)>& call, const std::function<void()>& undo) {
  // What is made once for the process.
  ASSERT_EQ(call(nullptr), SURETY_OK) << name;
  undo();
  long refusals = 0;
  for (const bool all_after : {false, true}) {
    for (long n = 1;; n += 1 + n / 20) {
      surety_failure* failure = nullptr;
      const long before = failing.living;
      failing = {.is_armed = true, .all_after = all_after, .fails_at = n, .allocated = 0, .living = before};
      const auto code = call(&failure);
      failing.is_armed = false;
      const bool was_starved = failing.allocated >= n;
      if (code == SURETY_OK) {
        undo();
      } else {
        ++refusals;
        ASSERT_TRUE(was_starved) << name << ": " << surety_failure_message(failure);
        ASSERT_EQ(code, SURETY_ENVIRONMENT) << name << ", allocation " << n << ": " << surety_failure_message(failure);
        ASSERT_STREQ(surety_failure_message(failure), "no memory is left") << name;
        surety_failure_free(failure);
      }
      ASSERT_EQ(failing.living, before) << name << ", allocation " << n << (code == SURETY_OK ? "" : " refused");
      if (!was_starved) break;
    }
  }
  EXPECT_GT(refusals, 1) << name << ": no allocation of it was seen";
}

TEST(SuretyCMemory, RunsOutWithACode) {
  const std::string text = "repeat(10, gaussian(1.5))";
  surety_event* event = nullptr;
  const auto parse = [&](surety_failure** failure) {
    return surety_event_parse(text.data(), text.size(), SURETY_ADD_OR_REMOVE_ONE, &event, failure);
  };
  const auto free_event = [&] {
    surety_event_free(event);
    event = nullptr;
  };
  starve("parse", parse, free_event);
  ASSERT_EQ(parse(nullptr), SURETY_OK);
  char* described = nullptr;
  starve(
      "text", [&](surety_failure** failure) { return surety_event_text(event, &described, nullptr, failure); },
      [&] { surety_free(described); });
  surety_enclosure found{};
  starve(
      "epsilon", [&](surety_failure** failure) { return surety_epsilon(event, 1e-5, 1, &found, nullptr, failure); }, [] {});
  const double at = 0.5;
  starve(
      "curve", [&](surety_failure** failure) { return surety_curve(event, &at, 1, 1, &found, failure); }, [] {});
  surety_solution solution{};
  solution.size = sizeof solution;
  surety_event* solved = nullptr;
  starve(
      "solve",
      [&](surety_failure** failure) {
        return surety_solve("repeat(3, gaussian(z))", 22, "z", 1, SURETY_ZERO_OUT, 1, 1e-6, 1, &solution, &solved, failure);
      },
      [&] { surety_event_free(solved); });
  surety_noise_options options{};
  options.size = sizeof options;
  options.scale = 2;
  options.sensitivity = 1;
  options.dimension = 3;
  surety_noise* noise = nullptr;
  const auto make = [&](surety_failure** failure) { return surety_k_norm_create(&options, SURETY_L2, &noise, failure); };
  starve("k_norm", make, [&] { surety_noise_free(noise); });
  ASSERT_EQ(make(nullptr), SURETY_OK);
  double values[3] = {1, 2, 3};
  starve(
      "release", [&](surety_failure** failure) { return surety_release_double(noise, values, 3, failure); }, [] {});
  surety_noise_free(noise);
  starve(
      "gaussian", [&](surety_failure** failure) { return surety_gaussian_create(&options, &noise, failure); },
      [&] { surety_noise_free(noise); });
  surety_event_free(event);
}

// Bytes of two parts, whose functions know no JSON.
TEST(SuretyCMemory, RunsOutWithACodeWherePartsMeet) {
  const TemporaryFolder folder;
  const auto path = folder.write("part.csv", "a,town\n1,Ulm\n2,Bonn\n1,Ulm\n").string();
  const std::string plan =
      R"x({"version": 1, "command": "release", "adjacency": "zero-out", "target": {"epsilon": 1, "delta": 1e-6}, "options": )x"
      R"x({"query": ["sum(a)", {"query": "count()", "by": "town", "keys": ["Ulm", "Bonn"]}], "bounds": "0,2"}})x";
  surety_ledger* ledger = nullptr;
  ASSERT_EQ(surety_ledger_create((folder / "run.db").c_str(), SURETY_ZERO_OUT, nullptr, nullptr, &ledger, nullptr), SURETY_OK);
  char* ticket = nullptr;
  std::size_t ticket_length = 0;
  ASSERT_EQ(surety_parts_begin(plan.data(), plan.size(), 2, ledger, nullptr, &ticket, &ticket_length, nullptr), SURETY_OK);
  char* parts[2]{};
  std::size_t lengths[2]{};
  for (const std::uint32_t part : {0U, 1U}) {
    ASSERT_EQ(surety_parts_partial(ticket, ticket_length, part, path.c_str(), &parts[part], &lengths[part], nullptr), SURETY_OK);
  }
  char* merged = nullptr;
  std::size_t length = 0;
  starve(
      "merge",
      [&](surety_failure** failure) { return surety_parts_merge(parts[0], lengths[0], parts[1], lengths[1], &merged, &length, failure); },
      [&] { surety_free(merged); });
  for (char* bytes : {ticket, parts[0], parts[1]}) surety_free(bytes);
  surety_ledger_free(ledger);
}

}  // namespace
}  // namespace surety::memory_test
