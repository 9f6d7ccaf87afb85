// What a kind of event is written with. Each kind says its word and its arguments once, beside its members; its text, its JSON form, its reading
// and its comparison follow from that.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <tuple>

namespace surety {

/// A member of a kind of event, and the names of its arguments in JSON, in the order of the text: `count` is 1, or more where the member is
/// written as several (Batches, Runs), or 0 for a list of events, which stands for the whole of it.
template <class Kind, class Value, std::size_t count>
struct Argument {
  Value Kind::*member;
  std::array<const char*, count> names;
  bool is_optional = false;

  /// A count that is left out where it is 1, or a quantity where it is 0.
  [[nodiscard]] constexpr Argument optional() const { return {member, names, true}; }
};

template <class Kind, class Value, class... Names>
[[nodiscard]] constexpr Argument<Kind, Value, sizeof...(Names)> argument(Value Kind::*member, Names... names) {
  return {member, {names...}};
}

template <class Kind>
concept Described = requires {
  std::string_view{Kind::word};
  Kind::arguments();
};

/// Two events of one kind are equal where all that they are written with is.
template <Described Kind>
[[nodiscard]] bool operator==(const Kind& a, const Kind& b) {
  return std::apply([&](const auto&... said) { return (... && (a.*said.member == b.*said.member)); }, Kind::arguments());
}

}  // namespace surety
