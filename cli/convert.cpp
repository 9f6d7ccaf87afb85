// surety convert: the records of a text file as features, in a binary file that training reads a block at a time.
#include <fmt/format.h>

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/format.h>
#include <surety/accounting/system/new_file.h>
#include <surety/accounting/system/place.h>
#include <surety/data/record_file.h>
#include <surety/optimizers/models/model.h>

#include "command.h"
#include "files.h"
#include "output.h"
#include "train/train_options.h"

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
  const accounting::FileKind kind{"a record file", data::record_file_magic};
  require_separate({.inputs = options.reading.with_schema({{"the data file", options.table.data}}),
                    .outputs = {{{"the output", given.output}, kind, given.overwrite.said()}}});
  apply_schema(options);
  // What is trained on such a file promises to rows, and would say nothing of the owners that the schema promises to.
  if (options.run.said_unit.column) invalid("--schema names a unit, must not: a record file has no column that names an owner");
  const auto source = source_of(options);
  auto [records, features] = jobs::open_stream(source);
  optimizers::require_writable_names(features, source.label);

  data::RecordFileText text{{.features = features, .label = source.label}};
  using accounting::NewFile;
  NewFile file{accounting::Place{given.output}, 0, NewFile::Method::nameless, NewFile::Readers::owner_alone};
  const auto write = [&] {
    file.write(text.text());
    text.forget_text();
  };
  const jobs::AnyLabel any;
  const std::size_t count = features.features();
  std::vector<double> dense;
  std::uint64_t converted = 0;
  for (std::uint64_t damaged = 0; records.next(any); ++converted) {
    const bool is_damaged = records.damaged() > damaged;
    damaged = records.damaged();
    const auto row = records.row();
    if (row.is_sparse()) {
      dense.assign(count, 0.0);
      row.add_scaled_to(1, dense);
      text.add(dense, records.label(), is_damaged);
    } else {
      text.add(row.values, records.label(), is_damaged);
    }
    if (!text.text().empty()) write();
  }
  text.finish();
  write();
  file.replace(kind, given.overwrite.said());

  const nlohmann::json report{{"file", given.output},
                              {"features", count},
                              {"records_not_private", converted},
                              {"damaged_not_private", records.damaged()},
                              {"label", source.label ? nlohmann::json(describe(*source.label)) : nlohmann::json{}}};
  if (given.json) {
    print(report);
  } else {
    say("{}: {} records of {} features, of which {} count as zeros (numbers of records that are not private)\n", shown(given.output),
        converted, count, records.damaged());
  }
  return exit_code::fine;
}

}  // namespace

Command convert_command() {
  const auto describe = [](Command& command, OptionTable& table, ConvertOptions& options) {
    add_data_options(table, options.data, {"csv", "libsvm"});
    options.data.reading.add_form_to(table);
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
