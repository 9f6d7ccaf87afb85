#include <surety/jobs/release/query_condition.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include <surety/base/text/safe_text.h>

namespace surety::jobs {

using namespace data;

namespace {

/// A number or a day, where that is what a cell is compared with.
std::optional<double> order_of(const CellComparison& comparison) {
  if (const auto* const number = std::get_if<double>(&comparison.value)) return *number;
  if (const auto* const date = std::get_if<Date>(&comparison.value)) return date->days;
  return std::nullopt;
}

/// Whether a number stands so to two others at once: one of them, one next to them, or one beyond. Between two days there may be none.
bool has_number(const CellComparison& one, bool first, const CellComparison& other, bool second) {
  const double a = *order_of(one);
  const double b = *order_of(other);
  const auto fits = [&](double number) { return holds(number, one.relation, a) == first && holds(number, other.relation, b) == second; };
  const double infinite = std::numeric_limits<double>::infinity();
  return fits(a) || fits(b) || fits(-infinite) || fits(infinite) || (a != b && fits(std::nextafter(std::min(a, b), infinite)));
}

/// Whether a text is equal, or not, to two others as the comparisons with them come out.
bool has_text(const CellComparison& one, bool first, const CellComparison& other, bool second) {
  const bool equals_one = (one.relation == Relation::equal) == first;
  const bool equals_other = (other.relation == Relation::equal) == second;
  return one.value == other.value ? equals_one == equals_other : !(equals_one && equals_other);
}

/// Whether one cell may be such that a comparison with it, or the question whether it is there, comes out as `first`, and another as `second`. True of
/// other columns, and in doubt. \param counts_missing whether a missing cell counts as a value, by --missing
bool may_be_together(const CellComparison& one, Truth first, const CellComparison& other, Truth second, bool counts_missing) {
  if (one.column != other.column) return true;
  const bool are_of_one_kind = one.kind() == other.kind();
  const bool asks_one = is_about_presence(one.relation);
  const bool asks_other = is_about_presence(other.relation);
  if (asks_one && asks_other) {
    if (!are_of_one_kind) return true;
    if (one.relation == other.relation) return first == second;
    return (first == Truth::unknown && second == Truth::unknown) || (first == Truth::met && second == Truth::missed) ||
           (first == Truth::missed && second == Truth::met);
  }
  if (asks_other) return may_be_together(other, second, one, first, counts_missing);
  if (asks_one) {
    // A comparison with a missing cell is unknown, unless that counts as a value. What is missing as a number may be a text.
    const bool is_missing = first == (one.relation == Relation::missing ? Truth::met : Truth::missed);
    return !is_missing || !are_of_one_kind || counts_missing || second == Truth::unknown;
  }
  if (!are_of_one_kind) {
    /// Whether the cell is this text, which is no number.
    const auto is_no_number = [](const CellComparison& comparison, Truth value) {
      const auto* const text = std::get_if<std::string>(&comparison.value);
      // A truth value has a number as well.
      return text != nullptr && value == (comparison.relation == Relation::equal ? Truth::met : Truth::missed) &&
             text->find_first_of("0123456789") == std::string::npos && *text != "true" && *text != "false" &&
             parse_number(*text).fault != NumberFault::none;
    };
    const auto is_number = [](const CellComparison& comparison, Truth value) {
      return comparison.kind() == CellKind::number && value != Truth::unknown;
    };
    return counts_missing ||
           !((is_no_number(one, first) && is_number(other, second)) || (is_no_number(other, second) && is_number(one, first)));
  }
  if (first == Truth::unknown || second == Truth::unknown) return first == second;
  const auto has = one.kind() == CellKind::text ? has_text : has_number;
  return has(one, first == Truth::met, other, second == Truth::met);
}

}  // namespace

std::optional<std::string> contradiction_in(const Condition& condition, const CsvFormat& format) {
  constexpr std::size_t most = 7;
  const auto& all = condition.comparisons();
  if (all.size() < 2 || all.size() > most) return std::nullopt;
  /// Two values that two comparisons of one column never have together.
  struct Pair {
    std::size_t one, other;
    Truth first, second;
  };
  constexpr std::array truths{Truth::met, Truth::missed, Truth::unknown};
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t k = i + 1; k < all.size(); ++k) {
      for (const auto first : truths) {
        for (const auto second : truths) {
          if (!may_be_together(all[i], first, all[k], second, format.missing.contains(all[i].column)))
            pairs.push_back({i, k, first, second});
        }
      }
    }
  }
  const auto may_be_met = [&](std::span<const Pair> impossible) {
    std::vector<Truth> values(all.size());
    std::size_t assignments = 1;
    for (std::size_t i = 0; i < all.size(); ++i) assignments *= truths.size();
    for (std::size_t place = 0; place < assignments; ++place) {
      std::size_t rest = place;
      for (auto& value : values) {
        value = truths.at(rest % truths.size());
        rest /= truths.size();
      }
      const bool may_be = std::none_of(impossible.begin(), impossible.end(), [&](const Pair& pair) {
        return values[pair.one] == pair.first && values[pair.other] == pair.second;
      });
      if (may_be && condition.is_met(values)) return true;
    }
    return false;
  };
  if (pairs.empty() || may_be_met(pairs)) return std::nullopt;
  const auto shown = [](const CellComparison& comparison, Truth value) {
    return in_quotes((value == Truth::met ? "" : "not ") + describe(comparison));
  };
  const auto why = [&](const Pair& pair) {
    return fmt::format("no cell meets both {} and {}", shown(all[pair.one], pair.first), shown(all[pair.other], pair.second));
  };
  for (const auto& pair : pairs) {
    if (pair.first != Truth::unknown && pair.second != Truth::unknown && !may_be_met({&pair, 1})) return why(pair);
  }
  const auto both =
      std::find_if(pairs.begin(), pairs.end(), [](const Pair& pair) { return pair.first == Truth::met && pair.second == Truth::met; });
  return both != pairs.end() ? why(*both) : std::string{"its comparisons exclude each other"};
}

}  // namespace surety::jobs
