#include <surety/statistics/quantile_part.h>

#include <cmath>
#include <string>

#include <fmt/format.h>

#include <surety/accounting/events/event_kinds.h>
#include <surety/base/text/error.h>
#include <surety/statistics/costs.h>

namespace surety::statistics {

using namespace data;

namespace {

std::size_t places_of(const Candidates& candidates) { return RankTotal::places_each * candidates.count(); }

std::size_t number_of_groups(const Statistic& statistic) { return statistic.by ? number_of(*statistic.by) : 1; }

/// Of exponential(e) or pure(e). \throws Error{unsupported} for another event.
Epsilon epsilon_of(const Event& event) {
  if (const auto* const exponential = std::get_if<Event::Exponential>(&event.node())) return exponential->epsilon;
  if (const auto* const pure = std::get_if<Event::Pure>(&event.node())) return pure->epsilon;
  throw Error{ErrorCode::unsupported, fmt::format("no choice of a quantile is the event '{}'", describe(event))};
}

QuantileMechanism quantile_for(const Statistic& statistic, const Event& level) {
  const auto& quantile = std::get<QuantileOf>(statistic.of);
  return {quantile.fractions,
          candidates_of(quantile),
          epsilon_of(level),
          level.adjacency(),
          most_rows(statistic),
          number_of_groups(statistic),
          std::holds_alternative<Event::Pure>(level.node()) ? QuantileChoice::permute_and_flip : QuantileChoice::exponential_mechanism};
}

}  // namespace

QuantilePart::QuantilePart(const Statistic& statistic, const Event& level, const std::optional<Event>& counts, double confidence)
    : QuantilePart{statistic} {
  mechanism_.emplace(quantile_for(statistic, level));
  const double exceeded = std::nextafter(1 - confidence, 0);
  if (counts) {
    intervals_.emplace(*mechanism_, epsilon_of(*counts), exceeded);
    return;
  }
  for (std::size_t k = 0; k < mechanism_->fractions().size(); ++k) rank_errors_.push_back(mechanism_->rank_error(exceeded, k));
}
QuantilePart::QuantilePart(const Statistic& statistic) : statistic_{statistic} {
  statistic_.validate();
  counts_.assign(number_of_groups(statistic), RankCounts{candidates_of(std::get<QuantileOf>(statistic.of))});
}

void QuantilePart::start(Rows& rows) {
  numbers_.emplace(statistic_, rows);
  if (statistic_.where) where_.emplace(*statistic_.where, rows);
  if (statistic_.by) groups_.emplace(statistic_, rows);
  places_.emplace(statistic_, rows);
}

void QuantilePart::add(Rows& rows) {
  const bool meets = !where_ || where_->is_met(rows);
  const auto number = numbers_->read(rows);
  const auto group = groups_ ? groups_->find(rows) : std::optional<std::size_t>{0};
  if (!meets || !group) return;
  // Under zero-out a zeroed one is none.
  const bool counts = number || (statistic_.missing != MissingCells::left_out && statistic_.adjacency != Adjacency::zero_out);
  if (!counts || !places_->take(rows, *group)) return;
  if (number) {
    counts_[*group].add(*number);
  } else {
    counts_[*group].add_damaged();
  }
}

QueryTotal QuantilePart::total() const {
  RankTotal all;
  for (std::size_t group = 0; group < counts_.size(); ++group) {
    const auto before = static_cast<std::uint32_t>(group * places_of(candidates()));
    for (const auto& [place, count] : counts_[group].total().counts) all.counts.emplace_back(before + place, count);
  }
  return all;
}

void QuantilePart::add_total(const QueryTotal& total, std::uint64_t records) {
  const std::size_t each = places_of(candidates());
  std::vector<RankTotal> of_group(counts_.size());
  std::uint64_t left = records;
  for (const auto& [place, count] : of_kind<RankTotal>(total).counts) {
    const std::size_t group = place / each;
    if (group >= counts_.size() || count > left) invalid("a total is none of a quantile's, must be the counts of so many records");
    left -= count;
    of_group[group].counts.emplace_back(static_cast<std::uint32_t>(place % each), count);
  }
  for (std::size_t group = 0; group < counts_.size(); ++group) counts_[group].add_total(of_group[group], records);
}

Event QuantilePart::event() const {
  const auto& mechanism = mechanism_.value();
  const auto releases = releases_of(statistic_);
  Event choices = releases == 1 ? mechanism.event() : repeat(Count{releases}, mechanism.event());
  return intervals_ ? compose({std::move(choices), intervals_->counts_event()}) : choices;
}

PartFacts QuantilePart::facts() const {
  const auto& mechanism = mechanism_.value();
  const bool is_of_several = std::get<QuantileOf>(statistic_.of).fractions.size() > 1;
  const auto levels = mechanism.levels();
  return with_cells({.query = describe(statistic_),
                     .noise = mechanism.choice() == QuantileChoice::permute_and_flip ? "permute-and-flip" : "exponential",
                     .standard_deviation = {},
                     .noise_is_on = fmt::format("the choice{} of one of {} candidates{}", is_of_several ? "s" : "", candidates().count(),
                                                levels > 1 ? fmt::format(", by halving in {} levels", levels) : "") +
                                    (intervals_ ? ", of flanks beside each, and on counts between them" : ""),
                     .l1_sensitivity = {},
                     .l2_sensitivity = {},
                     .grid_step = {},
                     .is_whole = false,
                     .has_groups = statistic_.by.has_value(),
                     .has_cells = is_of_several,
                     .has_rank_error = true,
                     .has_interval = intervals_.has_value(),
                     .half_length = is_of_several || intervals_ ? std::nullopt : std::optional{rank_errors_.front()}},
                    statistic_);
}

std::vector<Answer> QuantilePart::release(accounting::Reservation& reservation, mechanisms::BitsRef bits, std::uint64_t /*records*/) {
  const auto& mechanism = mechanism_.value();
  const auto spend = [&] { reservation.spend(mechanism.event()); };
  std::vector<std::vector<MeasuredQuantile>> values;
  if (intervals_) {
    values = intervals_->release(
        counts_, spend, [&] { reservation.spend(intervals_->counts_event()); }, bits);
  } else {
    const auto& bounds = candidates().bounds();
    for (const auto& of_group : mechanism.release(counts_, spend, bits)) {
      auto& measured = values.emplace_back();
      for (std::size_t k = 0; k < of_group.size(); ++k) measured.push_back({of_group[k], bounds.lower, bounds.upper, rank_errors_[k]});
    }
  }
  const auto& fractions = std::get<QuantileOf>(statistic_.of).fractions.all();
  const auto groups = statistic_.by ? names_of(*statistic_.by) : std::vector<GroupName>{{""}};
  std::vector<Answer> answers;
  for (std::size_t group = 0; group < values.size(); ++group) {
    for (std::size_t k = 0; k < fractions.size(); ++k) {
      const auto& [value, lower, upper, rank_error] = values[group][k];
      Answer answer{groups[group].text,
                    fractions.size() > 1 ? fmt::format("{}", fractions[k].value()) : std::string{},
                    {value, lower, upper},
                    groups[group].texts};
      answer.rank_error = rank_error;
      answers.push_back(std::move(answer));
    }
  }
  return answers;
}

}  // namespace surety::statistics
