#include <surety/cli/parser/options.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <type_traits>

#include <surety/base/numbers/overload.h>

namespace surety::cli {
namespace {

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

Option::Option(jobs::Field field, bool is_positional)
    : name_{is_positional ? field.name() : fmt::format("{}{}", mark_of_options, field.name())}, field_{std::move(field)} {
  standard_ = field_.standard() ? field_.standard()->printed(option_name)
                                : std::visit(Overload{[](const auto* value) { return standard_of(*value); },
                                                      [](const jobs::ChoiceField& choice) {
                                                        return std::string{choice.is_optional() ? "" : choice.name().value_or("")};
                                                      }},
                                             field_.value());
}

std::string_view Option::placeholder() const noexcept {
  return std::visit(
      [](const auto& target) -> std::string_view {
        using Value = std::remove_pointer_t<std::remove_cvref_t<decltype(target)>>;
        if constexpr (std::is_same_v<Value, double> || std::is_same_v<Value, std::optional<double>>) return "NUMBER";
        if constexpr (std::is_same_v<Value, std::uint64_t> || std::is_same_v<Value, std::optional<std::uint64_t>>) return "COUNT";
        return "TEXT";
      },
      field_.value());
}

Option& Option::required(bool is_required) {
  is_required_ = is_required;
  if (is_required) standard_.clear();
  return *this;
}

Option& Option::required_unless(std::string other) {
  replacement_ = std::move(other);
  return required();
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

Option& Option::also(std::string short_name) {
  short_name_ = std::move(short_name);
  return *this;
}

Option& Option::or_variable(std::string name, bool& is_of_variable, std::vector<std::string> unless) {
  variable_ = std::move(name);
  is_of_variable_ = &is_of_variable;
  variable_unless_ = std::move(unless);
  return *this;
}

std::string Option::value_of_variable() const {
  const char* const value = variable_.empty() ? nullptr : std::getenv(variable_.c_str());  // NOLINT(concurrency-mt-unsafe): nothing sets it
  return value == nullptr ? std::string{} : std::string{value};
}

void Option::set_by_variable() {
  set({value_of_variable()});
  *is_of_variable_ = true;
}

void Option::set(const std::vector<std::string>& texts) {
  // Before the list is emptied, which may be what is given.
  given_ = is_flag() ? std::vector<std::string>{"true"} : texts;
  if (is_repeatable()) std::get<std::vector<std::string>*>(field_.value())->clear();
  for (const auto& text : given_) field_.set(text);
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

void OptionTable::add(const jobs::FieldTable& fields) {
  for (const auto& its : fields.groups()) {
    if (!its.heading.empty()) group(its.heading);
    for (const auto& field : its.fields) add(Option{field, false});
  }
}

void OptionTable::regroup(std::string_view heading, const std::vector<std::string_view>& names) {
  const auto before = current_;
  group(heading);
  for (const auto name : names) {
    for (auto& from : groups_) {
      const auto found =
          std::find_if(from.options.begin(), from.options.end(), [&](const Option& option) { return option.name() == name; });
      if (found == from.options.end()) continue;
      Option moved = std::move(*found);
      from.options.erase(found);
      groups_[current_].options.push_back(std::move(moved));
      break;
    }
  }
  current_ = before;
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
