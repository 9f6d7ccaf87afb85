// The fields of a plan as rows without types, by which options, help, JSON and schemas are made: each is said once, where its struct is known.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <surety/jobs/plans/choices.h>
#include <surety/jobs/plans/field_names.h>

namespace surety::jobs {

/// Of `form-is-public`, wherever records are read.
inline constexpr std::string_view form_is_public_help =
    "Say that the form of every record is public: a damaged one is then an error that names its row and shows its cell. Without it, nothing that a record holds is shown or stops a run";

/// What a field's value must be, beyond its type; quantities are looked at where the plan is prepared.
struct AnyText {};
struct AnyNumber {};
struct WholeNumber {
  std::uint64_t least = 0;
  std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
};
struct OneOfWords {
  std::vector<std::string> words;
};
using Constraint = std::variant<AnyText, AnyNumber, WholeNumber, OneOfWords>;
/// What is wrong with a text, in words that follow the field's name: "is '-1', must be a whole number from 1 to 100"; empty when nothing is. A parser
/// alone would take an empty text (a variable of a shell that is not set) for 0 and -1 for the largest unsigned number.
[[nodiscard]] std::string fault_of(const Constraint& constraint, const std::string& text);

/// One field "steps" of a plan.
class Field {
 public:
  /// Where its value is. What is optional holds nothing until it is said; a list may be said several times.
  using Value = std::variant<bool*, std::string*, double*, std::uint64_t*, std::optional<std::string>*, std::optional<double>*,
                             std::optional<std::uint64_t>*, std::vector<std::string>*, ChoiceField>;

  Field(std::string name, Value value, FieldText help, Constraint constraint)
      : name_{std::move(name)}, value_{value}, help_{std::move(help)}, constraint_{std::move(constraint)} {}

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const Value& value() const noexcept { return value_; }
  [[nodiscard]] const FieldText& help() const noexcept { return help_; }
  [[nodiscard]] const Constraint& constraint() const noexcept { return constraint_; }
  /// What holds where it is not said, where its value does not show that.
  [[nodiscard]] const std::optional<FieldText>& standard() const noexcept { return standard_; }
  /// \throws PlanError for a text that the constraint does not know.
  void set(const std::string& text) const;
  Field& standard(FieldText text) {
    standard_ = std::move(text);
    return *this;
  }
  /// Whether a plan in JSON may give it as a number. A path or a name is a text: "ledger": 7 is a mistake, not a file called 7.
  [[nodiscard]] bool takes_numbers() const noexcept;
  /// Of a text that lists values, one of which a plan may write as a number.
  Field& is_of_values() {
    is_of_values_ = true;
    return *this;
  }
  /// Of a text that is one name or a list of names with commas, which a plan may write as a list of texts.
  Field& is_of_names() {
    is_of_names_ = true;
    return *this;
  }
  [[nodiscard]] bool takes_names() const noexcept { return is_of_names_; }

 private:
  std::string name_;
  Value value_;
  FieldText help_;
  Constraint constraint_;
  std::optional<FieldText> standard_;
  bool is_of_values_ = false;
  bool is_of_names_ = false;
};

/// What a field holds but for choices.
template <class Value>
concept IsFieldValue = std::is_constructible_v<Field::Value, Value*>;

/// A field of other algorithms that one has no use for, and why: the reason follows the name of the field.
struct RefusedField {
  std::string name;
  FieldText reason;
};

/// Fields under headings, in the order of the help.
class FieldTable {
 public:
  struct Group {
    std::string heading;
    std::vector<Field> fields;
  };

  /// What is added from now on stands under this heading; one that was there is taken up again.
  FieldTable& group(std::string_view heading);
  /// The field stays in place until the next is added.
  template <IsFieldValue Value>
  Field& add(std::string name, Value& value, FieldText help, Constraint constraint = {}) {
    return add(Field{std::move(name), &value, std::move(help), std::move(constraint)});
  }
  Field& add(Field field);
  /// A choice of these values.
  template <IsChoice Choice>
  Field& add(std::string name, Choice& value, FieldText help, const std::vector<Choice>& of = all_of<Choice>()) {
    return add(Field{std::move(name), ChoiceField{&value}, std::move(help), OneOfWords{names_of(of)}});
  }
  template <IsChoice Choice>
  Field& add(std::string name, std::optional<Choice>& value, FieldText help, const std::vector<Choice>& of = all_of<Choice>()) {
    return add(Field{std::move(name), ChoiceField{&value}, std::move(help), OneOfWords{names_of(of)}});
  }

  [[nodiscard]] const std::vector<Group>& groups() const noexcept { return groups_; }
  /// nullptr where there is none of that name.
  [[nodiscard]] Field* find(std::string_view name);

 private:
  std::vector<Group> groups_;
  std::size_t current_ = 0;
};

}  // namespace surety::jobs
