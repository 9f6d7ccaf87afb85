#include <surety/jobs/plans/fields.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <system_error>
#include <type_traits>

#include <surety/accounting/events/words.h>
#include <surety/base/numbers/overload.h>
#include <surety/base/text/safe_text.h>
#include <surety/jobs/plans/plan_error.h>

namespace surety::jobs {
namespace {

/// The nearest double, as everywhere in Surety.
template <class T>
std::errc read_all(const std::string& text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{} && end != text.data() + text.size()) return std::errc::invalid_argument;
  return error;
}

std::string fault_of_number(const std::string& text) {
  double value = 0;
  const auto error = read_all(text, value);
  if (error == std::errc{}) return {};
  return fmt::format("is '{}', must be a number{}", one_line(text),
                     error == std::errc::result_out_of_range ? " within the range of double" : "");
}

std::string fault_of_whole_number(const WholeNumber& its, const std::string& text) {
  std::uint64_t value = 0;
  if (read_all(text, value) == std::errc{} && value >= its.least && value <= its.most) return {};
  return fmt::format("is '{}', must be a whole number from {} to {}", one_line(text), its.least, its.most);
}

std::string fault_of_word(const OneOfWords& its, const std::string& text) {
  if (std::find(its.words.begin(), its.words.end(), text) != its.words.end()) return {};
  return fmt::format("is '{}', must be {}{}", one_line(text), fmt::join(its.words, " or "),
                     did_you_mean(text, std::vector<std::string_view>{its.words.begin(), its.words.end()}));
}

template <class Value>
struct Held {
  using type = Value;
};
template <class Value>
struct Held<std::optional<Value>> {
  using type = Value;
};

}  // namespace

std::string fault_of(const Constraint& constraint, const std::string& text) {
  return std::visit(Overload{[](const AnyText&) { return std::string{}; }, [&](const AnyNumber&) { return fault_of_number(text); },
                             [&](const WholeNumber& its) { return fault_of_whole_number(its, text); },
                             [&](const OneOfWords& its) { return fault_of_word(its, text); }},
                    constraint);
}

bool Field::takes_numbers() const noexcept {
  return is_of_values_ || std::holds_alternative<AnyNumber>(constraint_) || std::holds_alternative<WholeNumber>(constraint_);
}

void Field::set(const std::string& text) const {
  if (const auto fault = fault_of(constraint_, text); !fault.empty()) refuse_plan("{} {}", FieldName{name_}, fault);
  const auto set = [&](auto* value) {
    using Said = typename Held<std::remove_cvref_t<decltype(*value)>>::type;
    if constexpr (std::is_same_v<Said, bool>) {
      *value = true;
    } else if constexpr (std::is_same_v<Said, std::vector<std::string>>) {
      value->push_back(text);
    } else if constexpr (std::is_arithmetic_v<Said>) {
      Said number{};
      if (read_all(text, number) != std::errc{}) refuse_plan("{} is '{}', must be a number", FieldName{name_}, one_line(text));
      *value = number;
    } else {
      *value = text;
    }
  };
  std::visit(Overload{set,
                      [&](const ChoiceField& choice) {
                        if (!choice.set(text)) refuse_plan("{} is '{}', must be the name of one", FieldName{name_}, one_line(text));
                      }},
             value_);
}

FieldTable& FieldTable::group(std::string_view heading) {
  current_ = 0;
  while (current_ < groups_.size() && groups_[current_].heading != heading) ++current_;
  if (current_ == groups_.size()) groups_.push_back({std::string{heading}, {}});
  return *this;
}

Field& FieldTable::add(Field field) {
  if (groups_.empty()) group("");
  groups_[current_].fields.push_back(std::move(field));
  return groups_[current_].fields.back();
}

Field* FieldTable::find(std::string_view name) {
  for (auto& group : groups_) {
    for (auto& field : group.fields) {
      if (field.name() == name) return &field;
    }
  }
  return nullptr;
}

}  // namespace surety::jobs
