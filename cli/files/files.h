// The files of a command, and the check that none of them is another: made before anything is read or charged.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <surety/base/system/place.h>
#include <surety/cli/parser/options.h>

namespace surety::cli {

/// `name` is for messages: "--model", "the data file".
struct NamedFile {
  std::string name;
  std::string path;
};

/// What is made, or replaced as a whole.
struct NamedOutput {
  NamedFile file;
  FileKind kind;
  Overwrite overwrite = Overwrite::own_kind_alone;
};

struct Files {
  std::optional<NamedFile> ledger = std::nullopt;  ///< with what SQLite keeps beside it
  std::vector<NamedFile> inputs = {};              ///< "-" is standard input
  std::vector<NamedOutput> outputs = {};           ///< standard output and error need not be said
};

/// \throws Error{invalid_argument} when an output, standard output or standard error is also the ledger, an input or another output, or the
///         ledger an input; when the ledger or an output is neither a regular file nor a new name, or has a name of those that SQLite deletes;
///         when an output would take the place of what it may not (`Overwrite`);
///         Error{environment} when the ledger or an output is in a folder that is not there, or an output in one that may not be written.
/// Where standard error is the one in conflict, the line that says so goes to standard output.
void require_separate(const Files& files);

/// The option --overwrite, of the commands that write a file.
class OverwriteOption {
 public:
  void add_to(OptionTable& table);
  [[nodiscard]] Overwrite said() const noexcept;

 private:
  bool is_given_ = false;
};

/// A path in a report: as it is, but on one line and without what a terminal obeys.
[[nodiscard]] std::string shown(const std::string& path);

}  // namespace surety::cli
