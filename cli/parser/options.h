// What a command knows, as plain tables: parsing, help, plans and the tables of the documents come from them. Only parser.cpp knows the
// library that parses.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <surety/jobs/plans/fields.h>
#include <surety/jobs/plans/plan_error.h>

namespace surety::cli {

/// What stands before the name of a field where it is an option.
inline constexpr std::string_view mark_of_options = "--";
/// The option of a field.
[[nodiscard]] inline std::string option_name(const std::string& field) { return std::string{mark_of_options} + field; }

/// What the text of an option must be: a number as C++ writes it (also nan and inf, which the quantity behind the option refuses by its own name),
/// decimal digits, one of the words.
[[nodiscard]] inline jobs::Constraint number() { return jobs::AnyNumber{}; }
[[nodiscard]] inline jobs::Constraint whole_number(std::uint64_t least = 0, std::uint64_t most = jobs::WholeNumber{}.most) {
  return jobs::WholeNumber{least, most};
}
[[nodiscard]] inline jobs::Constraint one_of(std::vector<std::string> words) { return jobs::OneOfWords{std::move(words)}; }

/// One option "--steps", or one positional word "data": a field, and how it may be given.
class Option {
 public:
  Option(jobs::Field field, bool is_positional);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const jobs::Field& field() const noexcept { return field_; }
  [[nodiscard]] std::string help() const { return field_.help().printed(option_name); }
  /// What holds where it is not given, as a text; empty for nothing.
  [[nodiscard]] const std::string& standard() const noexcept { return standard_; }
  [[nodiscard]] bool is_required() const noexcept { return is_required_; }
  /// Whether everybody needs it, so that it stands in the short help.
  [[nodiscard]] bool is_essential() const noexcept { return is_essential_; }
  [[nodiscard]] bool is_positional() const noexcept { return name_ == field_.name(); }
  [[nodiscard]] bool is_flag() const noexcept { return std::holds_alternative<bool*>(field_.value()); }
  [[nodiscard]] bool is_repeatable() const noexcept { return std::holds_alternative<std::vector<std::string>*>(field_.value()); }
  /// What stands for its value: NUMBER, COUNT or TEXT.
  [[nodiscard]] std::string_view placeholder() const noexcept;
  /// A second, short name: "-o". Empty for none.
  [[nodiscard]] const std::string& short_name() const noexcept { return short_name_; }
  /// The variable of the environment that stands in for it. Empty for none.
  [[nodiscard]] const std::string& variable() const noexcept { return variable_; }
  [[nodiscard]] const std::vector<std::string>& variable_unless() const noexcept { return variable_unless_; }
  /// The value of the variable; empty where there is none.
  [[nodiscard]] std::string value_of_variable() const;
  /// Takes the value of the variable.
  void set_by_variable();
  /// The option that may not be given beside it.
  [[nodiscard]] const std::string& excluded() const noexcept { return excluded_; }

  Option& required(bool is_required = true);
  /// As `required`, unless that option is given.
  Option& required_unless(std::string other);
  [[nodiscard]] const std::string& replacement() const noexcept { return replacement_; }
  Option& essential(bool is_essential = true);
  /// Where the target does not say it.
  Option& standard(std::string text);
  Option& excludes(std::string name);
  /// Gives it a short name as well.
  Option& also(std::string short_name);
  /// Where the option is not given, its value is that of this variable of the environment, if it is not empty. \param is_of_variable set to whether it was
  /// \param unless options that replace this one: if one of them is given, the variable is not read
  Option& or_variable(std::string name, bool& is_of_variable, std::vector<std::string> unless = {});

  /// Takes its values: one text for each time it was given, none for a flag. \throws PlanError for one that its constraint does not know.
  void set(const std::vector<std::string>& texts);
  [[nodiscard]] bool is_given() const noexcept { return !given_.empty(); }
  /// As it was given: one text each time, "true" for a flag.
  [[nodiscard]] const std::vector<std::string>& given() const noexcept { return given_; }

 private:
  std::string name_;
  jobs::Field field_;
  std::string standard_;
  bool is_required_ = false;
  bool is_essential_ = false;
  std::string excluded_;
  std::string replacement_;
  std::string short_name_;
  std::string variable_;
  bool* is_of_variable_ = nullptr;
  std::vector<std::string> variable_unless_;
  std::vector<std::string> given_;
};

/// Options under headings, in the order of the help.
class OptionTable {
 public:
  struct Group {
    std::string heading;
    std::vector<Option> options;
  };

  /// What is added from now on stands under this heading; one that was there is taken up again.
  OptionTable& group(std::string_view heading);
  /// The option stays in place until the next is added.
  template <jobs::IsFieldValue Value>
  Option& add(const std::string& name, Value& target, std::string help, jobs::Constraint constraint = {}) {
    const bool is_positional = !name.starts_with("--");
    return add(Option{{is_positional ? name : name.substr(2), &target, std::move(help), std::move(constraint)}, is_positional});
  }
  template <jobs::IsChoice Choice>
  Option& add(const std::string& name, Choice& target, std::string help) {
    const bool is_positional = !name.starts_with("--");
    return add(Option{
        {is_positional ? name : name.substr(2), jobs::ChoiceField{&target}, std::move(help), jobs::OneOfWords{jobs::names_of<Choice>()}},
        is_positional});
  }
  Option& add(Option option);
  /// Fields of a plan as options of the same names, under the same headings.
  void add(const jobs::FieldTable& fields);
  /// Those that `put` puts into a table, under the heading at hand.
  template <class Put>
  void add_fields(Put put) {
    jobs::FieldTable fields;
    put(fields);
    add(fields);
  }

  /// Moves these options, of which each is there, to the end of a heading.
  void regroup(std::string_view heading, const std::vector<std::string_view>& names);

  [[nodiscard]] std::vector<Group>& groups() noexcept { return groups_; }
  [[nodiscard]] const std::vector<Group>& groups() const noexcept { return groups_; }
  [[nodiscard]] const Option* find(std::string_view name) const;
  [[nodiscard]] Option* find(std::string_view name);

 private:
  std::vector<Group> groups_;
  std::size_t current_ = 0;
};

/// A command, or one with commands of its own.
struct Command {
  std::string name;
  std::string summary;
  OptionTable options = {};
  /// Of these exactly one must be given.
  std::vector<std::string> exactly_one_of = {};
  /// Options of other algorithms, which are parsed and do not stand in the help: what runs refuses them by name.
  OptionTable hidden = {};
  /// Whether the help shows what is essential alone, and `more` says how to see the rest.
  bool is_help_short = false;
  std::string more = {};
  std::string footer = {};  ///< notes, and behind them from the word "Example" on what is printed as it is
  /// What to run, with the command as it was given; returns the exit code. Runs after parsing, so an error of it is never taken for one
  /// of usage.
  std::function<int(const Command& given)> run = {};
  std::vector<Command> commands = {};
};

/// The words that a user gave.
using Arguments = std::vector<std::string>;

/// The value of "--name value" or "--name=value", before anything is parsed; nothing when it is not there.
[[nodiscard]] std::optional<std::string> value_in(const Arguments& words, std::string_view name);

}  // namespace surety::cli
