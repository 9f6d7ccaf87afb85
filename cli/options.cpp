#include "options.h"

#include <fmt/format.h>

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

}  // namespace surety::cli
