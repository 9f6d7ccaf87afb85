// Prints how many of 2,000 random events that are answered (epsilon at delta 1e-6) have an opinion that rests on nothing of the answer's, beside how many
// have one by another name: the numbers of docs/decisions/architecture.md. Two minutes; questions of more than 3 s are left out.
#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/answers/best.h>
#include <surety/base/numbers/limit.h>

#include <support/random_events.h>

int main() {
  using namespace surety;
  const std::vector<Adjacency> adjacencies{Adjacency::add_or_remove_one, Adjacency::replace_one, Adjacency::zero_out};
  fuzz::Source source{20261124};
  int answered = 0;
  int by_name = 0;
  int independent = 0;
  while (answered < 2000) {
    const auto adjacency = source.pick(adjacencies);
    const auto text = fuzz::WildEvents{source, adjacency}.event();
    try {
      const Limit limit{{.seconds = 3.0}};
      const auto best = accounting::best_epsilon(parse_event(text, adjacency), Delta{1e-6}, {.width = 1e-2});
      ++answered;
      const auto answers = std::count_if(best.opinions.begin(), best.opinions.end(), [](const auto& one) { return one.value.has_value(); });
      by_name += answers > 1 ? 1 : 0;
      independent += second_opinion(best) != nullptr ? 1 : 0;
    } catch (const Error& error) {
      if (error.code() == ErrorCode::internal) throw;
    }
  }
  fmt::print("of {} answers {} have another one, {} one that rests on nothing of theirs\n", answered, by_name, independent);
}
