#include <surety/cli/files/files.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <climits>

#include <surety/accounting/events/format.h>
#include <surety/base/system/place.h>
#include <surety/base/text/error.h>
#include <surety/data/reading/text_reader.h>

namespace surety::cli {
namespace {

struct Checked {
  std::string said;  ///< "--model is 'model.json'"
  Place place;
};

Checked checked(const NamedFile& file) {
  if (file.path.empty()) invalid(fmt::format("{} is '', must name a file", file.name));
  return {fmt::format("{} is '{}'", file.name, one_line(file.path)), Place{file.path}};
}

/// \throws where the file could not become what it is to be, whatever the others are.
void require_ordinary(const Checked& file) {
  const auto& place = file.place;
  if (place.holds() == Place::Holds::unreachable) {
    throw Error{ErrorCode::environment, fmt::format("{}, which cannot be used: {}", file.said, place.reason())};
  }
  if (place.holds() == Place::Holds::folder || place.holds() == Place::Holds::other) {
    invalid(fmt::format("{}, which is {}, must be a regular file or a new name", file.said, place.reason()));
  }
  for (const auto suffix : database_side_files) {
    if (place.name().ends_with(suffix)) {
      invalid(fmt::format("{}, must not end in {}: SQLite deletes what has such a name beside a ledger", file.said, suffix));
    }
  }
}

/// What nobody else may write to, with the words for it.
struct Taken {
  Place place;
  std::string words;
};

void require_free(const Checked& file, const std::vector<Taken>& taken) {
  for (const auto& other : taken) {
    if (is_same(file.place, other.place)) invalid(fmt::format("{}, must be another file than {}", file.said, other.words));
  }
}

/// Output that the user's shell has sent to one of the files would be mixed with its content, and lost when it is replaced.
void require_no_stream(const std::vector<Taken>& taken) {
  const auto output = Place::of_open_file(STDOUT_FILENO);
  const auto error = Place::of_open_file(STDERR_FILENO);
  for (const auto& file : taken) {
    const bool is_output = output && is_same(*output, file.place);
    if (error && is_same(*error, file.place)) {
      // The line that says so must not go there either.
      const int elsewhere = is_output ? open("/dev/null", O_WRONLY | O_CLOEXEC) : STDOUT_FILENO;
      if (elsewhere >= 0) dup2(elsewhere, STDERR_FILENO);
      if (is_output && elsewhere >= 0) dup2(elsewhere, STDOUT_FILENO);
      invalid(fmt::format("standard error is a file, must be another than {}", file.words));
    }
    if (is_output) {
      // Nor may the object that says so under --json=2.
      const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
      if (nowhere >= 0) dup2(nowhere, STDOUT_FILENO);
    }
    if (is_output) invalid(fmt::format("standard output is a file, must be another than {}", file.words));
  }
}

}  // namespace

void require_separate(const Files& files) {
  std::vector<Taken> taken;
  if (files.ledger) {
    const auto ledger = checked(*files.ledger);
    require_ordinary(ledger);
    taken.push_back({ledger.place, "the ledger"});
    for (const auto suffix : database_side_files) {
      taken.push_back({ledger.place.beside(suffix), "the ledger and what SQLite keeps beside it"});
    }
  }
  std::vector<Taken> read;
  for (const auto& input : files.inputs) {
    if (input.path == data::TextReader::standard_input) {
      const auto place = Place::of_open_file(STDIN_FILENO);
      if (!place) continue;
      require_free({fmt::format("{} is standard input", input.name), *place}, taken);
      read.push_back({*place, std::string{input.name}});
    } else {
      const auto file = checked(input);
      require_free(file, taken);
      read.push_back({file.place, std::string{input.name}});
    }
  }
  taken.insert(taken.end(), read.begin(), read.end());
  for (const auto& output : files.outputs) {
    const auto file = checked(output.file);
    require_free(file, taken);
    require_ordinary(file);
    if (const auto obstacle = obstacle_to(file.place, output.kind, output.overwrite)) {
      const std::string_view cannot = obstacle->code == ErrorCode::environment ? "cannot be written: " : "";
      throw Error{obstacle->code, fmt::format("{}, which {}{}", file.said, cannot, obstacle->reason)};
    }
    taken.push_back({file.place, std::string{output.file.name}});
  }
  require_no_stream(taken);
}

void OverwriteOption::add_to(OptionTable& table) {
  table.add("--overwrite", is_given_, "Replace a file of another kind as well; never an SQLite database, as ledgers are");
}

Overwrite OverwriteOption::said() const noexcept { return is_given_ ? Overwrite::any_kind : Overwrite::own_kind_alone; }

std::string shown(const std::string& path) { return one_line(path, PATH_MAX); }

}  // namespace surety::cli
