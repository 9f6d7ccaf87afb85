#include <surety/cli/print/output.h>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <utility>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/json.h>
#include <surety/base/system/place.h>
#include <surety/base/text/escaped_text.h>
#include <surety/base/text/safe_text.h>
#include <surety/cli/parser/help.h>
#include <surety/cli/print/output_version_2.h>
#include <surety/cli/print/progress.h>
#include <surety/cli/print/terminal.h>

namespace surety::cli {
namespace {

constexpr int output_version = 1;

/// A path need not be UTF-8; JSON must.
std::string text_of(const nlohmann::json& object, int indent) {
  return json_for_terminals(object.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace));
}

/// Of the process.
struct JsonForm {
  int version = output_version;
  std::string command;
  bool has_printed = false;
};
JsonForm& json_form() {
  static JsonForm one;
  return one;
}

/// Whether it is a file that nothing may be written to: a ledger whose name was not read before the command failed.
bool is_database(int descriptor) {
  try {
    if (!Place::of_open_file(descriptor)) return false;
    const auto path = std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", descriptor));
    const auto obstacle = obstacle_to(Place{path}, {.name = "JSON", .beginning = "{"}, Overwrite::any_kind);
    return obstacle && obstacle->code == ErrorCode::invalid_argument;
  } catch (const std::exception&) {  // the system does not say what it is
    return true;
  }
}

void print_text(const nlohmann::json& object, int indent) {
  end_progress();
  json_form().has_printed = true;
  fmt::print("{}\n", text_of(object, indent));
}

void print_indented(nlohmann::json object, int indent) {
  if (prints_json_version_2()) return print_text(result_in_version_2(std::move(object), json_form().command), indent);
  object.emplace("version", output_version);
  print_text(object, indent);
}

}  // namespace

nlohmann::json json(const Enclosure& enclosure) { return accounting::to_json(enclosure); }

void set_json_form(int version, std::string command) {
  json_form() = {.version = version, .command = std::move(command), .has_printed = false};
}

bool prints_json_version_2() { return json_form().version == 2; }

void print_failure(ErrorCode error, int exit_code, std::string_view message) {
  if (prints_json_version_2() && !json_form().has_printed && !is_database(STDOUT_FILENO))
    print_text(error_in_version_2(error, exit_code, message, json_form().command), 2);
}

void print_document(std::string_view plain, const nlohmann::json& document) {
  if (prints_json_version_2()) return print_text(document_in_version_2(document, json_form().command), 2);
  say_lines(plain);
}

void say_help(std::string_view lines) {
  if (!has_colour(STDOUT_FILENO)) return say_lines(lines);
  while (!lines.empty()) {
    const auto length = std::min(lines.find('\n'), lines.size());
    const auto line = lines.substr(0, length);
    if (is_heading(line)) fmt::print("\x1b[1m");
    say_lines(line);
    fmt::print("{}\n", is_heading(line) ? "\x1b[0m" : "");
    lines.remove_prefix(std::min(length + 1, lines.size()));
  }
}

void say_lines(std::string_view lines) {
  end_progress();
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
  end_progress();
  const bool is_red = has_colour(STDERR_FILENO);
  std::fputs(fmt::format("{}surety: error:{} {}\n", is_red ? "\x1b[31m" : "", is_red ? "\x1b[0m" : "", one_line(message, most)).c_str(),
             stderr);
}

void say_notes(const std::vector<std::string>& notes) {
  constexpr std::size_t most = 1000;
  if (!notes.empty()) wipe_progress();
  for (const auto& note : notes) std::fputs(fmt::format("surety: note: {}\n", one_line(note, most)).c_str(), stderr);
}

void print(const nlohmann::json& object) { print_indented(object, 2); }

void print_with_rows(nlohmann::json object, const std::string& field, std::size_t count,
                     const std::function<nlohmann::json(std::size_t)>& row) {
  object[field] = nlohmann::json::array();
  if (prints_json_version_2()) {
    for (std::size_t i = 0; i < count; ++i) object[field].push_back(row(i));
    return print(object);
  }
  end_progress();
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
  end_progress();
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    throw Error{ErrorCode::environment, "standard output could not be written, must accept what the command prints"};
  }
}

}  // namespace surety::cli
