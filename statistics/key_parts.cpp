#include <surety/statistics/key_parts.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <surety/base/text/safe_text.h>
#include <surety/statistics/costs.h>

namespace surety::statistics {

using namespace data;

namespace {

std::vector<std::string> key_columns(const Statistic& statistic) {
  const auto* const keys = keys_of(statistic);
  return keys != nullptr ? columns_of(*keys) : std::vector{*column_of(statistic)};
}

/// Of a key whose count is not told.
constexpr Estimate hidden{std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN(),
                          std::numeric_limits<double>::quiet_NaN()};

/// An answer of a key: of a column it is a cell, of several a group.
Answer answer_of(const Statistic& statistic, const std::string& key, Estimate estimate) {
  const auto& keys = std::get<KeysOf>(statistic.of);
  if (keys.beside.empty()) return {"", key, estimate};
  auto texts = texts_of_key(key, 1 + keys.beside.size());
  auto text = tuple_text(texts);
  return {std::move(text), "", estimate, std::move(texts)};
}

KeyCounts counts_of(const StatisticSum& sum) { return {std::get<DistinctOf>(sum.statistic().of).most_keys, sum.statistic().adjacency}; }

}  // namespace

KeyReader::KeyReader(KeyCounts& counts, const Statistic& statistic, Rows& rows)
    : counts_{counts}, key_{key_columns(statistic), rows}, owner_{statistic, rows} {
  if (statistic.where) where_.emplace(*statistic.where, rows);
}

void KeyReader::add(Rows& rows) {
  if (where_ && !where_->is_met(rows)) return;
  const std::string& key = key_.find(rows);
  if (const auto* const unit = owner_.find(rows)) {
    counts_.add(*unit, key);
  } else {
    counts_.add(key);
  }
}

DistinctPart::DistinctPart(StatisticSum sum, StatisticNoise noise, NoiseReach reach)
    : SumPart{std::move(sum), std::move(noise), std::move(reach)}, counts_{counts_of(this->sum())} {}
DistinctPart::DistinctPart(StatisticSum sum) : SumPart{std::move(sum)}, counts_{counts_of(this->sum())} {}

void DistinctPart::add_total(const QueryTotal& total, std::uint64_t records) { counts_.add_total(of_kind<KeyTotal>(total), records); }

std::vector<Answer> DistinctPart::release(accounting::Reservation& reservation, mechanisms::BitsRef bits, std::uint64_t records) {
  add_to_count_times(counts_.size());
  return SumPart::release(reservation, bits, records);
}

KeysPart::KeysPart(const Statistic& statistic, const Event& noise, double confidence)
    : statistic_{statistic},
      counts_{std::get<KeysOf>(statistic.of).most_keys, statistic.adjacency},
      noise_{counts_.noise_for(noise)},
      threshold_{key_threshold(*noise_, counts_.most_keys(), std::get<KeysOf>(statistic.of).chance)},
      intervals_{std::in_place, *noise_, threshold_, confidence} {
  statistic_.validate();
}
KeysPart::KeysPart(const Statistic& statistic)
    : statistic_{statistic}, counts_{std::get<KeysOf>(statistic.of).most_keys, statistic.adjacency} {}

void KeysPart::add_total(const QueryTotal& total, std::uint64_t records) { counts_.add_total(of_kind<KeyTotal>(total), records); }

Event KeysPart::event() const { return event_of_keys(event_of(noise_.value()), std::get<KeysOf>(statistic_.of).chance); }

PartFacts KeysPart::facts() const {
  const bool has_groups = !std::get<KeysOf>(statistic_.of).beside.empty();
  return with_cells({.query = describe(statistic_),
                     .noise = std::string{name(noise_.value())},
                     .standard_deviation = statistics::standard_deviation(noise_.value()),
                     .noise_is_on = fmt::format("the {} of each {}, of which those above {} are shown",
                                                has_groups ? "number of units" : "count", has_groups ? "group" : "key", threshold_),
                     .l1_sensitivity = counts_.l1_sensitivity().value(),
                     .l2_sensitivity = counts_.l2_sensitivity().value(),
                     .grid_step = 1,
                     .is_whole = true,
                     .has_groups = has_groups,
                     .has_cells = !has_groups,
                     .has_values = has_numbers(statistic_)},
                    statistic_);
}

std::vector<Answer> KeysPart::release(accounting::Reservation& reservation, mechanisms::BitsRef bits, std::uint64_t /*records*/) {
  reservation.spend(event());
  std::vector<Answer> answers;
  for (const auto& [key, count] : draw_keys(counts_, noise_.value(), threshold_, bits)) {
    const bool hides_counts = std::get<KeysOf>(statistic_.of).hides_counts;
    if (hides_counts) {
      answers.push_back(answer_of(statistic_, key, hidden));
      continue;
    }
    const auto [lower, upper] = intervals_->of(count);
    answers.push_back(answer_of(statistic_, key, {count, lower, upper}));
  }
  return answers;
}

SelectedKeysPart::SelectedKeysPart(const Statistic& statistic, const Event& event)
    : statistic_{statistic}, counts_{std::get<KeysOf>(statistic.of).most_keys, statistic.adjacency}, event_{event}, rule_{rule_of(event)} {
  statistic_.validate();
}

void SelectedKeysPart::add_total(const QueryTotal& total, std::uint64_t records) { counts_.add_total(of_kind<KeyTotal>(total), records); }

PartFacts SelectedKeysPart::facts() const {
  const bool has_groups = !std::get<KeysOf>(statistic_.of).beside.empty();
  return with_cells({.query = describe(statistic_),
                     .noise = "selection",
                     .standard_deviation = {},
                     .noise_is_on = fmt::format("whether each {} is shown, half of the time from about {:.0f} units on",
                                                has_groups ? "group" : "key", rule_.half()),
                     .l1_sensitivity = {},
                     .l2_sensitivity = {},
                     .grid_step = {},
                     .is_whole = true,
                     .has_groups = has_groups,
                     .has_cells = !has_groups,
                     .has_values = false},
                    statistic_);
}

std::vector<Answer> SelectedKeysPart::release(accounting::Reservation& reservation, mechanisms::BitsRef bits, std::uint64_t /*records*/) {
  reservation.spend(event());
  std::vector<Answer> answers;
  // In the order of their bytes, whatever the order of the table in memory.
  for (const auto& [key, count] : counts_.total().counts) {
    if (rule_.draw(count, bits)) answers.push_back(answer_of(statistic_, key, hidden));
  }
  return answers;
}

}  // namespace surety::statistics
