#include <surety/statistics/totals.h>

#include <cstddef>
#include <type_traits>
#include <utility>

#include <surety/base/text/error.h>

namespace surety::statistics {
namespace {

template <class Whole>
Whole sum_of(Whole a, Whole b) {
  Whole sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) invalid("totals of parts add up to more than any records do");
  return sum;
}

GroupSum sum_of(const GroupSum& a, const GroupSum& b) { return {sum_of(a.units, b.units), sum_of(a.steps, b.steps)}; }

void add_to(StepTotal& total, const StepTotal& more) {
  if (total.steps.size() != more.steps.size()) invalid("totals of parts have another number of sums, must be of one plan");
  for (std::size_t k = 0; k < total.steps.size(); ++k) total.steps[k] = sum_of(total.steps[k], more.steps[k]);
}

/// Counts by what they are of, both ascending.
template <class Total>
void add_counts(Total& total, const Total& more) {
  std::decay_t<decltype(total.counts)> sum;
  sum.reserve(total.counts.size() + more.counts.size());
  auto a = total.counts.begin();
  auto b = more.counts.begin();
  while (a != total.counts.end() && b != more.counts.end()) {
    if (a->first < b->first) {
      sum.push_back(std::move(*a++));
    } else if (b->first < a->first) {
      sum.push_back(*b++);
    } else {
      sum.emplace_back(std::move(a->first), sum_of(a->second, b->second));
      ++a;
      ++b;
    }
  }
  for (; a != total.counts.end(); ++a) sum.push_back(std::move(*a));
  sum.insert(sum.end(), b, more.counts.end());
  total.counts = std::move(sum);
}
void add_to(RankTotal& total, const RankTotal& more) { add_counts(total, more); }
void add_to(KeyTotal& total, const KeyTotal& more) { add_counts(total, more); }
void add_to(GroupTotal& total, const GroupTotal& more) { add_counts(total, more); }

}  // namespace

void add(QueryTotal& total, const QueryTotal& more) {
  std::visit(
      [&](auto& sum) {
        const auto* const same = std::get_if<std::decay_t<decltype(sum)>>(&more);
        if (same == nullptr) invalid("totals of parts are of queries of another kind, must be of one plan");
        add_to(sum, *same);
      },
      total);
}

}  // namespace surety::statistics
