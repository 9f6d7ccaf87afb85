// surety schema: a JSON file of the names and the form of a CSV file, for its owner to fill in from public knowledge.
#include <fmt/format.h>

#include <string>

#include <surety/cli/commands/command.h>
#include <surety/cli/files/files.h>
#include <surety/cli/print/output.h>
#include <surety/data/csv/csv.h>
#include <surety/jobs/plans/reading_fields.h>

#include <surety/jobs/plans/schema.h>

namespace surety::cli {
namespace {

struct SchemaOptions {
  std::string data;
  jobs::ReadingFields reading;
  bool json = false;  // as every command has it; here it changes nothing
};

int print_schema(const SchemaOptions& options) {
  require_separate({.inputs = {{"the data file", options.data}}});
  const auto policy = options.reading.policy();
  const bool has_header = policy.csv.columns.empty();
  // Only the header is read, and where the columns are named not even that.
  const auto columns = has_header ? data::CsvReader{options.data, policy}.header() : policy.csv.columns;
  const auto text = jobs::schema_text(options.data, policy.csv.delimiter == '\t' ? "tab" : std::string(1, policy.csv.delimiter),
                                      policy.csv.decimal, has_header, columns);
  print_document(text, prints_json_version_2() ? nlohmann::json::parse(text) : nlohmann::json{});
  return exit_code::fine;
}

}  // namespace

Command schema_command() {
  const auto describe = [](Command& command, OptionTable& table, SchemaOptions& options) {
    table.add("data", options.data, "A CSV file, plain or compressed by gzip, zstd or bzip2").required();
    table.add_fields([&](auto& fields) {
      options.reading.add_csv(fields);
      options.reading.add_limits(fields);
    });
    table.add("--json", options.json, "The same: a schema is one JSON object");
    command.footer =
        R"(The schema says the names of the columns and the form of the file, read from the header line alone: no record is looked at, so
nothing private is in it. Types, bounds, categories, what missing cells count as, the label and the unit are null: fill them in
from what is known without looking at the data, and give the file to release, train and predict as --schema.
Example:
  surety schema examples/data/randhie.csv > schema.json)";
  };
  return make_command("schema", "Write the names of a file's columns as a JSON schema to fill in", print_schema, describe);
}

}  // namespace surety::cli
