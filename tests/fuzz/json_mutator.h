// Changes of JSON that know JSON, for targets that read it: one value or one field differs, and the text is JSON again. Changes of bytes alone mostly make
// texts that a parser refuses, so that what reads the fields is hardly reached.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <support/json_values.h>

/// Of libFuzzer, or of replay.cpp: changes bytes in place. \return how many there are then
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace surety_fuzz {

/// One to three changes of the JSON text, by a seed.
inline std::string changed_json(nlohmann::json document, std::uint64_t seed) {
  using nlohmann::json;
  std::mt19937_64 random{seed};
  const auto below = [&](std::size_t count) { return count == 0 ? 0 : static_cast<std::size_t>(random() % count); };
  const auto& values = surety_test::json_values();
  for (std::size_t n = 1 + below(3); n > 0; --n) {
    const auto places = surety_test::places_in(document);
    if (places.empty()) {
      document = values[below(values.size())];
      break;
    }
    const auto& place = places[below(places.size())];
    auto& parent = document[place.parent_pointer()];
    auto& value = document[place];
    const auto& other = document[places[below(places.size())]];
    switch (below(8)) {
      case 0:
      case 1: value = values[below(values.size())]; break;
      case 2: value = json(other); break;
      case 3:
        if (parent.is_object()) {
          parent.erase(place.back());
        } else {
          parent.erase(std::stoul(place.back()));
        }
        break;
      case 4: {
        // A field of another object here, or a value of a list once more.
        const auto& from = places[below(places.size())];
        const json copy = document[from];
        if (parent.is_object()) {
          parent[from.back()] = copy;
        } else {
          parent.push_back(copy);
        }
        break;
      }
      case 5:
        if (value.is_number()) {
          const auto number = value.get<double>();
          const double numbers[] = {-number, number + 1, number - 1, number * 2, number / 2, 0x1p53, 5e-324};
          value = numbers[below(std::size(numbers))];
        } else {
          value = json::array({json(value)});
        }
        break;
      default: {
        std::string text = value.is_string() ? value.get<std::string>() : std::string{};
        const auto size = text.size();
        text.resize(size + 16);
        text.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(text.data()), size, text.size()));
        value = text;
      }
    }
  }
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// Changes an input of which the first `choices` bytes say how to read. One in four times, and where there is no JSON, its bytes are changed.
inline std::size_t mutate_json(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed, std::size_t choices) {
  if (seed % 4 == 0 || size < choices) return LLVMFuzzerMutate(data, size, most);
  auto document = nlohmann::json::parse(data + choices, data + size, nullptr, false);
  if (document.is_discarded()) return LLVMFuzzerMutate(data, size, most);
  const auto text = changed_json(std::move(document), seed);
  if (choices + text.size() > most) return LLVMFuzzerMutate(data, size, most);
  std::memcpy(data + choices, text.data(), text.size());
  return choices + text.size();
}

}  // namespace surety_fuzz

/// The mutator of a target whose input has so many bytes of choices before its JSON.
#define SURETY_MUTATES_JSON(choices)                                                                                          \
  extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned int seed) { \
    return surety_fuzz::mutate_json(data, size, most, seed, choices);                                                         \
  }
