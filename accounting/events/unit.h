// The unit of privacy: what a promise protects. Neighbours of an adjacency differ in one unit.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <surety/accounting/events/units.h>

namespace surety {

/// One row of the data, or all rows of one owner, of which there are at most `most`: {"patient", 5}.
class UnitOfPrivacy {
 public:
  static constexpr std::string_view row = "row";
  static constexpr std::size_t longest_name = 64;

  /// One row.
  UnitOfPrivacy() = default;
  /// \throws Error{invalid_argument} unless `name` is 1 to 64 bytes of printable UTF-8, and `most` is 1 where it is "row".
  UnitOfPrivacy(std::string name, Count most);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] Count most() const noexcept { return most_; }
  friend bool operator==(const UnitOfPrivacy&, const UnitOfPrivacy&) = default;

 private:
  std::string name_{row};
  Count most_{1};
};

/// For people: "one row", "one patient of at most 5 rows".
[[nodiscard]] std::string describe(const UnitOfPrivacy& unit);
}  // namespace surety
