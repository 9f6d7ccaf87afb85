#include <surety/accounting/answers/by_parts.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <variant>

#include <surety/accounting/answers/loss_tests.h>
#include <surety/accounting/answers/rare_batches.h>
#include <surety/accounting/events/releases.h>
#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/rounding.h>
#include <surety/base/text/error.h>

namespace surety::accounting {
namespace {

constexpr std::size_t most_parts = 4;
/// An upper end so many times the lower one is wide: all parts together cost at least what the dearest of them does.
constexpr double wide_epsilon = 2;
constexpr double wide_delta = 100;

/// How much of what is given each part may spend.
using Spending = std::vector<double>;

// Proved: docs/proofs/composition.md#by-parts
/// The sum of what the parts cost, which spend no more than is given; or a part of it that is no less than `below`.
double sum_at(const Spending& spending, double given, double below, const std::function<double(std::size_t part, double spent)>& cost) {
  Upper sum{0};
  Lower left{Exact{given}};
  for (std::size_t i = 0; i < spending.size(); ++i) {
    const double spent = std::max(0.0, std::min(spending[i], left.value()));
    left = left - Exact{spent};
    if (const double one = cost(i, spent); one > 0) sum += Exact{one};
    if (!(sum.value() < below)) break;
  }
  return sum.value();
}
// Proved so far.

/// To some parts so much of what is given, and what is left to the others that it helps, equally.
Spending rest_to(const std::vector<double>& first, double given, const std::vector<bool>& is_helped) {
  double left = given;
  for (const double one : first) left -= one;
  const auto helped = static_cast<double>(std::count(is_helped.begin(), is_helped.end(), true));
  Spending spending = first;
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (is_helped[i]) spending[i] = std::max(0.0, left / helped);
  }
  return spending;
}

/// To all equally, and most of it to each in turn.
std::vector<Spending> among_all(std::size_t parts, double given) {
  constexpr double most = 0.9;
  std::vector<Spending> all{Spending(parts, given / static_cast<double>(parts))};
  for (std::size_t i = 0; i < parts; ++i) {
    all.emplace_back(parts, given * (1 - most) / static_cast<double>(parts - 1));
    all.back()[i] = most * given;
  }
  return all;
}

/// Parts, and what is asked about each.
class Asked {
 public:
  Asked(const std::vector<Event>& parts, const Question& question, const std::function<Enclosure(const Event&, const Question&)>& ask)
      : parts_{parts}, asks_epsilon_{std::holds_alternative<Delta>(question)}, ask_{ask} {
    for (const auto& part : parts) joined_.push_back(most_joined(part));
  }

  [[nodiscard]] double cost(std::size_t part, double spent) const {
    if (!asks_epsilon_) return std::min(joined_[part], ask_(parts_[part], Epsilon{spent}).upper);
    return spent >= joined_[part] ? 0 : ask_(parts_[part], Delta{spent}).upper;
  }
  /// Where a record is hardly in a batch, a part costs no epsilon at that delta. Of the others some may need none.
  void add_by_need(double given, std::vector<Spending>& all) const {
    std::vector<double> first;
    std::vector<bool> is_rest;
    std::vector<bool> needs_delta;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const bool is_rare = joined_[i] < (asks_epsilon_ ? given : 1);
      first.push_back(is_rare && asks_epsilon_ ? joined_[i] : 0);
      is_rest.push_back(!is_rare);
      needs_delta.push_back(!is_rare && asks_epsilon_ && !(cost(i, 0) < infinity));
    }
    for (const auto& is_helped : {is_rest, needs_delta}) {
      if (std::count(is_helped.begin(), is_helped.end(), true) > 0) all.push_back(rest_to(first, given, is_helped));
    }
  }

 private:
  const std::vector<Event>& parts_;
  bool asks_epsilon_;
  const std::function<Enclosure(const Event&, const Question&)>& ask_;
  std::vector<double> joined_;
};

}  // namespace

std::optional<std::vector<Event>> few_parts(const Event& event) {
  const auto entries = Releases::of(event).entries();
  if (entries.size() < 2 || entries.size() > most_parts) return std::nullopt;
  std::vector<Event> parts;
  for (const auto& [leaf, count] : entries) parts.push_back(count == Count{1} ? leaf : repeat(count, leaf));
  return parts;
}

bool may_add_up_to_less(const std::vector<Event>& parts, const Question& question, const Enclosure& known) {
  const bool asks_epsilon = std::holds_alternative<Delta>(question);
  if (!(known.upper > (asks_epsilon ? wide_epsilon : wide_delta) * known.lower)) return false;
  double least = 0;
  for (const auto& part : parts) least += lower_end(tests_of(part), question);
  return least < known.upper;
}

std::optional<double> by_parts(const std::vector<Event>& parts, const Question& question,
                               const std::function<Enclosure(const Event& part, const Question& at)>& ask, double below) {
  const auto* delta = std::get_if<Delta>(&question);
  const double given = delta != nullptr ? delta->value() : std::get<Epsilon>(question).value();
  try {
    const Asked asked{parts, question, ask};
    const auto is_too_much = [below](double sum) { return below < infinity && sum >= below; };
    // With all of what is given a part costs least. The dearest ones first.
    std::vector<std::pair<double, std::size_t>> dearest;
    for (std::size_t i = 0; i < parts.size(); ++i) dearest.emplace_back(lower_end(tests_of(parts[i]), question), i);
    std::sort(dearest.rbegin(), dearest.rend());
    double least_sum = 0;
    for (const auto& [known, part] : dearest) {
      least_sum += asked.cost(part, given);
      if (is_too_much(least_sum)) return std::nullopt;
    }
    auto all = among_all(parts.size(), given);
    asked.add_by_need(given, all);
    double least = delta != nullptr ? below : std::min(below, 1.0);
    for (const auto& spending : all) {
      least = std::min(least, sum_at(spending, given, least, [&](std::size_t part, double spent) { return asked.cost(part, spent); }));
    }
    return is_too_much(least) ? std::nullopt : std::optional{least};
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported && error.code() != ErrorCode::memory) throw;
    return std::nullopt;
  }
}

}  // namespace surety::accounting
