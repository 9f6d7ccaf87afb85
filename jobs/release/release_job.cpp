#include <surety/jobs/release/release_job.h>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <system_error>
#include <utility>

#include <surety/accounting/events/format.h>
#include <surety/accounting/numbers/error.h>
#include <surety/accounting/numbers/safe_text.h>
#include <surety/data/arrow_reader.h>
#include <surety/data/csv.h>
#include <surety/data/text_reader.h>
#include <surety/jobs/release/read_table.h>
#include <surety/jobs/release/release_steps.h>

namespace surety::jobs {
namespace {

using namespace statistics;

/// For the ledger, where the plan has no word for the run.
std::string note_of(const std::vector<WeightedStatistic>& queries) {
  constexpr std::size_t most_named = 3;
  std::string note;
  for (std::size_t k = 0; k < std::min(queries.size(), most_named); ++k) note += (k > 0 ? "; " : "") + describe(queries[k].statistic);
  return queries.size() > most_named ? fmt::format("{} queries: {}; ...", queries.size(), note) : note;
}

std::string missing_cells_text(const PartFacts& facts, const std::map<std::string, std::string>& missing) {
  if (!facts.missing_cells) return {};
  if (*facts.missing_cells == MissingCells::left_out) return "left out";
  if (*facts.missing_cells == MissingCells::promised_complete) return "promised complete";
  const auto& value = missing.at(facts.column);
  const auto [number, fault] = data::parse_number(value);
  // Of a damaged record no value is that of its cells.
  const bool is_other = !facts.has_cells && !(fault == data::NumberFault::none && number == 0);
  return fmt::format("count as {}{}", one_line(value), is_other ? " (0 where a whole record is damaged)" : "");
}

ReleasePlan checked(ReleasePlan plan) {
  if (!(plan.confidence > 0 && plan.confidence < 1)) {
    invalid(fmt::format("confidence is {}, must be greater than 0 and less than 1", plan.confidence));
  }
  if (plan.queries.empty() || plan.queries.size() > ReleasePlan::most_queries) {
    invalid(fmt::format("queries are {}, must be from 1 to {}", plan.queries.size(), ReleasePlan::most_queries));
  }
  for (const auto& query : plan.queries) {
    query.validate();
    if (query.statistic.adjacency != plan.target.adjacency) {
      invalid(fmt::format("adjacency of '{}' is {}, must be the target's, {}", describe(query.statistic), name(query.statistic.adjacency),
                          name(plan.target.adjacency)));
    }
    if (!(query.statistic.unit == plan.unit)) {
      invalid(fmt::format("unit of '{}' is {}, must be the plan's, {}", describe(query.statistic), describe(query.statistic.unit),
                          describe(plan.unit)));
    }
  }
  return plan;
}

}  // namespace

namespace {

CalibratedQueries noise_for(const ReleasePlan& plan, const RunContext& context) {
  context.begin(Phase::calibrating);
  std::optional<CalibratedQueries> found;
  until_called_off(context, [&] { found = choose_noise(plan.queries, plan.target, plan.noise, plan.confidence); });
  return *std::move(found);
}

/// \param make_reader is called where there are parts
void require_columns_of(const ReleasePlan& plan, const auto& make_reader) {
  Parts parts;
  try {
    parts = adding_parts_of(plan.queries, NoiseFamily::laplace, 1);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_argument) throw;
    return;  // no noise of that scale: nothing about the columns
  }
  check_header(make_reader(), parts);
}

}  // namespace

void require_columns(const ReleasePlan& plan, const std::filesystem::path& path) {
  std::error_code ignored;
  if (path == data::TextReader::standard_input || !std::filesystem::is_regular_file(path, ignored)) return;
  require_columns_of(plan, [&] { return data::CsvReader{path, plan.reading}; });
}

void require_columns(const ReleasePlan& plan, const data::ArrowStream& stream) {
  require_columns_of(plan, [&] { return data::ArrowReader{stream.without_rows(), plan.reading}; });
}

ReleaseJob::ReleaseJob(ReleasePlan plan, const RunContext& context) : plan_{checked(std::move(plan))}, noise_{noise_for(plan_, context)} {}

accounting::Plan ReleaseJob::charge(bool not_private) const {
  return {.event = cost().event,
          .unit = plan_.unit,
          .promise = plan_.target,
          .note = plan_.note.empty() ? note_of(plan_.queries) : plan_.note,
          .not_private = not_private};
}

ReadStatistics ReleaseJob::read(const std::filesystem::path& path, mechanisms::BitsRef bits, const RunContext& context) && {
  context.begin(Phase::reading);
  std::optional<data::UnitKey> key;
  if (!plan_.unit.is_row()) key = draw_unit_key(bits);
  const auto read =
      read_table(path, plan_, key, noise_.parts,
                 {.may_be_empty = !has_public_size(plan_.target.adjacency, plan_.unit), .selection = {.memory = context.memory}});
  return {std::move(plan_), std::move(noise_), read.records};
}

ReadStatistics ReleaseJob::add_up(const std::vector<QueryTotal>& totals, std::uint64_t records) && {
  if (totals.size() != noise_.parts.size())
    invalid(fmt::format("totals are of {} queries, must be of {}", totals.size(), noise_.parts.size()));
  for (std::size_t k = 0; k < totals.size(); ++k) noise_.parts[k]->add_total(totals[k], records);
  if (records == 0 && has_public_size(plan_.target.adjacency, plan_.unit)) {
    throw Error{ErrorCode::bad_data, "the parts of the table have no records"};
  }
  return {std::move(plan_), std::move(noise_), records};
}

ReadStatistics ReleaseJob::read(data::ArrowStream stream, mechanisms::BitsRef bits, const RunContext& context) && {
  context.begin(Phase::reading);
  std::optional<data::UnitKey> key;
  if (!plan_.unit.is_row()) key = draw_unit_key(bits);
  const auto read =
      read_table(std::move(stream), plan_, key, noise_.parts,
                 {.may_be_empty = !has_public_size(plan_.target.adjacency, plan_.unit), .selection = {.memory = context.memory}});
  return {std::move(plan_), std::move(noise_), read.records};
}

ReadStatistics::ReadStatistics(ReleasePlan plan, CalibratedQueries noise, std::uint64_t records)
    : plan_{std::move(plan)}, noise_{std::move(noise)}, records_{records} {}

ReleasedStatistics ReadStatistics::release(accounting::Reservation& reservation, mechanisms::BitsRef bits, const RunContext& context) && {
  context.begin(Phase::releasing);
  return release_unless_stopped(reservation, context, false, [&] { return released_by(reservation, bits, context); });
}

ReleasedStatistics ReadStatistics::released_by(accounting::Reservation& reservation, mechanisms::BitsRef bits, const RunContext& context) {
  ReleasedStatistics released{.promise = plan_.target,
                              .unit = plan_.unit,
                              .confidence = plan_.confidence,
                              .cost = noise_.cost,
                              .run = reservation.id(),
                              .not_private = reservation.plan().not_private,
                              .missing = plan_.reading.csv.missing,
                              .records = {},
                              .queries = {}};
  // A single query of some of the records is reported without the number of all.
  const auto& first = plan_.queries.front().statistic;
  const bool is_of_some = plan_.queries.size() == 1 && (first.where || first.by);
  if (!is_of_some && has_public_size(plan_.target.adjacency, plan_.unit)) released.records = records_;
  for (std::size_t k = 0; k < noise_.parts.size(); ++k) {
    auto& part = *noise_.parts[k];
    auto facts = part.facts();
    auto missing = missing_cells_text(facts, released.missing);
    released.queries.push_back({.facts = std::move(facts),
                                .missing_cells = std::move(missing),
                                .weight = plan_.queries[k].weight,
                                .event = part.event(),
                                .answers = part.release(reservation, bits, records_)});
    if (context.progress) context.progress(Phase::releasing, k + 1, noise_.parts.size());
  }
  return released;
}

ReleasedStatistics ReleaseSteps::released() && {
  run_in_order(*this);
  return *std::move(released_);
}

namespace {

template <class Source>
class TableSteps final : public ReleaseSteps {
 public:
  TableSteps(ReleaseJob job, Source source, accounting::Ledger& ledger, const Bits& bits, const RunContext& context)
      : ReleaseSteps{std::move(job), bits, context}, source_{std::move(source)}, ledger_{ledger} {}

  void ask(const accounting::Plan& charge) override { ledger_.check(charge); }
  accounting::Reservation reserve(const accounting::Plan& charge) override { return ledger_.reserve(charge); }

 private:
  ReadStatistics read_by(ReleaseJob job) override { return std::move(job).read(std::move(source_), bits(), context()); }

  Source source_;
  accounting::Ledger& ledger_;
};

}  // namespace

ReleasedStatistics run(ReleaseJob job, const std::filesystem::path& path, accounting::Ledger& ledger, const Bits& bits,
                       const RunContext& context) {
  return TableSteps<std::filesystem::path>{std::move(job), path, ledger, bits, context}.released();
}

ReleasedStatistics run(ReleaseJob job, data::ArrowStream stream, accounting::Ledger& ledger, const Bits& bits, const RunContext& context) {
  return TableSteps<data::ArrowStream>{std::move(job), std::move(stream), ledger, bits, context}.released();
}

}  // namespace surety::jobs
