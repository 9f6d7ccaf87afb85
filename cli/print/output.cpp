#include <surety/cli/print/output.h>

#include <cstdio>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/json.h>
#include <surety/base/text/escaped_text.h>
#include <surety/base/text/safe_text.h>

namespace surety::cli {
namespace {

constexpr int output_version = 1;

/// A path need not be UTF-8; JSON must.
std::string text_of(const nlohmann::json& object, int indent) {
  return json_for_terminals(object.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace));
}

void print_indented(nlohmann::json object, int indent) {
  object.emplace("version", output_version);
  fmt::print("{}\n", text_of(object, indent));
}

}  // namespace

nlohmann::json json(const Enclosure& enclosure) { return accounting::to_json(enclosure); }

void say_lines(std::string_view lines) {
  std::string safe;
  while (!lines.empty()) {
    const auto length = lines.find('\n');
    safe += one_line(lines.substr(0, length), std::string_view::npos);
    if (length == std::string_view::npos) break;
    safe += '\n';
    lines.remove_prefix(length + 1);
  }
  fmt::print("{}", safe);
}

void say_error(std::string_view message) {
  // Messages cut what they repeat of a user's text to 200 characters each; this is for those of other libraries.
  constexpr std::size_t most = 1000;
  std::fputs(fmt::format("surety: error: {}\n", one_line(message, most)).c_str(), stderr);
}

void say_notes(const std::vector<std::string>& notes) {
  constexpr std::size_t most = 1000;
  for (const auto& note : notes) std::fputs(fmt::format("surety: note: {}\n", one_line(note, most)).c_str(), stderr);
}

void say_progress(std::string_view state) {
  constexpr int width = 40;
  std::fputs((state.empty() ? fmt::format("\r{:{}}\r", "", width) : fmt::format("\r{}", one_line(state, width))).c_str(), stderr);
  std::fflush(stderr);
}

void print(const nlohmann::json& object) { print_indented(object, 2); }

void print_with_rows(nlohmann::json object, const std::string& field, std::size_t count,
                     const std::function<nlohmann::json(std::size_t)>& row) {
  object[field] = nlohmann::json::array();
  object.emplace("version", output_version);
  const auto frame = text_of(object, 2);
  // A line end in a text is written as two characters, so this is the field.
  const auto place = frame.find(fmt::format("\n  \"{}\": []", field));
  if (count == 0) {
    fmt::print("{}\n", frame);
    return;
  }
  const auto before = frame.find('[', place) + 1;
  fmt::print("{}", std::string_view{frame}.substr(0, before));
  for (std::size_t i = 0; i < count; ++i) {
    std::string lines{i == 0 ? "\n" : ",\n"};
    lines += text_of(row(i), 2);
    for (std::size_t end = lines.find('\n'); end != std::string::npos; end = lines.find('\n', end + 1)) lines.insert(end + 1, 4, ' ');
    fmt::print("{}", lines);
  }
  fmt::print("\n  {}\n", std::string_view{frame}.substr(before));
}

void print_line(const nlohmann::json& object) { print_indented(object, -1); }

void finish_output() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    throw Error{ErrorCode::environment, "standard output could not be written, must accept what the command prints"};
  }
}

}  // namespace surety::cli
