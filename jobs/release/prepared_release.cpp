#include <surety/jobs/release/prepared_release.h>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <surety/accounting/events/format.h>
#include <surety/base/text/error.h>
#include <surety/base/text/safe_text.h>
#include <surety/data/reading/called_off.h>
#include <surety/data/reading/text_reader.h>
#include <surety/jobs/release/read_table.h>
#include <surety/jobs/run/promise_notes.h>

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

std::string missing_cells_text(const PartFacts& facts, const Statistic& statistic, const std::map<std::string, std::string>& missing) {
  if (!facts.missing_cells) return {};
  if (*facts.missing_cells == MissingCells::left_out) return "left out";
  if (*facts.missing_cells == MissingCells::promised_complete) return "promised complete";
  // The facts name all columns of a key, in one text.
  const auto& value = missing.at(*column_of(statistic));
  const auto [number, fault] = data::parse_number(value);
  // Of a damaged record no value is that of its cells.
  const bool is_other = !facts.has_cells && !(fault == data::NumberFault::none && number == 0);
  return fmt::format("count as {}{}", one_line(value), is_other ? " (0 where a whole record is damaged)" : "");
}

}  // namespace

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

namespace {

CalibratedQueries noise_for(const ReleasePlan& plan, const RunContext& context) {
  context.begin(Phase::calibrating);
  std::optional<CalibratedQueries> found;
  until_called_off(context, [&] { found = choose_noise(plan.queries, plan.target, plan.noise, plan.confidence); });
  return *std::move(found);
}

}  // namespace

ReleaseJob::ReleaseJob(ReleasePlan plan, const RunContext& context) : plan_{checked(std::move(plan))}, noise_{noise_for(plan_, context)} {}

accounting::Plan ReleaseJob::charge(bool not_private) const {
  return {.event = cost().event,
          .unit = plan_.unit,
          .promise = plan_.target,
          .note = plan_.note.empty() ? note_of(plan_.queries) : plan_.note,
          .not_private = not_private};
}

namespace {

/// A pass over a table, unless it is called off. \return how many records are kept
template <class Table>
std::uint64_t read_all(Table table, const ReleasePlan& plan, const Parts& parts, mechanisms::BitsRef bits, const RunContext& context) {
  context.begin(Phase::reading);
  context.require_going_on();
  const data::CalledOff may_be_called_off{context.should_stop};
  std::optional<data::UnitKey> key;
  if (!plan.unit.is_row()) key = draw_unit_key(bits);
  const TableOptions options{.may_be_empty = !has_public_size(plan.target.adjacency, plan.unit), .selection = {.memory = context.memory}};
  return read_table(std::move(table), plan, key, parts, options).records;
}

/// How many records a query could use, where that is public or is released beside it; for each of its groups.
std::vector<Estimate> totals_for(const ReleasePlan& plan, std::size_t place, const std::vector<ReleasedQuery>& released,
                                 std::uint64_t records) {
  const auto& statistic = plan.queries[place].statistic;
  if (!statistic.where && !statistic.by && has_public_size(plan.target.adjacency, plan.unit)) {
    const auto all = static_cast<double>(records);
    return {{all, all, all}};
  }
  std::vector<Estimate> totals;
  for (std::size_t k = 0; k < released.size() && totals.empty(); ++k) {
    const auto& other = plan.queries[k].statistic;
    if (!std::holds_alternative<CountOf>(other.of) || !(other.where == statistic.where) || !(other.by == statistic.by) ||
        !(other.group_cap == statistic.group_cap)) {
      continue;
    }
    for (const auto& answer : released[k].answers) totals.push_back(answer.estimate);
  }
  return totals;
}

/// Says of how many records those that a query used are.
void add_totals(const ReleasePlan& plan, std::vector<ReleasedQuery>& released, std::uint64_t records) {
  for (std::size_t k = 0; k < released.size(); ++k) {
    auto& answers = released[k].answers;
    // Groups that nobody listed are counted in units, and other queries show other ones.
    if (std::holds_alternative<GroupMeansOf>(plan.queries[k].statistic.of)) continue;
    if (answers.empty() || !answers.front().used) continue;
    const auto totals = totals_for(plan, k, released, records);
    if (totals.size() != answers.size()) continue;
    for (std::size_t group = 0; group < answers.size(); ++group) answers[group].used->total = totals[group];
  }
}

}  // namespace

ReadStatistics ReleaseJob::read(const std::filesystem::path& path, mechanisms::BitsRef bits, const RunContext& context) && {
  const auto records = read_all(path, plan_, noise_.parts, bits, context);
  return {std::move(plan_), std::move(noise_), records};
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
  const auto records = read_all(std::move(stream), plan_, noise_.parts, bits, context);
  return {std::move(plan_), std::move(noise_), records};
}

ReadStatistics::ReadStatistics(ReleasePlan plan, CalibratedQueries noise, std::uint64_t records)
    : plan_{std::move(plan)},
      noise_{std::move(noise)},
      records_{records},
      over_time_{over_periods(plan_.unit, plan_.period, noise_.cost.event, plan_.target.delta)} {}

std::vector<std::string> ReadStatistics::notes() const {
  return notes_of(plan_.target, has_public_size(plan_.target.adjacency, plan_.unit) ? std::optional{records_} : std::nullopt);
}

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
    auto missing = missing_cells_text(facts, plan_.queries[k].statistic, released.missing);
    released.queries.push_back({.facts = std::move(facts),
                                .missing_cells = std::move(missing),
                                .weight = plan_.queries[k].weight,
                                .event = part.event(),
                                .answers = part.release(reservation, bits, records_)});
    if (context.progress) context.progress(Phase::releasing, k + 1, noise_.parts.size());
  }
  add_totals(plan_, released.queries, records_);
  released.notes = notes();
  released.over_time = over_time_;
  return released;
}

}  // namespace surety::jobs
