#include <surety/accounting/events/words.h>

#include <fmt/format.h>

#include <vector>

#include <surety/base/text/safe_text.h>

namespace surety {
namespace {

/// How many letters have to be changed, left out, put in or swapped with their neighbour.
std::size_t letters_between(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

std::string did_you_mean(std::string_view word, std::span<const std::string_view> known) {
  constexpr std::size_t longest = 64;  // longer words are no typing errors
  if (word.size() > longest) return {};
  std::string_view best;
  std::size_t least = 0;
  for (const auto candidate : known) {
    // The beginning of a word stands for it, as "replace" for replace-one.
    const bool is_beginning = word.size() >= 3 && word != candidate && candidate.starts_with(word);
    const std::size_t found = is_beginning ? 1 : letters_between(word, candidate);
    const std::size_t most = std::max<std::size_t>(1, std::min(word.size(), candidate.size()) / 3);
    if (found == 0 || found > most || found >= candidate.size()) continue;
    if (best.empty() || found < least) {
      best = candidate;
      least = found;
    }
  }
  return best.empty() ? std::string{} : fmt::format("; did you mean '{}'?", best);
}

void accounting::refuse_word(std::string_view what, std::string_view word, std::span<const std::string_view> known) {
  invalid(fmt::format("{} is '{}', must be {} or {}{}", what, one_line(word), fmt::join(known.first(known.size() - 1), ", "), known.back(),
                      did_you_mean(word, known)));
}

}  // namespace surety
