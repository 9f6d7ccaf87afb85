#include "page_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

#include <nlohmann/json.hpp>

#include <surety/base/text/error.h>

#include "report.h"

namespace surety::experiments {
namespace {

using Json = nlohmann::ordered_json;

std::string number(double value) { return fmt::format("{}", value); }

std::optional<double> find(const FixedPart& part, std::string_view name) {
  for (const auto& [known, value] : part.numbers()) {
    if (known == name) return value;
  }
  return std::nullopt;
}

bool near(double a, double b) {
  if (!std::isfinite(a) || !std::isfinite(b)) return a == b;
  return std::abs(a - b) <= tolerance * std::max(std::abs(a), std::abs(b));
}

std::string read(const std::filesystem::path& file) {
  std::ifstream stream{file, std::ios::binary};
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream || !text) throw Error{ErrorCode::environment, fmt::format("cannot read {}", file.string())};
  return text.str();
}

/// The page, and the rows of each table of values that it links.
std::string read_with_tables(const std::filesystem::path& page) {
  const std::string text = read(page);
  std::string whole = text;
  static constexpr std::string_view link = "](";
  static constexpr std::string_view ending = ".csv)";
  for (std::size_t at = text.find(link); at != std::string::npos; at = text.find(link, at + 1)) {
    const std::size_t from = at + link.size();
    const std::size_t end = text.find(')', from);
    if (end == std::string::npos || !std::string_view{text}.substr(from, end + 1 - from).ends_with(ending)) continue;
    whole += lines_of_table(read(page.parent_path() / text.substr(from, end - from)));
  }
  return whole;
}

int check(const std::filesystem::path& page, const std::function<void(FixedPart&)>& make_fixed_part) {
  const FixedPart kept = from_json(read(std::filesystem::path{page}.replace_extension(".check.json")));
  FixedPart made;
  make_fixed_part(made);
  const auto found = differences(kept, made, read_with_tables(page));
  for (const auto& line : found) fmt::print("{}: {}\n", page.filename().string(), line);
  if (found.empty()) {
    fmt::print("{}: {} numbers are as kept, {} lines as shown\n", page.filename().string(), made.numbers().size(), made.shown().size());
  } else {
    fmt::print("{} is not what its command makes: make it again, or mend what changed it\n", page.filename().string());
  }
  return found.empty() ? 0 : 1;
}

}  // namespace

void FixedPart::add(std::string name, double value) {
  if (std::isnan(value)) throw Error{ErrorCode::invalid_argument, fmt::format("'{}' is not a number", name)};
  if (find(*this, name)) throw Error{ErrorCode::invalid_argument, fmt::format("'{}' is there already", name)};
  numbers_.emplace_back(std::move(name), value);
}

void FixedPart::show(std::string text) { shown_.push_back(std::move(text)); }

std::string to_json(const FixedPart& made) {
  std::string text = "{";
  const char* separator = "\n";
  for (const auto& [name, value] : made.numbers()) {
    text += fmt::format("{}  {}: {}", separator, Json(name).dump(), std::isinf(value) ? Json(number(value)).dump() : number(value));
    separator = ",\n";
  }
  return text + "\n}\n";
}

FixedPart from_json(std::string_view text) {
  FixedPart part;
  try {
    const Json json = Json::parse(text);
    if (!json.is_object()) throw Error{ErrorCode::invalid_argument, "kept numbers: must be a JSON object"};
    constexpr double infinity = std::numeric_limits<double>::infinity();
    for (const auto& [name, value] : json.items()) {
      if (value == "inf" || value == "-inf") {
        part.add(name, value == "inf" ? infinity : -infinity);
      } else {
        part.add(name, value.get<double>());
      }
    }
  } catch (const Json::exception& error) {
    throw Error{ErrorCode::invalid_argument, fmt::format("kept numbers: {}", error.what())};
  }
  return part;
}

std::string lines_of_table(std::string_view csv) {
  std::string lines;
  std::vector<std::string> cells{""};
  bool quoted = false;
  for (std::size_t at = 0; at < csv.size(); ++at) {
    const char letter = csv[at];
    if (letter == '"' && quoted && csv.substr(at + 1).starts_with('"')) {
      cells.back() += csv[++at];
    } else if (letter == '"') {
      quoted = !quoted;
    } else if (letter == ',' && !quoted) {
      cells.emplace_back();
    } else if (letter == '\n' && !quoted) {
      lines += Table::line(cells) + "\n";
      cells.assign(1, "");
    } else {
      cells.back() += letter;
    }
  }
  return lines;
}

std::vector<std::string> differences(const FixedPart& kept, const FixedPart& made, std::string_view page) {
  std::vector<std::string> found;
  for (const auto& [name, value] : kept.numbers()) {
    const auto now = find(made, name);
    if (!now) {
      found.push_back(fmt::format("'{}' is kept as {}, and no longer made", name, number(value)));
    } else if (!near(value, *now)) {
      found.push_back(fmt::format("'{}' is kept as {}, and now {}", name, number(value), number(*now)));
    }
  }
  for (const auto& [name, value] : made.numbers()) {
    if (!find(kept, name)) found.push_back(fmt::format("'{}' is {}, and not kept", name, number(value)));
  }
  for (const auto& text : made.shown()) {
    if (page.find(text) == std::string_view::npos) found.push_back(fmt::format("the page does not show \"{}\"", text));
  }
  return found;
}

int main_of_page(std::span<char* const> arguments, const std::function<int(std::span<char* const> arguments)>& print_page,
                 const std::function<void(FixedPart&)>& make_fixed_part) {
  try {
    const std::string_view first = arguments.size() > 1 ? arguments[1] : "";
    if (first == "--numbers" && arguments.size() == 2) {
      FixedPart made;
      make_fixed_part(made);
      fmt::print("{}", to_json(made));
      return 0;
    }
    if (first == "--check" && arguments.size() == 3) return check(arguments[2], make_fixed_part);
    return print_page(arguments);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", std::filesystem::path{arguments[0]}.filename().string(), error.what());
    return 2;
  }
}

}  // namespace surety::experiments
