#include "page_check.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <exception>
#include <fstream>
#include <limits>
#include <optional>
#include <regex>
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

/// The CSV files that the page links, in its order.
std::vector<std::string> linked_tables(std::string_view page) {
  static constexpr std::string_view link = "](";
  static constexpr std::string_view ending = ".csv)";
  std::vector<std::string> names;
  for (std::size_t at = page.find(link); at != std::string_view::npos; at = page.find(link, at + 1)) {
    const std::size_t from = at + link.size();
    const std::size_t end = page.find(')', from);
    if (end == std::string_view::npos || !page.substr(from, end + 1 - from).ends_with(ending)) continue;
    names.emplace_back(page.substr(from, end - from));
  }
  return names;
}

/// The page, and the rows of each table of values that it links.
std::string read_with_tables(const std::filesystem::path& page) {
  const std::string text = read(page);
  std::string whole = text;
  for (const auto& name : linked_tables(text)) whole += lines_of_table(read(page.parent_path() / name));
  return whole;
}

std::string sha256(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &length, EVP_sha256(), nullptr) != 1) {
    throw Error{ErrorCode::environment, "OpenSSL cannot compute SHA-256"};
  }
  std::string hexadecimal;
  for (const unsigned char byte : std::span{digest}.first(length)) hexadecimal += fmt::format("{:02x}", byte);
  return hexadecimal;
}

/// Whether the header of a column has the word "ms" or "seconds".
bool holds_times(std::string_view header) {
  static const std::regex word{R"(\b(ms|seconds)\b)"};
  return std::regex_search(header.begin(), header.end(), word);
}

int check(const std::filesystem::path& page, const std::function<void(FixedPart&)>& make_fixed_part) {
  const FixedPart kept = from_json(read(std::filesystem::path{page}.replace_extension(".check.json")));
  FixedPart made;
  make_fixed_part(made);
  add_files(made, page);
  const auto found = differences(kept, made, read_with_tables(page));
  for (const auto& line : found) fmt::print("{}: {}\n", page.filename().string(), line);
  if (found.empty()) {
    fmt::print("{}: {} numbers are as kept, {} lines as shown, {} files as written\n", page.filename().string(), made.numbers().size(),
               made.shown().size(), made.files().size());
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

void FixedPart::add_file(std::string name, std::string hash) { files_.insert_or_assign(std::move(name), std::move(hash)); }

void add_files(FixedPart& part, const std::filesystem::path& page) {
  const std::string text = read(page);
  part.add_file(page.filename().string(), sha256(without_times(text, '|')));
  for (const auto& name : linked_tables(text)) part.add_file(name, sha256(without_times(read(page.parent_path() / name), ',')));
}

std::string without_times(std::string_view text, char separator) {
  std::string rest;
  std::vector<bool> times;  // of the columns of the table being read; empty outside a table
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    const bool row = separator == ',' || line.starts_with(separator);
    const bool header = row && times.empty();
    if (!row) times.clear();
    std::size_t column = 0;
    bool quoted = false;
    for (std::size_t at = 0, from = 0; at <= line.size(); ++at) {
      if (at < line.size() && line[at] == '"' && separator == ',') quoted = !quoted;
      if (at < line.size() && (line[at] != separator || quoted)) continue;
      const std::string_view cell = line.substr(from, at - from);
      if (header) times.push_back(holds_times(cell));
      if (header || !row || column >= times.size() || !times[column]) rest += cell;
      if (at < line.size()) rest += separator;
      from = at + 1;
      ++column;
    }
    if (line.size() < text.size()) rest += '\n';
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return rest;
}

std::string to_json(const FixedPart& made) {
  std::string text = "{";
  const char* separator = "\n";
  for (const auto& [name, value] : made.numbers()) {
    text += fmt::format("{}  {}: {}", separator, Json(name).dump(), std::isinf(value) ? Json(number(value)).dump() : number(value));
    separator = ",\n";
  }
  if (!made.files().empty()) text += fmt::format("{}  \"files\": {}", separator, Json(made.files()).dump());
  return text + "\n}\n";
}

FixedPart from_json(std::string_view text) {
  FixedPart part;
  try {
    const Json json = Json::parse(text);
    if (!json.is_object()) throw Error{ErrorCode::invalid_argument, "kept numbers: must be a JSON object"};
    constexpr double infinity = std::numeric_limits<double>::infinity();
    for (const auto& [name, value] : json.items()) {
      if (name == "files") {
        for (const auto& [file, hash] : value.items()) part.add_file(file, hash.get<std::string>());
      } else if (value == "inf" || value == "-inf") {
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
  for (const auto& [name, hash] : kept.files()) {
    const auto now = made.files().find(name);
    if (now == made.files().end()) {
      found.push_back(fmt::format("{} is kept, and the page no longer links it", name));
    } else if (now->second != hash) {
      found.push_back(fmt::format("{} is not the text that the program wrote", name));
    }
  }
  for (const auto& [name, hash] : made.files()) {
    if (!kept.files().contains(name)) found.push_back(fmt::format("the hash of {} is not kept", name));
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
    if (first == "--numbers" && arguments.size() == 3) {
      FixedPart made;
      make_fixed_part(made);
      add_files(made, arguments[2]);
      fmt::print("{}", to_json(made));
      return 0;
    }
    if (first == "--check" && arguments.size() == 3) return check(arguments[2], make_fixed_part);
    if (first.starts_with("--")) {
      throw Error{ErrorCode::invalid_argument, fmt::format("unknown option {}; use --numbers PAGE.md or --check PAGE.md", first)};
    }
    return print_page(arguments);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", std::filesystem::path{arguments[0]}.filename().string(), error.what());
    return 2;
  }
}

}  // namespace surety::experiments
