// Sums over records on several threads: each has a sum of its own, and integers add up to the same whatever the parts were.
#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace surety::optimizers::detail {

/// Calls add(begin, end, part) for consecutive parts of 0 .. count, each on a thread of its own and with a sum of its own, which are merged
/// into `sum`. Small parts are not worth a thread. Rethrows what `add` throws; then `sum` holds some of the records.
/// \pre Sum is made from its `options()`, and `merge` adds another exactly
template <class Sum, class Add>
void in_parts(std::size_t count, std::size_t threads, Sum& sum, const Add& add) {
  constexpr std::size_t worth_a_thread = 2048;
  const std::size_t parts = std::clamp<std::size_t>(count / worth_a_thread, 1, std::max<std::size_t>(threads, 1));
  const auto begin_of = [&](std::size_t part) { return count / parts * part + std::min(part, count % parts); };
  std::vector<Sum> others(parts - 1, Sum{sum.options()});
  std::vector<std::exception_ptr> failures(parts - 1);
  const auto run = [&](std::size_t part) noexcept {
    try {
      add(begin_of(part), begin_of(part + 1), others[part - 1]);
    } catch (...) {
      failures[part - 1] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> running;
    running.reserve(parts - 1);
    std::size_t part = 1;
    try {
      for (; part < parts; ++part) running.emplace_back(run, part);
    } catch (const std::system_error&) {
      for (; part < parts; ++part) run(part);  // no more threads to be had
    }
    add(0, begin_of(1), sum);
  }
  for (const auto& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  for (const auto& other : others) sum.merge(other);
}

}  // namespace surety::optimizers::detail
