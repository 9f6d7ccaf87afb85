// Words of other tools for what Surety has under another name: one table for options of the command and for fields of plans.
#pragma once

#include <span>
#include <string_view>

#include <surety/jobs/plans/field_names.h>

namespace surety::jobs {

/// One word of another tool.
struct OtherWord {
  std::string_view word;   ///< as an option without its dashes, such as "learning-rate"
  std::string_view field;  ///< of Surety, for the same purpose
  /// What a message adds, where the field is not simply the same under another name: "{}" stands for the field, if it is named. Empty for "Surety calls it {}".
  std::string_view says = {};
};

/// All of them. A word may have several fields: the first that a command has is named.
[[nodiscard]] std::span<const OtherWord> other_words();

/// The same for commands: `field` is a command, such as "ledger create".
[[nodiscard]] std::span<const OtherWord> other_commands();

/// "Surety calls it step-size", where `word` is a word of another tool for one of the fields `known`; empty otherwise.
/// \param word case and the choice between `_` and `-` do not matter
[[nodiscard]] FieldText meaning_of(std::string_view word, std::span<const std::string_view> known);

/// What follows "unknown field 'x'" in a refusal: `meaning_of` it after "; ", or else the field that was perhaps misspelled. May be empty.
[[nodiscard]] FieldText advice_on(std::string_view word, std::span<const std::string_view> known);

}  // namespace surety::jobs
