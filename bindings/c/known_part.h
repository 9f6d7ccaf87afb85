// Structs of the caller's that begin with their size. Fields are only appended, so a struct of an earlier version is the beginning of today's.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <type_traits>

#include <surety/base/text/error.h>

namespace surety::c {

/// The size that a struct had in its first version: to be said for one to which a field is appended.
template <class T>
inline constexpr std::size_t first_size = sizeof(T);

/// No version will append more than that; a larger size is one that nobody has set, and what lies there is not the caller's to be read.
inline constexpr std::size_t most_appended = 1024;

/// Refuses a size that no version of this library has, earlier or later. Sizes between two versions are those of a struct whose last fields nobody has
/// said, and are taken as such.
template <class T>
void require_known_size(std::size_t size, const char* name) {
  if (size >= first_size<T> && size <= sizeof(T) + most_appended && size % alignof(T) == 0) return;
  invalid(std::string{name} + ".size is " + std::to_string(size) + ", must be that of a version of this library: " +
          (first_size<T> == sizeof(T) ? "" : std::to_string(first_size<T>) + " to ") + std::to_string(sizeof(T)));
}

/// A struct of the caller's, as far as both know it; fields that he does not know are zero, as where nobody has said them. Of a later version, whose
/// last fields are not known here, those must be zero: what they would ask for, nobody would do. Its size is that of today.
template <class T>
T known_part(const T* options, const char* name) {
  static_assert(std::is_trivially_copyable_v<T> && std::is_standard_layout_v<T>);
  if (options == nullptr) invalid(std::string{name} + " is NULL, must be given");
  std::size_t size = 0;
  std::memcpy(&size, options, sizeof size);
  require_known_size<T>(size, name);
  const auto* const bytes = reinterpret_cast<const unsigned char*>(options);
  if (size > sizeof(T) && std::any_of(bytes + sizeof(T), bytes + size, [](unsigned char byte) { return byte != 0; })) {
    invalid(std::string{name} + " of " + std::to_string(size) + " bytes says something behind the " + std::to_string(sizeof(T)) +
            " that this version knows, must be zero there");
  }
  T known{};
  std::memcpy(&known, options, std::min(size, sizeof(T)));
  known.size = sizeof(T);
  return known;
}

/// Writes what both know of `answer`, and leaves his size and what lies behind as they are. \pre `known_part` took it.
template <class T>
void give_known_part(const T& answer, T* into) {
  std::size_t size = 0;
  std::memcpy(&size, into, sizeof size);
  const std::size_t known = std::min(size, sizeof(T));
  std::memcpy(reinterpret_cast<char*>(into) + sizeof size, reinterpret_cast<const char*>(&answer) + sizeof size, known - sizeof size);
}

}  // namespace surety::c
