// random_answers [EVENTS [SECONDS [SEED]]]: what is answered of random events of the grammar, epsilon at delta 1e-6, each in at most so many seconds of
// this process's time (default 10,000 events, 2 s). Prints a page for scripts/result_page.py, with a table of all events that were not answered with a
// lower end above 0 within a tenth.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/answers/best.h>
#include <surety/accounting/events/format.h>
#include <surety/base/numbers/limit.h>

#include <support/random_events.h>

namespace {

using namespace surety;

double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// The sentence of a refusal without the event and its numbers: what is counted together.
std::string kind_of(std::string reason) {
  reason = reason.substr(0, reason.find(" (in event"));
  if (reason.starts_with("no accountant has a theorem")) {
    // The event may be cut off before its last bracket: what is said of it begins with the name of who says it.
    for (const auto name : accounting::accountant_names()) {
      if (const auto at = reason.find(fmt::format(": {}: ", name)); at != std::string::npos) reason = reason.substr(at + 2);
    }
  }
  std::string kind;
  for (std::size_t i = 0; i < reason.size();) {
    if (const bool digit = reason[i] >= '0' && reason[i] <= '9'; !digit) {
      kind += reason[i++];
      continue;
    }
    kind += "N";
    while (i < reason.size() && std::string_view{"0123456789.e+-"}.find(reason[i]) != std::string_view::npos) ++i;
  }
  // Of a sentence about a part, what stands before the part.
  const auto part = kind.find('(');
  if (part == std::string::npos) return kind;
  const auto word = kind.rfind(' ', part);
  const auto end = kind.rfind(')');
  return kind.substr(0, word == std::string::npos ? 0 : word + 1) + "it" + kind.substr(end + 1);
}

struct Answered {
  std::string text;
  Adjacency adjacency;
  Enclosure epsilon;
  double seconds;
  [[nodiscard]] double width() const {
    return std::isinf(epsilon.upper) ? (std::isinf(epsilon.lower) ? 0 : 1) : epsilon.upper > 0 ? epsilon.width() / epsilon.upper : 0;
  }
};

struct Found {
  std::vector<Answered> answered;
  std::vector<Answered> stopped;  ///< without an answer
  std::map<std::string, std::size_t> meaningless;
  std::map<std::string, std::size_t> refused;
};

std::size_t total(const std::map<std::string, std::size_t>& counts) {
  std::size_t all = 0;
  for (const auto& [reason, count] : counts) all += count;
  return all;
}

Found ask(std::size_t events, double seconds, std::uint64_t seed) {
  const std::vector<Adjacency> adjacencies{Adjacency::add_or_remove_one, Adjacency::replace_one, Adjacency::zero_out};
  fuzz::Source source{seed};
  Found found;
  for (std::size_t i = 0; i < events; ++i) {
    const auto adjacency = source.pick(adjacencies);
    const auto text = fuzz::WildEvents{source, adjacency}.event();
    const double before = processor_seconds();
    bool is_event = false;
    try {
      const Event event = parse_event(text, adjacency);
      is_event = true;
      const Limit limit{{.seconds = seconds, .clock = processor_seconds}};
      const auto epsilon = accounting::best_epsilon(event, Delta{1e-6}).value;
      found.answered.push_back({text, adjacency, epsilon, processor_seconds() - before});
    } catch (const Error& error) {
      if (error.code() == ErrorCode::internal) throw;
      if (error.code() == ErrorCode::stopped) {
        found.stopped.push_back({text, adjacency, {0, 0}, processor_seconds() - before});
      } else {
        ++(is_event ? found.refused : found.meaningless)[kind_of(error.what())];
      }
    }
  }
  return found;
}

std::string shown(const Answered& one) {
  return fmt::format("| `{}` | {} | {:.7g} | {:.7g} | {:.2g} | {:.2f} |\n", one.text, name(one.adjacency), one.epsilon.lower,
                     one.epsilon.upper, one.width(), one.seconds);
}

/// Whether the answer leaves something to ask for.
bool is_wide(const Answered& one) { return (one.epsilon.lower == 0 && one.epsilon.upper > 0) || one.width() > 0.1; }

void table_of_refusals(const std::map<std::string, std::size_t>& counts, const std::string& kind) {
  std::vector<std::pair<std::size_t, std::string>> sorted;
  for (const auto& [reason, count] : counts) sorted.emplace_back(count, reason);
  std::sort(sorted.rbegin(), sorted.rend());
  constexpr std::size_t most = 20;
  std::size_t rest = 0;
  fmt::print(
      "<!-- csv {}\"file\": \"random-events-refused\", \"keep\": \"^(refused|invalid) . ([4-9][0-9]|[0-9]{{3,}}) \", \"columns\": [\"events\", \"reason\"], \"kind\": \"{}\"{} -->\n",
      "{", kind, "}");
  fmt::print("| events | reason |\n|---|---|\n");
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (i < most) {
      fmt::print("| {} | {} |\n", sorted[i].first, sorted[i].second);
    } else {
      rest += sorted[i].first;
    }
  }
  if (rest > 0) fmt::print("| {} | {} other reasons |\n", rest, sorted.size() - most);
  fmt::print("\n");
}

void print_page(std::size_t events, double seconds, std::uint64_t seed) {
  const double start = processor_seconds();
  auto found = ask(events, seconds, seed);
  const auto zero = [](const Answered& one) { return one.epsilon.lower == 0 && one.epsilon.upper > 0; };
  const auto zeros = std::count_if(found.answered.begin(), found.answered.end(), zero);
  const auto vacuous = std::count_if(found.answered.begin(), found.answered.end(),
                                     [](const Answered& one) { return std::isinf(one.epsilon.upper) && !std::isinf(one.epsilon.lower); });
  std::vector<double> widths;
  for (const auto& one : found.answered) widths.push_back(one.width());
  std::sort(widths.begin(), widths.end());
  const auto share = [&](double at) {
    return widths.empty() ? 0 : widths[std::min(widths.size() - 1, static_cast<std::size_t>(at * static_cast<double>(widths.size())))];
  };
  fmt::print("# Random events\n\nMade by\n\n    scripts/random-answers {} {}\n\n", events, seconds);
  fmt::print(
      "{} random events of the grammar with extreme parameters (`tests/support/random_events.h`, seed {}): epsilon at delta 1e-6, at most {} s of processor time each.\n",
      events, seed, seconds);
  fmt::print("It took {:.0f} s.\n\n", processor_seconds() - start);
  fmt::print("| what | events |\n|---|---|\n");
  fmt::print("| invalid: a parameter violates its constraint | {} |\n", total(found.meaningless));
  fmt::print("| refused: no bound is known, or it needs too much memory | {} |\n", total(found.refused));
  fmt::print("| stopped after {} s | {} |\n", seconds, found.stopped.size());
  fmt::print(
      "| answered | {} |\n| of these, with a lower bound of 0 and a positive upper bound | {} |\n| of these, with only the upper bound infinite | {} |\n\n",
      found.answered.size(), zeros, vacuous);
  fmt::print("Widths, (upper - lower) / upper: half of the answers are within {:.2g}, 9 of 10 within {:.2g}, 99 of 100 within {:.2g}.\n\n",
             share(0.5), share(0.9), share(0.99));
  fmt::print("## Refused\n\n");
  table_of_refusals(found.refused, "refused");
  fmt::print("## Invalid\n\n");
  table_of_refusals(found.meaningless, "invalid");
  std::stable_sort(found.answered.begin(), found.answered.end(),
                   [&](const Answered& a, const Answered& b) { return a.width() > b.width(); });
  const std::string header = "| event | adjacency | lower | upper | width | s |\n|---|---|---|---|---|---|\n";
  const auto finite = [&](const Answered& one) { return !zero(one) && !std::isinf(one.epsilon.upper); };
  fmt::print(
      "## The largest 20 widths with a positive lower bound and a finite upper bound\n\n<!-- csv {{\"file\": \"random-events-largest\"}} -->\n{}",
      header);
  std::size_t told = 0;
  for (const auto& one : found.answered) {
    if (finite(one) && told++ < 20) fmt::print("{}", shown(one));
  }
  fmt::print(
      "\n## Lower bounds of 0, widths above a tenth, and stopped events\n\n<!-- csv {{\"file\": \"random-events-wide\", \"keep\": \"^$\"}} -->\n{}",
      header);
  for (const auto& one : found.stopped) fmt::print("{}", shown(one));
  for (const auto& one : found.answered) {
    if (is_wide(one)) fmt::print("{}", shown(one));
  }
}

}  // namespace

int main(int count, char** words) {
  const std::vector<std::string> said(words + 1, words + count);
  print_page(said.empty() ? 10000 : std::strtoull(said[0].c_str(), nullptr, 10),
             said.size() > 1 ? std::strtod(said[1].c_str(), nullptr) : 2,
             said.size() > 2 ? std::strtoull(said[2].c_str(), nullptr, 10) : 28);
}
