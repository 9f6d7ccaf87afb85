#include <surety/optimizers/problem/gradient_sum.h>

#include <algorithm>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace surety::optimizers::detail {

namespace {

/// The scores of `together` dense rows of as many features, side by side.
template <std::size_t together>
void dense_scores(const RowView* rows, std::span<const double> weights, double* scores) {
  std::array<const double*, together> values;
  for (std::size_t i = 0; i < together; ++i) values[i] = rows[i].values.data();
  std::array<double, together> sums{};
  for (std::size_t k = 0; k < weights.size(); ++k) {
    const double weight = weights[k];
    for (std::size_t i = 0; i < together; ++i) sums[i] += values[i][k] * weight;
  }
  for (std::size_t i = 0; i < together; ++i) scores[i] = sums[i];
}

}  // namespace

void compute_scores(std::span<const RowView> rows, std::span<const double> weights, std::span<double> scores) {
  constexpr std::size_t together = 8;
  std::size_t i = 0;
  while (i < rows.size()) {
    const auto next = rows.subspan(i);
    const auto is_full = [&](const RowView& row) { return row.indices.empty() && row.values.size() == weights.size(); };
    if (next.size() >= together && std::all_of(next.begin(), next.begin() + together, is_full)) {
      dense_scores<together>(next.data(), weights, &scores[i]);
      i += together;
    } else {
      scores[i] = rows[i].dot(weights);
      ++i;
    }
  }
}

void in_parts(std::size_t count, std::size_t threads, mechanisms::RecordSum& sum,
              const std::function<void(std::size_t begin, std::size_t end, mechanisms::RecordSum& part)>& add) {
  constexpr std::size_t worth_a_thread = 2048;
  const std::size_t parts = std::clamp<std::size_t>(count / worth_a_thread, 1, std::max<std::size_t>(threads, 1));
  const auto begin_of = [&](std::size_t part) { return count / parts * part + std::min(part, count % parts); };
  std::vector<mechanisms::RecordSum> others(parts - 1, mechanisms::RecordSum{sum.options()});
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
