// Values that a field of JSON from outside may hold, whatever it should be: for tests that put each of them in the place of each value.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace surety_test {

/// Sixteen values of all types.
inline const std::vector<nlohmann::json>& json_values() {
  static const std::vector<nlohmann::json> values{nullptr,
                                                  true,
                                                  false,
                                                  0,
                                                  1,
                                                  -1,
                                                  7,
                                                  1.5,
                                                  1e308,
                                                  18446744073709551615U,
                                                  "",
                                                  "a",
                                                  "\x01\xc3\xa9",
                                                  nlohmann::json::array(),
                                                  nlohmann::json::array({1}),
                                                  nlohmann::json::object()};
  return values;
}

/// Where the values of a document are, all of its own but the document itself: those of objects and of lists, at any depth.
inline std::vector<nlohmann::json::json_pointer> places_in(const nlohmann::json& document,
                                                           const nlohmann::json::json_pointer& at = nlohmann::json::json_pointer{}) {
  std::vector<nlohmann::json::json_pointer> places;
  const auto add = [&](const nlohmann::json& value, const nlohmann::json::json_pointer& place) {
    places.push_back(place);
    if (!value.is_structured()) return;
    auto more = places_in(value, place);
    places.insert(places.end(), more.begin(), more.end());
  };
  if (document.is_object()) {
    for (const auto& [key, value] : document.items()) add(value, at / key);
  } else if (document.is_array()) {
    for (std::size_t k = 0; k < document.size(); ++k) add(document[k], at / k);
  }
  return places;
}

}  // namespace surety_test
