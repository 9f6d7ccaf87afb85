// Texts that name fields of plans, as values. A front end prints each name in its own way: "batch-size" in a plan, "--batch-size" at the
// command, "batch_size" in Python. No finished text is searched for names: the value of a user may look like one.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace surety::jobs {

/// The name of a field, as plans write it.
struct FieldName {
  std::string_view name;
  friend constexpr bool operator==(FieldName, FieldName) = default;
};

inline namespace field_names {
[[nodiscard]] constexpr FieldName operator""_field(const char* name, std::size_t length) { return {{name, length}}; }
}  // namespace field_names

/// How a front end prints the name of a field.
using PrintName = std::function<std::string(const std::string& name)>;
/// As plans write it.
[[nodiscard]] inline std::string plain_name(const std::string& name) { return name; }

/// A text in which some pieces are names of fields.
class FieldText {
 public:
  FieldText() = default;
  /// A text without names. Implicit, since most helps and reasons name no field.
  FieldText(std::string text) { add(std::move(text), false); }
  FieldText(const char* text) : FieldText{std::string{text}} {}
  FieldText(FieldName field) { add(std::string{field.name}, true); }

  FieldText& operator+=(const FieldText& other);

  friend bool operator==(const FieldText&, const FieldText&) = default;

  [[nodiscard]] bool empty() const noexcept { return pieces_.empty(); }
  [[nodiscard]] std::string printed(const PrintName& print_name) const;
  [[nodiscard]] std::string plain() const { return printed(plain_name); }

 private:
  struct Piece {
    std::string text;
    bool is_name;
    friend bool operator==(const Piece&, const Piece&) = default;
  };

  void add(std::string text, bool is_name);

  std::vector<Piece> pieces_;
};

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
