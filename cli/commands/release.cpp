// surety release: private statistics, charged to a ledger before their noise is drawn.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include <surety/base/system/new_file.h>
#include <surety/base/text/error.h>
#include <surety/base/text/safe_text.h>
#include <surety/cli/commands/command.h>
#include <surety/cli/commands/private_run.h>
#include <surety/cli/files/files.h>
#include <surety/cli/print/output.h>
#include <surety/jobs/pictures/bar_picture.h>
#include <surety/jobs/release/accuracy.h>
#include <surety/jobs/release/queries.h>
#include <surety/jobs/release/queries_json.h>
#include <surety/jobs/release/release_fields.h>
#include <surety/jobs/release/release_job.h>
#include <surety/jobs/release/released_json.h>
#include <surety/jobs/release/released_report.h>

namespace surety::cli {
namespace {
enum class ReleaseFormat : std::uint8_t { table, json, csv };
}
}  // namespace surety::cli

template <>
struct surety::jobs::Choices<surety::cli::ReleaseFormat> {
  static constexpr std::array all{Named{cli::ReleaseFormat::table, "table"}, Named{cli::ReleaseFormat::json, "json"},
                                  Named{cli::ReleaseFormat::csv, "csv"}};
};

namespace surety::cli {
namespace {

struct ReleaseOptions {
  std::string data;
  jobs::QueryFields asked;
  jobs::ReleaseWords words;
  jobs::ReadingFields reading;
  PrivateRunOptions run;
  std::optional<std::string> accuracy;
  bool json = false;
  ReleaseFormat format = ReleaseFormat::table;
  std::optional<std::string> svg;
  OverwriteOption overwrite;
};

void print_report(const ReleaseOptions& options, const jobs::ReleasedStatistics& released) {
  if (options.json || options.format == ReleaseFormat::json) {
    auto object = jobs::to_json(released, prints_json_version_2());
    object.update(options.run.charge_json(released.run));
    if (options.asked.grammar == jobs::QueryGrammar::plan_1) object["notes"].push_back(jobs::note_of_version_1);
    print(object);
  } else if (options.format == ReleaseFormat::csv) {
    say_lines(jobs::csv(released, option_name));
  } else {
    if (options.asked.grammar == jobs::QueryGrammar::plan_1) say_line("note", jobs::note_of_version_1);
    if (options.accuracy)
      say_line("accuracy", fmt::format("{} takes epsilon = {}", one_line(*options.accuracy), released.promise.epsilon.value()));
    say_lines(jobs::report_text(released, options.run.ledger_and(released.run), option_name));
  }
}

class ReleaseCommand final : public CommandSteps {
 public:
  ReleaseCommand(const ReleaseOptions& options, jobs::ReleaseJob job)
      : CommandSteps{options.run}, options_{options}, job_{std::move(job)} {}

  accounting::Plan calibrate() override { return job_->charge(options_.run.replay_seed.has_value()); }
  void read() override { read_.emplace((*std::move(job_)).read(options_.data, bits().source())); }
  void take_place() override {
    if (options_.svg) picture_ = std::make_unique<NewFile>(Place{*options_.svg});
    say_notes(read_->notes());
  }
  void release(accounting::Reservation& reservation) override {
    released_.emplace((*std::move(read_)).release(reservation, bits().source()));
  }

 private:
  void print(const accounting::Reservation& reservation) override {
    print_report(options_, *released_);
    if (!picture_) return;
    picture_->write(svg(jobs::picture_of(*released_)));
    picture_->show_change(reservation.time());
    picture_->replace(jobs::picture_file, options_.overwrite.said());
  }

  const ReleaseOptions& options_;
  std::optional<jobs::ReleaseJob> job_;
  std::optional<jobs::ReadStatistics> read_;
  std::optional<jobs::ReleasedStatistics> released_;
  std::unique_ptr<NewFile> picture_;
};

/// The epsilon of --accuracy, for this plan. Sets the confidence of its intervals, too. \throws as `jobs::epsilon_for`
Epsilon take_accuracy(ReleaseOptions& options, jobs::ReleasePlan& plan, OptionTable& given) {
  const auto accuracy = jobs::parse_accuracy(*options.accuracy);
  auto& confidence = *given.find("--confidence");
  if (confidence.is_given() && options.words.confidence != accuracy.confidence) {
    invalid(fmt::format("--confidence is {}, must be that of --accuracy, {}; remove it", options.words.confidence, accuracy.confidence));
  }
  if (options.words.confidence != accuracy.confidence) confidence.set({fmt::format("{}", accuracy.confidence)});
  plan.confidence = accuracy.confidence;
  return jobs::epsilon_for(plan, accuracy);
}

int release(ReleaseOptions& options, OptionTable given) {
  // Parameters, budget and entropy fail here, before private data is read.
  if (!(options.words.confidence > 0 && options.words.confidence < 1)) {
    invalid(fmt::format("--confidence is {}, must be greater than 0 and less than 1", options.words.confidence));
  }
  options.reading.load_schema();
  const jobs::Schema* const schema = options.reading.schema ? &*options.reading.schema : nullptr;
  if (schema != nullptr) options.run.said_unit.take_schema(*schema);
  Files files{.ledger = NamedFile{"--ledger", options.run.ledger_file()},
              .inputs = options.run.inputs({{"the data file", options.data}}, options.reading)};
  if (options.asked.file) files.inputs.push_back({"--queries", *options.asked.file});
  if (options.svg) files.outputs.push_back({{"--svg", *options.svg}, jobs::picture_file, options.overwrite.said()});
  require_separate(files);
  options.run.take_ledger(given);
  options.run.take_unit(options.reading);
  if (options.accuracy) options.run.epsilon = 1;  // until it is found
  Target target = options.run.target();
  const auto policy = options.reading.policy();
  if (options.run.expected) {
    options.asked.grammar = options.run.expected->version == 1 ? jobs::QueryGrammar::plan_1 : jobs::QueryGrammar::plan_2;
  }
  options.asked.take_file();
  const jobs::QueryContext context{.target = target,
                                   .unit = options.run.unit,
                                   .schema = schema,
                                   .format = policy.csv,
                                   .shares_among_columns = options.asked.grammar == jobs::QueryGrammar::plan_1};
  jobs::ReleasePlan plan{.target = target,
                         .queries = jobs::parse_queries(options.asked, context),
                         .unit = options.run.unit,
                         .period = options.run.period,
                         .noise = options.words.noise,
                         .confidence = options.words.confidence,
                         .reading = policy,
                         .note = options.run.note.value_or("")};
  const auto has_numbers = [](const auto& query) { return statistics::has_numbers(query.statistic); };
  if (options.svg && std::none_of(plan.queries.begin(), plan.queries.end(), has_numbers)) {
    invalid("--svg draws numbers, and these queries release texts alone, must be left out");
  }
  // A column that is not there is said before seconds of calibration; but what a plan expects of a run is looked at before the data are, and needs its
  // noise.
  if (!options.run.print_plan && !options.run.expected) jobs::require_columns(plan, options.data);
  if (options.accuracy) {
    target.epsilon = take_accuracy(options, plan, given);
    options.run.epsilon = target.epsilon.value();
    plan.target = target;
  }
  auto queries = options.run.print_plan ? jobs::queries_json(plan.queries, context) : nlohmann::json{};
  jobs::ReleaseJob job{std::move(plan)};
  if (options.run.is_only_planned({.command = "release",
                                   .options = given,
                                   .target = target,
                                   .follows = {.unit = options.run.unit, .event = job.cost().event, .noise = job.cost().value},
                                   .schema_sha256 = options.reading.schema_sha256(),
                                   .queries = std::move(queries)})) {
    return exit_code::fine;
  }
  return ReleaseCommand{options, std::move(job)}.run();
}

constexpr const char* footer =
    R"(A record whose cell is missing, empty or no number, is no record of a sum, mean, variance, median, quantile or histogram of that column;
how many there are is private. So a mean is the ratio of a sum and a count that share one release. --missing column=0 counts such cells as
0, and --complete column promises that there is none: under replace-one and zero-out the number of records is then public, unless --where
selects some, and a mean is the noisy sum over that number. A variance divides by the number of its records. A median or quantile is one of
public candidates, drawn by permute-and-flip, or where many choices share a charge at delta > 0 by the exponential mechanism; its rank error is by how many of the clamped and rounded numbers it misses the rank
asked for. Several fractions of one query are chosen by halving, and cost ceil(log2(m + 1)) choices. Under replace-one a record moves a sum by upper - lower, and where its cell may be missing or it may cease
to meet --where by the larger magnitude of the bounds, too; under add-or-remove-one and zero-out, whose records come and go, by that
magnitude alone. A unit with --most K rows moves each statistic by up to K times that, and count() of all rows by K - 1, since it has one
at least; the number of records is then private. Keys are shown where their noisy count is above a threshold: half of --delta is the chance
that one unit's own key appears, a tenth where means of such groups are asked. Groups: a record is in one group or none, but a unit of
several rows may be in several. Means of groups are ratios. Several queries cost together what their composition costs, and nothing is
released unless all are well-formed. Their noise is that of one scale s, divided by the square root of each query's weight: with Gaussian
noise a weight is a share of the budget. The interval is about the noise: it knows nothing of sampling, nor of numbers beyond the bounds.
Every line end outside quotes ends a record, and a cell in quotes holds at most --quoted-lines of them. A missing cell meets no comparison
of --where, and missing(column) alone; every cell of a record with a wrong number of them meets nothing. With --missing or --complete such
a record counts as 0, clamped to --bounds, but under zero-out it is none of a quantile, a variance or a mean of a private count: a zeroed
record is such a one. CSV puts an apostrophe before a text that begins with = + - @, which spreadsheets run as a formula, or with an
apostrophe, doubles backslashes, and spells control characters and bytes that are not UTF-8 \xHH or \uHHHH.
Examples:
  surety release examples/data/randhie.csv --query 'mean(mdvis)' --bounds 0,20 --epsilon 0.5 --ledger run.db
  surety release examples/data/randhie.csv --query 'count()' --where 'mdvis>0' --epsilon 0.5 --ledger run.db
  surety release examples/data/randhie.csv --query 'histogram(hlthg)' --categories 0,1 --epsilon 1 --delta 1e-6 \
                 --ledger run.db
  surety release examples/data/randhie.csv --query 'count()' --query 'mean(mdvis)' --bounds 0,20 --by hlthg --keys 0,1 \
                 --epsilon 1 --delta 1e-6 --ledger run.db --format csv)";

}  // namespace

Command release_command(const GivenArguments& given) {
  Command command{.name = "release", .summary = "Release private statistics and write what they spent into a ledger"};
  auto& table = command.options;
  const auto options = std::make_shared<ReleaseOptions>();
  table.add("data", options->data, "A CSV file, plain or compressed by gzip, zstd or bzip2").required();

  table.group("Query");
  command.exactly_one_of = {"--query", "--queries"};
  table.add_fields([&](auto& fields) {
    options->asked.add(fields);
    options->words.add_confidence(fields);
  });
  table.add_fields([&](auto& fields) {
    options->reading.add_missing(fields);
    options->reading.add_complete(fields);
    options->reading.add_schema(fields);
    options->reading.add_csv(fields);
    options->reading.add_form(fields);
    options->reading.add_limits(fields);
  });

  table.group("Owners");
  options->run.add_unit_to(table);
  table.group("Promise");
  options->run.add_promise_to(table, false, "--accuracy");
  table
      .add(
          "--accuracy", options->accuracy,
          "In the place of --epsilon: the error of each number, such as '+-50 at 95 %'; the run takes the least epsilon that gives it, and --print-plan shows that. For counts, sums, histograms, modes and the rank of one quantile")
      .excludes("--epsilon");
  table.add_fields([&](auto& fields) { options->words.add_noise(fields); });
  table.group("Ledger");
  options->run.add_ledger_to(table);

  table.group("Output");
  table.add("--format", options->format, "table, json (one object) or csv (one line for each number)");
  table.add("--json", options->json, "The same as --format json").excludes("--format");
  table.add("--svg", options->svg, "Write a picture to this file as well: bars with their intervals");
  options->overwrite.add_to(table);
  options->run.add_plan_to(table);
  options->run.expected = given.expected;
  command.footer = footer;
  command.run = [options](const Command& said) { return release(*options, said.options); };
  return command;
}

}  // namespace surety::cli
