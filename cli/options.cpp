#include "options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <type_traits>

#include <surety/accounting/events/format.h>
#include <surety/accounting/numbers/error.h>

namespace surety::cli {
namespace {

template <class Value>
constexpr bool is_optional = false;
template <class Value>
constexpr bool is_optional<std::optional<Value>> = true;

/// The nearest double, as everywhere in Surety. \pre the option's check has read it
template <class Number>
Number read(const std::string& text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw Error{ErrorCode::internal, fmt::format("'{}' was taken for a number", one_line(text))};
  }
  return value;
}

template <class Value>
Value value_of(const std::string& text) {
  if constexpr (is_optional<Value>) {
    return value_of<typename Value::value_type>(text);
  } else if constexpr (std::is_arithmetic_v<Value>) {
    return read<Value>(text);
  } else {
    return text;
  }
}

template <class Value>
std::string standard_of(const Value& target) {
  if constexpr (std::is_same_v<Value, std::string>) {
    return target;
  } else if constexpr (std::is_same_v<Value, double> || std::is_same_v<Value, std::uint64_t>) {
    return fmt::format("{}", target);
  } else {
    return {};
  }
}

/// How many letters have to be changed, left out, put in or swapped with their neighbour.
std::size_t distance(std::string_view a, std::string_view b) {
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

Option::Option(std::string name, Target target, std::string help, Check check)
    : name_{std::move(name)}, target_{target}, help_{std::move(help)}, check_{std::move(check)} {
  standard_ = std::visit([](const auto* value) { return standard_of(*value); }, target_);
}

std::string_view Option::placeholder() const noexcept {
  return std::visit(
      [](const auto* target) -> std::string_view {
        using Value = std::remove_cvref_t<decltype(*target)>;
        if constexpr (std::is_same_v<Value, double> || std::is_same_v<Value, std::optional<double>>) return "NUMBER";
        if constexpr (std::is_same_v<Value, std::uint64_t> || std::is_same_v<Value, std::optional<std::uint64_t>>) return "COUNT";
        return "TEXT";
      },
      target_);
}

Option& Option::required(bool is_required) {
  is_required_ = is_required;
  if (is_required) standard_.clear();
  return *this;
}

Option& Option::essential(bool is_essential) {
  is_essential_ = is_essential;
  return *this;
}

Option& Option::standard(std::string text) {
  standard_ = std::move(text);
  return *this;
}

Option& Option::excludes(std::string name) {
  excluded_ = std::move(name);
  return *this;
}

void Option::set(const std::vector<std::string>& texts) {
  std::visit(
      [&](auto* target) {
        using Value = std::remove_cvref_t<decltype(*target)>;
        if constexpr (std::is_same_v<Value, bool>) {
          *target = true;
        } else if constexpr (std::is_same_v<Value, std::vector<std::string>>) {
          *target = texts;
        } else {
          *target = value_of<Value>(texts.at(0));
        }
      },
      target_);
  given_ = is_flag() ? std::vector<std::string>{"true"} : texts;
}

OptionTable& OptionTable::group(std::string_view heading) {
  current_ = 0;
  while (current_ < groups_.size() && groups_[current_].heading != heading) ++current_;
  if (current_ == groups_.size()) groups_.push_back({std::string{heading}, {}});
  return *this;
}

Option& OptionTable::add(Option option) {
  if (groups_.empty()) group("");
  groups_[current_].options.push_back(std::move(option));
  return groups_[current_].options.back();
}

const Option* OptionTable::find(std::string_view name) const {
  for (const auto& group : groups_) {
    for (const auto& option : group.options) {
      if (option.name() == name) return &option;
    }
  }
  return nullptr;
}

Option* OptionTable::find(std::string_view name) { return const_cast<Option*>(std::as_const(*this).find(name)); }

std::optional<std::string> value_in(const Arguments& words, std::string_view name) {
  for (std::size_t k = 0; k < words.size(); ++k) {
    if (words[k] == name && k + 1 < words.size()) return words[k + 1];
    if (words[k].starts_with(name) && words[k].size() > name.size() && words[k][name.size()] == '=')
      return words[k].substr(name.size() + 1);
  }
  return std::nullopt;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  constexpr std::size_t longest = 64;  // longer words are no typing errors
  if (word.size() > longest) return {};
  const std::string* best = nullptr;
  std::size_t least = 0;
  for (const auto& candidate : known) {
    // The beginning of a word stands for it, as "replace" for replace-one.
    const bool is_beginning = word.size() >= 3 && candidate.starts_with(word);
    const std::size_t found = is_beginning ? 1 : distance(word, candidate);
    const std::size_t most = std::max<std::size_t>(1, std::min(word.size(), candidate.size()) / 3);
    if (found == 0 || found > most || found >= candidate.size()) continue;
    if (best == nullptr || found < least) {
      best = &candidate;
      least = found;
    }
  }
  return best == nullptr ? std::string{} : fmt::format("; did you mean '{}'?", *best);
}

}  // namespace surety::cli
