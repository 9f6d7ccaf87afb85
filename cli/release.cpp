// surety release: private statistics, charged to a ledger before their noise is drawn.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <surety/accounting/numbers/error.h>
#include <surety/accounting/system/new_file.h>
#include <surety/data/csv.h>
#include <surety/statistics/parts.h>

#include "command.h"
#include "data_options.h"
#include "files.h"
#include "private_run.h"
#include "release/queries.h"
#include "release/release_report.h"
#include "release/shared_noise.h"
#include "validators.h"

namespace surety::cli {
namespace {

using namespace statistics;

struct ReleaseOptions {
  std::string data;
  QueryOptions asked;
  DataOptions reading;
  PrivateRunOptions run;
  std::string noise = "best";
  double confidence = 0.95;
  bool json = false;
  std::string format = "table";
  std::optional<std::string> svg;
};

/// For the ledger, where the user has no word for the run.
std::string note_of(const std::vector<WeightedStatistic>& queries) {
  constexpr std::size_t most_named = 3;
  std::string note;
  for (std::size_t k = 0; k < std::min(queries.size(), most_named); ++k) note += (k > 0 ? "; " : "") + describe(queries[k].statistic);
  return queries.size() > most_named ? fmt::format("{} queries: {}; ...", queries.size(), note) : note;
}

/// Whose rows are whose; nothing where the unit is a row.
std::optional<KeysOf::Owner> owner_of(const PrivateRunOptions& run) {
  if (!run.unit_column) return std::nullopt;
  return KeysOf::Owner{*run.unit_column, run.empty_unit == "each"};
}

void print_report(const ReleaseOptions& options, const ReleaseReport& report) {
  if (options.json || options.format == "json") {
    print_json(report);
  } else if (options.format == "csv") {
    print_csv(report);
  } else {
    print_table(report);
  }
}

int release(ReleaseOptions& options, OptionTable given) {
  // Parameters, budget and entropy fail here, before private data is read.
  if (!(options.confidence > 0 && options.confidence < 1)) {
    invalid(fmt::format("--confidence is {}, must be greater than 0 and less than 1", options.confidence));
  }
  options.reading.load_schema();
  const Schema* const schema = options.reading.schema ? &*options.reading.schema : nullptr;
  if (schema != nullptr) options.run.take_schema(*schema);
  options.run.take_unit();
  const Target target = options.run.target();
  const auto policy = options.reading.policy();
  const auto list = options.asked.file;
  options.asked.take_file(given);
  const auto queries =
      parse_queries(options.asked, {.target = target, .unit = options.run.unit, .owner = owner_of(options.run), .schema = schema});
  Files files{.ledger = NamedFile{"--ledger", options.run.ledger},
              .inputs = options.run.inputs(options.reading.with_schema({{"the data file", options.data}}))};
  if (list) files.inputs.push_back({"--queries", *list});
  if (options.svg) files.outputs.push_back({"--svg", *options.svg});
  require_separate(files);
  auto chosen = choose_noise(queries, target, options.noise, options.confidence);
  const auto planned = options.run.plan(chosen.cost.event, note_of(queries));
  if (options.run.is_only_planned({.command = "release",
                                   .options = given,
                                   .target = target,
                                   .unit = options.run.unit,
                                   .event = chosen.cost.event,
                                   .noise = chosen.cost.value,
                                   .schema_sha256 = options.reading.schema_sha256()})) {
    return exit_code::fine;
  }
  options.run.check(planned);
  RunBits bits{options.run.replay_seed};
  auto picture = options.svg ? std::make_unique<accounting::NewFile>(accounting::Place{*options.svg}) : nullptr;

  const bool number_is_public = has_public_size(target.adjacency, options.run.unit);
  const auto units = read_units(options.data, options.run, policy, bits);
  data::CsvReader reader{options.data, policy};
  if (units) units->keep_only(reader);
  const auto records = read_parts(std::move(reader), chosen.parts, number_is_public);
  if (units) units->file.require_unchanged();
  auto reservation = options.run.reserve(planned);

  // From here on nothing depends on data but the values.
  ReleaseReport report{.options = options.run,
                       .reading = options.reading,
                       .confidence = options.confidence,
                       .cost = std::move(chosen.cost),
                       .run = reservation.id(),
                       .records = {},
                       .queries = {}};
  // A single query that counts some of the records is reported without the number of all.
  if (queries.size() > 1 ? number_is_public : queries.front().statistic.has_public_count()) report.records = records;
  for (std::size_t k = 0; k < queries.size(); ++k) {
    auto& part = *chosen.parts[k];
    report.queries.push_back({.facts = part.facts(),
                              .weight = queries[k].weight,
                              .event = part.event(),
                              .answers = part.release(reservation, bits.source(), records)});
  }
  return report_and_settle(reservation, options.run.ledger, [&] {
    print_report(options, report);
    if (!picture) return;
    picture->write(svg_of(report));
    picture->replace();
  });
}

}  // namespace

Command release_command(const PlannedArguments& given) {
  Command command{.name = "release", .summary = "Release private statistics and write what they spent into a ledger"};
  auto& table = command.options;
  const auto options = std::make_shared<ReleaseOptions>();
  table.add("data", options->data, "A CSV file, plain or compressed by gzip, zstd or bzip2").required();

  table.group("Query");
  command.exactly_one_of = options->asked.add_to(table);
  table.add("--confidence", options->confidence, "Of the interval that holds the statistic of the clamped records", number());
  options->reading.add_missing_to(table);
  options->reading.add_schema_to(table);
  options->reading.add_csv_to(table);
  options->reading.add_form_to(table);
  options->reading.add_limits_to(table);

  table.group("Privacy");
  options->run.add_promise_to(table, false);
  options->run.add_unit_to(table);
  table.add("--noise", options->noise, "laplace, gaussian, or best: the one of smaller standard deviation (laplace at delta = 0)",
            one_of({"best", "laplace", "gaussian"}));
  options->run.add_ledger_to(table);

  table.group("Output");
  table.add("--format", options->format, "table, json (one object) or csv (one line for each number)", one_of({"table", "json", "csv"}));
  table.add("--json", options->json, "The same as --format json").excludes("--format");
  table.add("--svg", options->svg, "Write a picture to this file as well: bars with their intervals");
  options->run.add_plan_to(table);
  options->run.expected = given.expected;
  command.footer =
      "The number of records is public under replace-one and zero-out, unless --where selects some: a mean is then the noisy sum over\n"
      "that number. Elsewhere a mean is the ratio of a sum and a count that share one release.\n"
      "A variance divides by the number of records. A median or quantile is one of public candidates, drawn by the exponential mechanism; "
      "its\n"
      "rank error is by how many of the clamped and rounded numbers it misses the rank asked for. It is of no groups.\n"
      "Under replace-one a record moves a sum by upper - lower, and where it may cease to meet --where by the larger magnitude of the\n"
      "bounds, too; under add-or-remove-one and zero-out, whose records come and go, by that magnitude alone.\n"
      "A unit with --most K rows moves each statistic by up to K times that, and the number of records is then private.\n"
      "Keys are shown where their noisy count is above a threshold: half of --delta is the chance that one unit's own key appears.\n"
      "Groups: a record is in one group or none, but a unit of several rows may be in several. Means of groups are ratios.\n"
      "Several queries cost together what their composition costs, and nothing is released unless all are well-formed. Their noise is "
      "that\n"
      "of one scale s, divided by the square root of each query's weight: with Gaussian noise a weight is a share of the budget.\n"
      "The interval is about the noise: it knows nothing of sampling, nor of numbers beyond the bounds.\n"
      "Every line end outside quotes ends a record. A cell that is missing or no number counts as 0, clamped to --bounds, is in no cell\n"
      "of a histogram and meets no --where, by which it can be left out; so does every cell of a record with a wrong number of them.\n"
      "Under zero-out it is no record of a quantile, a variance or a mean of a private count: a zeroed record is such a one.\n"
      "CSV puts an apostrophe before a text that begins with = + - @, a tab or a carriage return, which spreadsheets run as a formula.\n"
      "Examples:\n"
      "  surety release examples/data/randhie.csv --query 'mean(mdvis)' --bounds 0,20 --epsilon 0.5 --ledger run.db\n"
      "  surety release examples/data/randhie.csv --query 'count()' --where 'mdvis>0' --epsilon 0.5 --ledger run.db\n"
      "  surety release examples/data/randhie.csv --query 'histogram(hlthg)' --categories 0,1 --epsilon 1 --delta 1e-6 \\\n"
      "                 --ledger run.db\n"
      "  surety release examples/data/randhie.csv --query 'count()' --query 'mean(mdvis)' --bounds 0,20 --by hlthg --keys 0,1 \\\n"
      "                 --epsilon 1 --delta 1e-6 --ledger run.db --format csv";
  command.run = [options](const Command& said) { return release(*options, said.options); };
  return command;
}

}  // namespace surety::cli
