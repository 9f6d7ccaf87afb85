// Texts with names of fields, from patterns of fmt.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include <surety/jobs/plans/field_names.h>

namespace surety::jobs {

namespace field_text_detail {

/// One argument of a pattern, without its type.
struct Argument {
  const void* value;
  FieldText (*print)(const void* value, const std::string& pattern);
};

template <class Value>
FieldText print(const void* value, const std::string& pattern) {
  const auto& typed = *static_cast<const Value*>(value);
  if constexpr (std::is_same_v<Value, FieldName> || std::is_same_v<Value, FieldText>) {
    return typed;
  } else {
    return fmt::vformat(pattern, fmt::make_format_args(typed));
  }
}

/// \throws Error{internal} for an argument with a number, a name or a nested argument, which no pattern has. \pre fmt checked the pattern
[[nodiscard]] FieldText filled(std::string_view pattern, const std::vector<Argument>& arguments);

}  // namespace field_text_detail

/// The pattern of fmt with these values, in their order. A `FieldName` becomes a name, and a `FieldText` keeps its names. What other values hold is text.
template <class... Values>
[[nodiscard]] FieldText field_text(fmt::format_string<const Values&...> pattern, const Values&... values) {
  const fmt::string_view text = pattern;
  return field_text_detail::filled({text.data(), text.size()}, {{&values, &field_text_detail::print<Values>}...});
}

}  // namespace surety::jobs

/// For the check of patterns alone.
template <>
struct fmt::formatter<surety::jobs::FieldName> : fmt::formatter<std::string_view> {
  auto format(const surety::jobs::FieldName& field, fmt::format_context& context) const {
    return fmt::formatter<std::string_view>::format(field.name, context);
  }
};
template <>
struct fmt::formatter<surety::jobs::FieldText> : fmt::formatter<std::string_view> {
  auto format(const surety::jobs::FieldText& text, fmt::format_context& context) const {
    return fmt::formatter<std::string_view>::format(text.plain(), context);
  }
};
