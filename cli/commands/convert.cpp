// surety convert: the records of a text file as features, in a binary file that training reads a block at a time.
#include <fmt/format.h>

#include <string>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/format.h>
#include <surety/cli/commands/command.h>
#include <surety/cli/commands/train/train_options.h>
#include <surety/cli/files/files.h>
#include <surety/cli/print/output.h>
#include <surety/jobs/convert/record_file_job.h>

namespace surety::cli {
namespace {

struct ConvertOptions {
  TrainOptions data;  ///< of which only how a file is read is said
  std::string output;
  OverwriteOption overwrite;
  bool json = false;
};

int convert(const ConvertOptions& given) {
  auto options = given.data;
  require_separate({.inputs = options.run.inputs({{"the data file", options.table.data}}, options.reading),
                    .outputs = {{{"the output", given.output}, jobs::record_file, given.overwrite.said()}}});
  apply_schema(options);
  // What is trained on such a file promises to rows, and would say nothing of the owners that the schema promises to.
  if (options.run.said_unit.column) invalid("--schema names a unit, must not: a record file has no column that names an owner");
  const auto source = source_of(options);
  const auto [features, records, damaged] = jobs::convert(source, given.output, given.overwrite.said());
  if (given.json) {
    print({{"file", given.output},
           {"features", features},
           {"records_not_private", records},
           {"damaged_not_private", damaged},
           {"label", source.label ? nlohmann::json(describe(*source.label)) : nlohmann::json{}}});
  } else {
    say("{}: {} records of {} features, of which {} count as zeros (numbers of records that are not private)\n", shown(given.output),
        records, features, damaged);
  }
  return exit_code::fine;
}

}  // namespace

Command convert_command() {
  const auto describe = [](Command& command, OptionTable& table, ConvertOptions& options) {
    add_data_options(table, options.data, {jobs::DataFormat::csv, jobs::DataFormat::libsvm});
    table.add_fields([&](auto& fields) { options.data.reading.add_form(fields); });
    table.group("Output");
    table.add("output", options.output, "The record file to write: a new name, or another record file").required();
    options.overwrite.add_to(table);
    table.add("--json", options.json, "Print one JSON object");
    command.footer =
        R"(A record file holds features and labels as 'surety train' would read them with the same options, 8 bytes a number, and says what they are.
'surety train --format records' reads it a block at a time: shaped-descent, gradient-descent, accelerated-gradient-descent,
mirror-descent, dp-sgd, sufficient-statistics and constant keep no records in memory but some 50 bytes for each, so it may be much larger than that.
It is as private as the data, and only its owner may read it. Each block has a checksum: a file that is damaged, or changes while it is read, is an error.
Example:
  surety convert examples/data/randhie.csv randhie.records --label 'mdvis>0')";
  };
  return make_command("convert", "Write the records of a CSV or LIBSVM file as features, for training on more than memory holds", convert,
                      describe);
}

}  // namespace surety::cli
