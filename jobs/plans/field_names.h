// Texts that name fields of plans, as values. A front end prints each name in its own way: "batch-size" in a plan, "--batch-size" at the
// command, "batch_size" in Python. No finished text is searched for names: the value of a user may look like one.
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

/// Names of fields that were said of a plan.
using SaidFields = std::set<std::string, std::less<>>;

}  // namespace surety::jobs
