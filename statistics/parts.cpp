#include <surety/statistics/parts.h>

#include <map>
#include <tuple>
#include <utility>
#include <variant>

#include <surety/statistics/estimates.h>
#include <surety/statistics/group_means_part.h>
#include <surety/statistics/integer_sum.h>
#include <surety/statistics/key_parts.h>
#include <surety/statistics/mode_part.h>
#include <surety/statistics/noise.h>
#include <surety/statistics/quantile_part.h>
#include <surety/statistics/release.h>
#include <surety/statistics/sum_parts.h>

namespace surety::statistics {

using namespace data;

namespace {

/// On the grid of the noise of its event.
StatisticSum sum_of(const WeightedStatistic& query, const Event& event, NoiseFamily family) {
  return {query.statistic, grid_for(query.statistic, multiplier_of(event)),
          family == NoiseFamily::gaussian ? NoiseLaw::gaussian : NoiseLaw::laplace};
}

}  // namespace

Parts adding_parts_of(const std::vector<WeightedStatistic>& queries, NoiseFamily family, double scale) {
  Parts parts;
  for (const auto& query : queries) {
    query.validate();
    if (std::holds_alternative<QuantileOf>(query.statistic.of)) {
      parts.push_back(std::make_unique<QuantilePart>(query.statistic));
    } else if (std::holds_alternative<ModeOf>(query.statistic.of)) {
      parts.push_back(std::make_unique<ModePart>(query.statistic));
    } else if (std::holds_alternative<KeysOf>(query.statistic.of)) {
      parts.push_back(std::make_unique<KeysPart>(query.statistic));
    } else if (std::holds_alternative<GroupMeansOf>(query.statistic.of)) {
      parts.push_back(std::make_unique<GroupMeansPart>(query.statistic));
    } else if (is_public(query.statistic)) {
      parts.push_back(std::make_unique<PublicCountPart>(query.statistic));
    } else if (std::holds_alternative<DistinctOf>(query.statistic.of)) {
      parts.push_back(std::make_unique<DistinctPart>(sum_of(query, event_of(query, family, scale), family)));
    } else if (std::holds_alternative<UnitSumOf>(query.statistic.of)) {
      parts.push_back(std::make_unique<UnitSumPart>(sum_of(query, event_of(query, family, scale), family)));
    } else {
      parts.push_back(std::make_unique<SumPart>(sum_of(query, event_of(query, family, scale), family)));
    }
  }
  return parts;
}

Parts parts_of(const std::vector<WeightedStatistic>& queries, NoiseFamily family, double scale, double confidence) {
  struct Made {
    StatisticNoise noise;
    NoiseReach reach;
  };
  // A sampler takes milliseconds to make, and copies share its tables. By the weight, the sensitivities, the grid, and the numbers in a ratio.
  std::map<std::tuple<double, double, double, int, int>, Made> made;
  Parts parts;
  for (const auto& query : queries) {
    query.validate();
    if (is_public(query.statistic)) {
      parts.push_back(std::make_unique<PublicCountPart>(query.statistic));
      continue;
    }
    const Event event = event_of(query, family, scale);
    if (std::holds_alternative<QuantileOf>(query.statistic.of)) {
      parts.push_back(std::make_unique<QuantilePart>(query.statistic, level_event_of(query, family, scale),
                                                     counts_event_of(query, family, scale), confidence));
      continue;
    }
    if (std::holds_alternative<ModeOf>(query.statistic.of)) {
      parts.push_back(std::make_unique<ModePart>(query.statistic, level_event_of(query, family, scale), confidence));
      continue;
    }
    if (is_selection(query.statistic, family)) {
      parts.push_back(std::make_unique<SelectedKeysPart>(query.statistic, event));
      continue;
    }
    if (std::holds_alternative<KeysOf>(query.statistic.of)) {
      parts.push_back(std::make_unique<KeysPart>(query.statistic, noise_at(query, family, scale), confidence));
      continue;
    }
    if (std::holds_alternative<GroupMeansOf>(query.statistic.of)) {
      parts.push_back(std::make_unique<GroupMeansPart>(query.statistic, noise_at(query, family, scale), confidence));
      continue;
    }
    auto sum = sum_of(query, event, family);
    const std::tuple key{query.weight, sum.l1_sensitivity().value(), sum.l2_sensitivity().value(), sum.grid().log2_step.value(),
                         (sum.weight() != 0 ? 1 : 0) + (sum.is_variance() ? 2 : 0)};
    auto found = made.find(key);
    if (found == made.end()) {
      const auto noise = noise_for(sum, event);
      found = made.emplace(key, Made{noise, reach_of(sum, noise, confidence)}).first;
    }
    if (std::holds_alternative<DistinctOf>(query.statistic.of)) {
      parts.push_back(std::make_unique<DistinctPart>(std::move(sum), found->second.noise, found->second.reach));
    } else if (std::holds_alternative<UnitSumOf>(query.statistic.of)) {
      parts.push_back(std::make_unique<UnitSumPart>(std::move(sum), found->second.noise, found->second.reach));
    } else {
      parts.push_back(std::make_unique<SumPart>(std::move(sum), found->second.noise, found->second.reach));
    }
  }
  return parts;
}

namespace {

void start(Rows& rows, const Parts& parts) {
  for (const auto& part : parts) part->start(rows);
}

}  // namespace

void check_header(CsvReader reader, const Parts& parts) {
  Rows rows{std::move(reader)};
  start(rows, parts);
}

void check_header(ArrowReader reader, const Parts& parts) {
  Rows rows{std::move(reader)};
  start(rows, parts);
}

namespace {

std::uint64_t read_started(Rows& rows, const Parts& parts, bool number_is_public) {
  return read_rows(rows, number_is_public, [&](Rows& row) {
    for (const auto& part : parts) part->add(row);
  });
}

}  // namespace

std::uint64_t read_parts(CsvReader reader, const Parts& parts, bool number_is_public) {
  Rows rows{std::move(reader)};
  start(rows, parts);
  return read_started(rows, parts, number_is_public);
}

std::uint64_t read_parts(ArrowReader reader, const Parts& parts, bool number_is_public, const std::optional<ArrowUnits>& units,
                         OwnerBuckets* buckets) {
  Rows rows{std::move(reader)};
  start(rows, parts);
  if (units) {
    const auto& kept = rows.keep_units(*units);
    if (buckets != nullptr) *buckets = kept.buckets;
  }
  // Where the form is public the first row that is damaged is the one to be named.
  auto& stream = rows.stream();
  if (stream.form() == RecordForm::is_public) return read_started(rows, parts, number_is_public);
  std::uint64_t records = 0;
  std::vector<Part*> one_by_one;
  while (stream.next_batch()) {
    records += stream.rows_of_batch();
    one_by_one.clear();
    for (const auto& part : parts) {
      if (!part->add_batch(stream)) one_by_one.push_back(part.get());
    }
    while (!one_by_one.empty() && rows.next_in_batch()) {
      for (auto* const part : one_by_one) part->add(rows);
    }
  }
  if (records == 0 && number_is_public) rows.refuse_emptiness();
  return records;
}

}  // namespace surety::statistics
