#include <surety/statistics/parts.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/events/releases.h>
#include <surety/base/text/error.h>
#include <surety/base/text/safe_text.h>
#include <surety/statistics/release.h>

namespace surety::statistics {

using namespace data;

// ---- What each kind of query is as a part: how it reads rows, what it totals, how it is released ----

/// Gives the texts of a column to the counts of their keys, each to its unit.
class KeyReader {
 public:
  /// `counts` must stay where it is. \pre `statistic` is of keys or of different texts. \throws Error{bad_data} for a column that is missing.
  KeyReader(KeyCounts& counts, const Statistic& statistic, Rows& rows);
  /// The row in hand.
  void add(Rows& rows);

 private:
  KeyCounts& counts_;
  KeyFinder key_;
  OwnerReader owner_;
  std::optional<data::RowCondition> where_;
};

/// A count, sum, mean or histogram with the noise of an event: an integer vector with noise on each coordinate.
class SumPart : public Part {
 public:
  /// \param reach `reach_of` this noise at the confidence of each interval alone. \pre the noise is that of an event for `sum`
  SumPart(StatisticSum sum, StatisticNoise noise, NoiseReach reach);
  /// One that adds alone.
  explicit SumPart(StatisticSum sum) : sum_{std::move(sum)} {}

  void start(Rows& rows) override { reader_.emplace(sum_, rows); }
  void add(Rows& rows) override { reader_->add(rows); }
  [[nodiscard]] QueryTotal total() const override { return sum_.total(); }
  void add_total(const QueryTotal& total, std::uint64_t records) override;
  [[nodiscard]] bool add_batch(const data::ArrowReader& batch) override { return reader_->add_batch(batch); }
  [[nodiscard]] Event event() const override { return event_of(noise()); }
  [[nodiscard]] PartFacts facts() const override;
  [[nodiscard]] std::vector<Answer> release(accounting::Reservation& reservation, mechanisms::BitsRef bits, std::uint64_t records) override;

  [[nodiscard]] const StatisticSum& sum() const noexcept { return sum_; }
  [[nodiscard]] const StatisticNoise& noise() const { return noise_.value(); }

 protected:
  void add_to_count_times(std::uint64_t count) { sum_.add_to_count_times(count); }
  void add_unit(std::span<const StatisticSum::OfGroup> sums) { sum_.add_unit(sums); }

 private:
  StatisticSum sum_;
  std::optional<StatisticNoise> noise_;
  std::optional<NoiseReach> reach_;
  std::optional<SumReader> reader_;
};

/// How many different texts a column holds, with noise.
class DistinctPart final : public SumPart {
 public:
  /// As SumPart, of a sum over no texts.
  DistinctPart(StatisticSum sum, StatisticNoise noise, NoiseReach reach);
  /// One that adds alone.
  explicit DistinctPart(StatisticSum sum);

  void start(Rows& rows) override { reader_.emplace(counts_, sum().statistic(), rows); }
  void add(Rows& rows) override { reader_->add(rows); }
  [[nodiscard]] bool add_batch(const data::ArrowReader& /*batch*/) override { return false; }
  [[nodiscard]] QueryTotal total() const override { return counts_.total(); }
  void add_total(const QueryTotal& total, std::uint64_t records) override;
  [[nodiscard]] std::vector<Answer> release(accounting::Reservation& reservation, mechanisms::BitsRef bits, std::uint64_t records) override;

 private:
  KeyCounts counts_;
  std::optional<KeyReader> reader_;
};

/// The sum of what units add, each clipped, with noise.
class UnitSumPart final : public SumPart {
 public:
  using SumPart::SumPart;

  void start(Rows& rows) override;
  void add(Rows& rows) override;
  [[nodiscard]] bool add_batch(const data::ArrowReader& /*batch*/) override { return false; }
  [[nodiscard]] QueryTotal total() const override;
  [[nodiscard]] std::vector<Answer> release(accounting::Reservation& reservation, mechanisms::BitsRef bits, std::uint64_t records) override;

 private:
  std::size_t number_ = 0;
  std::optional<OwnerReader> owner_;
  std::optional<data::RowCondition> where_;
  std::optional<GroupFinder> groups_;
  std::unordered_map<std::string, std::vector<StatisticSum::OfGroup>> of_unit_;  ///< what its numbers add up to so far, in steps
};

/// The number of all units, which is public: no noise, and no charge.
class PublicCountPart final : public Part {
 public:
  /// \pre `is_public(statistic)`
  explicit PublicCountPart(const Statistic& statistic) : sum_{statistic, grid_for(statistic, NoiseMultiplier{1})} {}

  void start(Rows& rows) override { reader_.emplace(sum_, rows); }
  void add(Rows& rows) override { reader_->add(rows); }
  [[nodiscard]] QueryTotal total() const override { return sum_.total(); }
  void add_total(const QueryTotal& total, std::uint64_t records) override;
  [[nodiscard]] Event event() const override { return free_event(sum_.statistic().adjacency); }
  [[nodiscard]] PartFacts facts() const override;
  [[nodiscard]] std::vector<Answer> release(accounting::Reservation& reservation, mechanisms::BitsRef bits, std::uint64_t records) override;

 private:
  StatisticSum sum_;
  std::optional<SumReader> reader_;
};

/// Quantiles: choices whose privacy loss has the range of their event at each level.
class QuantilePart : public Part {
 public:
  /// `event` is exponential(e). \throws Error{invalid_argument} as `Statistic::validate` and `QuantileMechanism`.
  QuantilePart(const Statistic& statistic, const Event& event, double confidence);
  /// One that adds alone.
  explicit QuantilePart(const Statistic& statistic);

  void start(Rows& rows) override;
  void add(Rows& rows) override;
  /// The candidates of one group behind those of another.
  [[nodiscard]] QueryTotal total() const override;
  void add_total(const QueryTotal& total, std::uint64_t records) override;
  [[nodiscard]] Event event() const override;
  [[nodiscard]] PartFacts facts() const override;
  [[nodiscard]] std::vector<Answer> release(accounting::Reservation& reservation, mechanisms::BitsRef bits, std::uint64_t records) override;

 private:
  [[nodiscard]] const Candidates& candidates() const noexcept { return counts_.front().candidates(); }

  Statistic statistic_;
  std::vector<RankCounts> counts_;  ///< of each group
  std::optional<QuantileMechanism> mechanism_;
  double rank_error_ = 0;
  std::size_t column_ = 0;
  std::optional<data::RowCondition> where_;
  std::optional<GroupFinder> groups_;
  std::optional<GroupPlaces> places_;
};

/// Keys that nobody listed: those whose noisy count is above a threshold.
class KeysPart : public Part {
 public:
  /// \param noise laplace or gaussian, beside which `event` has the chance of a key of one unit alone. \throws Error{invalid_argument} as `Statistic::validate`.
  KeysPart(const Statistic& statistic, const Event& noise, double confidence);
  /// One that adds alone.
  explicit KeysPart(const Statistic& statistic);

  void start(Rows& rows) override { reader_.emplace(counts_, statistic_, rows); }
  void add(Rows& rows) override { reader_->add(rows); }
  [[nodiscard]] QueryTotal total() const override { return counts_.total(); }
  void add_total(const QueryTotal& total, std::uint64_t records) override;
  [[nodiscard]] Event event() const override;
  [[nodiscard]] PartFacts facts() const override;
  /// The interval of a key knows nothing of its choice: of keys near the threshold those are shown whose noise was high.
  [[nodiscard]] std::vector<Answer> release(accounting::Reservation& reservation, mechanisms::BitsRef bits, std::uint64_t records) override;

 private:
  Statistic statistic_;
  KeyCounts counts_;
  std::optional<StatisticNoise> noise_;
  std::int64_t threshold_ = 0;
  double reach_ = 0;
  std::optional<KeyReader> reader_;
};

/// Keys that nobody listed, without their counts: each chosen by itself.
class SelectedKeysPart : public Part {
 public:
  /// \param event repeat(l, approx(e, d)), of which each key has one. \throws Error{invalid_argument} as `Statistic::validate`; Error{unsupported} for another event.
  SelectedKeysPart(const Statistic& statistic, const Event& event);

  void start(Rows& rows) override { reader_.emplace(counts_, statistic_, rows); }
  void add(Rows& rows) override { reader_->add(rows); }
  [[nodiscard]] QueryTotal total() const override { return counts_.total(); }
  void add_total(const QueryTotal& total, std::uint64_t records) override;
  [[nodiscard]] Event event() const override { return event_; }
  [[nodiscard]] PartFacts facts() const override;
  [[nodiscard]] std::vector<Answer> release(accounting::Reservation& reservation, mechanisms::BitsRef bits, std::uint64_t records) override;

 private:
  Statistic statistic_;
  KeyCounts counts_;
  Event event_;
  KeySelection rule_;
  std::optional<KeyReader> reader_;
};

/// Means of groups that nobody listed: of those whose noisy count is above a threshold.
class GroupMeansPart : public Part {
 public:
  /// \param noise laplace or gaussian, as of KeysPart. \throws Error{invalid_argument} as `Statistic::validate`.
  GroupMeansPart(const Statistic& statistic, const Event& noise, double confidence);
  /// One that adds alone.
  explicit GroupMeansPart(const Statistic& statistic) : means_{statistic} {}

  void start(Rows& rows) override;
  void add(Rows& rows) override;
  [[nodiscard]] QueryTotal total() const override { return means_.total(); }
  void add_total(const QueryTotal& total, std::uint64_t records) override;
  [[nodiscard]] Event event() const override;
  [[nodiscard]] PartFacts facts() const override;
  /// The interval of a mean knows nothing of the choice of its group, as that of a key.
  [[nodiscard]] std::vector<Answer> release(accounting::Reservation& reservation, mechanisms::BitsRef bits, std::uint64_t records) override;

 private:
  GroupMeans means_;
  std::optional<StatisticNoise> noise_;
  std::int64_t threshold_ = 0;
  std::optional<NoiseReach> reach_;
  std::size_t number_ = 0;
  std::optional<KeyFinder> key_;
  std::optional<OwnerReader> owner_;
  std::optional<data::RowCondition> where_;
};

// ---- What queries cost ----

void WeightedStatistic::validate() const {
  statistic.validate();
  if (!(weight >= least_weight && weight <= largest_weight)) {
    invalid(fmt::format("the weight of {} is {}, must be from {} to {}", describe(statistic), weight, least_weight, largest_weight));
  }
}

namespace {

/// The noise of a sum, or of keys, at the common scale.
Event noise_at(const WeightedStatistic& query, NoiseFamily family, double scale) {
  const double own = scale / std::sqrt(query.weight);
  const auto adjacency = query.statistic.adjacency;
  return family == NoiseFamily::gaussian ? gaussian(NoiseMultiplier{own}, adjacency) : surety::laplace(NoiseScale{own}, adjacency);
}

}  // namespace

Event free_event(Adjacency adjacency) { return pure(Epsilon{0}, adjacency); }

std::size_t releases_of(const Statistic& statistic) noexcept {
  const auto* const quantile = std::get_if<QuantileOf>(&statistic.of);
  return quantile != nullptr ? quantile->fractions.levels() : 1;
}

namespace {

/// How many keys one unit moves, each by one.
std::uint64_t moved_keys(const Statistic& statistic) {
  return (statistic.adjacency == Adjacency::replace_one ? 2 : 1) * keys_of(statistic)->most_keys.value();
}

/// What the choice of each of these keys costs, together (docs/proofs/keys.md#selection).
Event selection_of(const WeightedStatistic& query, double scale) {
  const auto moved = static_cast<double>(moved_keys(query.statistic));
  const double chance = (exactly(keys_of(query.statistic)->chance_of_selection.value()) / exactly(moved)).enclosure().lower;
  const Event one = surety::approx(Epsilon{std::sqrt(query.weight) / scale / moved}, Delta{chance}, query.statistic.adjacency);
  return moved == 1 ? one : repeat(Count{moved_keys(query.statistic)}, one);
}

/// What one release of a query costs.
Event one_event_of(const WeightedStatistic& query, NoiseFamily family, double scale) {
  if (is_public(query.statistic)) return free_event(query.statistic.adjacency);
  if (std::holds_alternative<QuantileOf>(query.statistic.of)) {
    const double own = scale / std::sqrt(query.weight);
    return surety::exponential(Epsilon{(family == NoiseFamily::gaussian ? 2 : 1) / own}, query.statistic.adjacency);
  }
  if (is_selection(query.statistic, family)) return selection_of(query, scale);
  const Event noise = noise_at(query, family, scale);
  const auto* const keys = keys_of(query.statistic);
  return keys != nullptr ? event_of_keys(noise, keys->chance) : noise;
}

}  // namespace

bool is_selection(const Statistic& statistic, NoiseFamily family) noexcept {
  const auto* const keys = std::get_if<KeysOf>(&statistic.of);
  return keys != nullptr && keys->hides_counts && family == NoiseFamily::laplace;
}

Event event_of(const WeightedStatistic& query, NoiseFamily family, double scale) {
  const auto releases = releases_of(query.statistic);
  const Event one = one_event_of(query, family, scale);
  return releases == 1 ? one : repeat(Count{releases}, one);
}

namespace {

/// The rule of one key, of whose event a selection is one or several. \throws Error{unsupported} for another event.
KeySelection rule_of(const Event& event) {
  const auto* const repeated = std::get_if<Event::Repeated>(&event.node());
  const auto* const one = std::get_if<Event::Approximate>(&(repeated != nullptr ? repeated->event : event).node());
  if (one == nullptr) throw Error{ErrorCode::unsupported, fmt::format("no selection of keys is the event '{}'", describe(event))};
  return {one->epsilon, one->delta};
}

}  // namespace

std::int64_t key_threshold_of(const WeightedStatistic& query, NoiseFamily family, double scale) {
  if (std::holds_alternative<GroupMeansOf>(query.statistic.of)) {
    const GroupMeans means{query.statistic};
    return means.threshold(means.noise_for(noise_at(query, family, scale)));
  }
  const auto& keys = std::get<KeysOf>(query.statistic.of);
  if (is_selection(query.statistic, family)) {
    constexpr double most = 0x1p52;
    return static_cast<std::int64_t>(std::min(rule_of(selection_of(query, scale)).half(), most));
  }
  const KeyCounts counts{keys.most_keys, query.statistic.adjacency};
  return key_threshold(counts.noise_for(noise_at(query, family, scale)), keys.most_keys, keys.chance);
}

Event event_of(const std::vector<WeightedStatistic>& queries, NoiseFamily family, double scale) {
  // One query stands for all of its weight and kind: the events of quantiles and of keys are others than a sum's.
  const auto kind_of = [&](const Statistic& statistic) {
    const auto* const keys = keys_of(statistic);
    const std::uint64_t selected = is_selection(statistic, family) ? moved_keys(statistic) : 0;
    return std::tuple{std::holds_alternative<QuantileOf>(statistic.of), keys != nullptr ? keys->chance.value() : -1, selected};
  };
  std::map<std::pair<std::tuple<bool, double, std::uint64_t>, double>, std::pair<const WeightedStatistic*, std::uint64_t>> kinds;
  for (const auto& query : queries) {
    if (is_public(query.statistic)) continue;
    auto& [one, count] = kinds[{kind_of(query.statistic), query.weight}];
    one = &query;
    count += releases_of(query.statistic);
  }
  if (kinds.empty()) return free_event(queries.front().statistic.adjacency);
  accounting::Releases all{queries.front().statistic.adjacency};
  for (const auto& [kind, found] : kinds) {
    all.add(accounting::Releases::of(repeat(Count{found.second}, one_event_of(*found.first, family, scale))));
  }
  return *all.event();
}

namespace {

/// What is public of the cells that a statistic reads.
PartFacts with_cells(PartFacts facts, const Statistic& statistic) {
  const auto* const keys = keys_of(statistic);
  if (statistic.by && !statistic.by->beside.empty()) facts.group_columns = columns_of(*statistic.by);
  if (keys != nullptr && !keys->beside.empty()) facts.group_columns = columns_of(*keys);
  const auto* const column = column_of(statistic);
  if (column == nullptr) return facts;
  facts.column = std::holds_alternative<KeysOf>(statistic.of) ? tuple_text(columns_of(*keys)) : *column;
  const auto long_texts = keys != nullptr && !keys->beside.empty()
                              ? fmt::format("tuples of more than {} bytes, with 2 between two texts,", KeyCounts::longest_key)
                              : fmt::format("texts of more than {} bytes", KeyCounts::longest_key);
  // No cell of a histogram and no key is a missing one, whatever was promised.
  facts.missing_cells = statistic.missing;
  const auto between = [](const Bounds& bounds) { return fmt::format("[{}, {}]", bounds.lower, bounds.upper); };
  if (const auto* const histogram = std::get_if<HistogramOf>(&statistic.of)) {
    const auto* const bins = std::get_if<Bins>(&histogram->cells);
    facts.other_cells = bins == nullptr ? "texts that are not listed are in no cell"
                                        : fmt::format("numbers beyond {} are in the outer cells", between(bins->bounds));
  } else if (const auto* const quantile = std::get_if<QuantileOf>(&statistic.of)) {
    facts.other_cells = fmt::format("numbers are clamped to {}", between(quantile->bounds));
  } else if (const auto* const bounds = bounds_of(statistic)) {
    facts.other_cells = std::holds_alternative<UnitSumOf>(statistic.of) ? fmt::format("what a unit adds is clipped to {}", between(*bounds))
                                                                        : fmt::format("numbers are clamped to {}", between(*bounds));
    if (std::holds_alternative<GroupMeansOf>(statistic.of)) {
      facts.other_cells += fmt::format("; {} are no groups", long_texts);
    }
  } else {
    facts.other_cells = fmt::format("{} {}", long_texts, std::holds_alternative<DistinctOf>(statistic.of) ? "do not count" : "are no keys");
  }
  return facts;
}

}  // namespace

SumPart::SumPart(StatisticSum sum, StatisticNoise noise, NoiseReach reach)
    : sum_{std::move(sum)}, noise_{std::move(noise)}, reach_{std::move(reach)} {}

PartFacts SumPart::facts() const {
  return with_cells({.query = describe(sum_.statistic()),
                     .noise = std::string{name(noise())},
                     .standard_deviation = statistics::standard_deviation(noise()),
                     .noise_is_on = sum_.what_is_released(),
                     .l1_sensitivity = sum_.l1_sensitivity().value(),
                     .l2_sensitivity = sum_.l2_sensitivity().value(),
                     .grid_step = sum_.grid().step(),
                     .is_whole = sum_.counts(),
                     .has_groups = sum_.statistic().by.has_value(),
                     .has_cells = sum_.is_histogram()},
                    sum_.statistic());
}

namespace {

template <class Total>
const Total& of_kind(const QueryTotal& total) {
  const auto* const found = std::get_if<Total>(&total);
  if (found == nullptr) invalid("a total is of a query of another kind");
  return *found;
}

}  // namespace

void SumPart::add_total(const QueryTotal& total, std::uint64_t records) { sum_.add_total(of_kind<StepTotal>(total), records); }
void KeysPart::add_total(const QueryTotal& total, std::uint64_t records) { counts_.add_total(of_kind<KeyTotal>(total), records); }

void DistinctPart::add_total(const QueryTotal& total, std::uint64_t records) { counts_.add_total(of_kind<KeyTotal>(total), records); }
void PublicCountPart::add_total(const QueryTotal& total, std::uint64_t records) { sum_.add_total(of_kind<StepTotal>(total), records); }

std::vector<Answer> SumPart::release(accounting::Reservation& reservation, mechanisms::BitsRef bits, std::uint64_t records) {
  const auto released = statistics::release(sum_, noise(), reservation, bits);
  const auto estimates = estimates_of(sum_, released, reach_.value(), records);
  const auto& statistic = sum_.statistic();
  const auto groups = statistic.by ? names_of(*statistic.by) : std::vector<GroupName>{{""}};
  const std::vector<std::string> cells = sum_.is_histogram() ? sum_.names() : std::vector<std::string>{""};
  std::vector<Answer> answers;
  answers.reserve(estimates.size());
  for (std::size_t k = 0; k < estimates.size(); ++k) {
    const auto& group = groups[k / cells.size()];
    answers.push_back({group.text, cells[k % cells.size()], estimates[k], group.texts});
  }
  return answers;
}

namespace {

KeyCounts counts_of(const StatisticSum& sum) { return {std::get<DistinctOf>(sum.statistic().of).most_keys, sum.statistic().adjacency}; }

}  // namespace

DistinctPart::DistinctPart(StatisticSum sum, StatisticNoise noise, NoiseReach reach)
    : SumPart{std::move(sum), std::move(noise), std::move(reach)}, counts_{counts_of(this->sum())} {}
DistinctPart::DistinctPart(StatisticSum sum) : SumPart{std::move(sum)}, counts_{counts_of(this->sum())} {}

std::vector<Answer> DistinctPart::release(accounting::Reservation& reservation, mechanisms::BitsRef bits, std::uint64_t records) {
  add_to_count_times(counts_.size());
  return SumPart::release(reservation, bits, records);
}

void UnitSumPart::start(Rows& rows) {
  const auto& statistic = sum().statistic();
  number_ = rows.position(*column_of(statistic), CellUse::number);
  owner_.emplace(statistic, rows);
  if (statistic.where) where_.emplace(*statistic.where, rows);
  if (statistic.by) groups_.emplace(*statistic.by, rows);
}

void UnitSumPart::add(Rows& rows) {
  const bool meets = !where_ || where_->is_met(rows);
  const auto number = rows.number(number_);
  const auto group = groups_ ? groups_->find(rows) : std::optional<std::size_t>{0};
  const bool counts = meets && number && group;
  // Without groups every unit adds something, if it is 0, clipped.
  if (!counts && groups_) return;
  const StatisticSum::OfGroup one{counts ? *group : 0, counts ? sum().unclipped_steps_of(*number) : 0};
  const auto* const unit = owner_->find(rows);
  if (unit == nullptr) {
    add_unit({&one, 1});
    return;
  }
  auto& sums = of_unit_[*unit];
  const auto found = std::find_if(sums.begin(), sums.end(), [&](const auto& known) { return known.first == one.first; });
  if (found != sums.end()) {
    found->second += one.second;
  } else {
    sums.push_back(one);
  }
}

QueryTotal UnitSumPart::total() const {
  auto all = sum();
  for (const auto& [unit, sums] : of_unit_) all.add_unit(sums);
  return all.total();
}

std::vector<Answer> UnitSumPart::release(accounting::Reservation& reservation, mechanisms::BitsRef bits, std::uint64_t records) {
  for (const auto& [unit, sums] : of_unit_) add_unit(sums);
  of_unit_.clear();
  return SumPart::release(reservation, bits, records);
}

PartFacts PublicCountPart::facts() const {
  return {.query = describe(sum_.statistic()),
          .noise = "none",
          .standard_deviation = {},
          .noise_is_on = fmt::format("{}, which is public under {}", sum_.what_is_released(), name(sum_.statistic().adjacency)),
          .l1_sensitivity = {},
          .l2_sensitivity = {},
          .grid_step = {},
          .is_whole = true,
          .has_groups = false,
          .has_cells = false};
}

std::vector<Answer> PublicCountPart::release(accounting::Reservation& /*reservation*/, mechanisms::BitsRef /*bits*/,
                                             std::uint64_t /*records*/) {
  const auto units = static_cast<double>(sum_.sum().steps.front());
  return {{"", "", {units, units, units}}};
}

namespace {

std::size_t number_of_groups(const Statistic& statistic) { return statistic.by ? number_of(*statistic.by) : 1; }

/// \throws Error{unsupported} for another event.
QuantileMechanism quantile_for(const Statistic& statistic, const Event& event) {
  const auto* const quantile = std::get_if<QuantileOf>(&statistic.of);
  const auto* const repeated = std::get_if<Event::Repeated>(&event.node());
  const Event& one =
      repeated != nullptr && quantile != nullptr && repeated->count.value() == releases_of(statistic) ? repeated->event : event;
  const auto* const exponential = std::get_if<Event::Exponential>(&one.node());
  if (quantile == nullptr || exponential == nullptr) {
    throw Error{ErrorCode::unsupported, fmt::format("no choice of {} is the event '{}'", describe(statistic), describe(event))};
  }
  return {quantile->fractions, candidates_of(*quantile), exponential->epsilon,
          event.adjacency(),   most_rows(statistic),     number_of_groups(statistic)};
}

}  // namespace

QuantilePart::QuantilePart(const Statistic& statistic, const Event& event, double confidence) : QuantilePart{statistic} {
  mechanism_.emplace(quantile_for(statistic, event));
  rank_error_ = mechanism_->rank_error(std::nextafter(1 - confidence, 0));
}
QuantilePart::QuantilePart(const Statistic& statistic) : statistic_{statistic} {
  statistic_.validate();
  counts_.assign(number_of_groups(statistic), RankCounts{candidates_of(std::get<QuantileOf>(statistic.of))});
}

void QuantilePart::start(Rows& rows) {
  column_ = rows.position(*column_of(statistic_), CellUse::number);
  if (statistic_.where) where_.emplace(*statistic_.where, rows);
  if (statistic_.by) groups_.emplace(*statistic_.by, rows);
  places_.emplace(statistic_, rows);
}

void QuantilePart::add(Rows& rows) {
  const bool meets = !where_ || where_->is_met(rows);
  const auto number = rows.number(column_);
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
    const auto before = static_cast<std::uint32_t>(group * candidates().count());
    for (const auto& [candidate, count] : counts_[group].total().counts) all.counts.emplace_back(before + candidate, count);
  }
  return all;
}

void QuantilePart::add_total(const QueryTotal& total, std::uint64_t records) {
  const std::size_t each = candidates().count();
  std::vector<RankTotal> of_group(counts_.size());
  std::uint64_t left = records;
  for (const auto& [candidate, count] : of_kind<RankTotal>(total).counts) {
    const std::size_t group = candidate / each;
    if (group >= counts_.size() || count > left) invalid("a total is none of a quantile's, must be the counts of so many records");
    left -= count;
    of_group[group].counts.emplace_back(static_cast<std::uint32_t>(candidate % each), count);
  }
  for (std::size_t group = 0; group < counts_.size(); ++group) counts_[group].add_total(of_group[group], records);
}

Event QuantilePart::event() const {
  const auto& mechanism = mechanism_.value();
  return mechanism.levels() == 1 ? mechanism.event() : repeat(Count{mechanism.levels()}, mechanism.event());
}

PartFacts QuantilePart::facts() const {
  const auto& mechanism = mechanism_.value();
  const bool is_of_several = std::get<QuantileOf>(statistic_.of).fractions.size() > 1;
  const auto levels = mechanism.levels();
  return with_cells({.query = describe(statistic_),
                     .noise = "exponential",
                     .standard_deviation = {},
                     .noise_is_on = fmt::format("the choice{} of one of {} candidates{}", is_of_several ? "s" : "", candidates().count(),
                                                levels > 1 ? fmt::format(", by halving in {} levels", levels) : ""),
                     .l1_sensitivity = {},
                     .l2_sensitivity = {},
                     .grid_step = {},
                     .is_whole = false,
                     .has_groups = statistic_.by.has_value(),
                     .has_cells = is_of_several,
                     .rank_error = rank_error_,
                     .rank_error_share = mechanism.rank_error_share()},
                    statistic_);
}

std::vector<Answer> QuantilePart::release(accounting::Reservation& reservation, mechanisms::BitsRef bits, std::uint64_t /*records*/) {
  const auto& mechanism = mechanism_.value();
  const auto values = mechanism.release(
      counts_, [&] { reservation.spend(mechanism.event()); }, bits);
  const auto& bounds = candidates().bounds();
  const auto& fractions = std::get<QuantileOf>(statistic_.of).fractions.all();
  const auto groups = statistic_.by ? names_of(*statistic_.by) : std::vector<GroupName>{{""}};
  std::vector<Answer> answers;
  for (std::size_t group = 0; group < values.size(); ++group) {
    for (std::size_t k = 0; k < fractions.size(); ++k) {
      answers.push_back({groups[group].text,
                         fractions.size() > 1 ? fmt::format("{}", fractions[k].value()) : std::string{},
                         {values[group][k], bounds.lower, bounds.upper},
                         groups[group].texts});
    }
  }
  return answers;
}

KeysPart::KeysPart(const Statistic& statistic, const Event& noise, double confidence)
    : statistic_{statistic},
      counts_{std::get<KeysOf>(statistic.of).most_keys, statistic.adjacency},
      noise_{counts_.noise_for(noise)},
      threshold_{key_threshold(*noise_, counts_.most_keys(), std::get<KeysOf>(statistic.of).chance)},
      reach_{quantile(*noise_, std::nextafter(1 - confidence, 0.0))} {
  statistic_.validate();
}
KeysPart::KeysPart(const Statistic& statistic)
    : statistic_{statistic}, counts_{std::get<KeysOf>(statistic.of).most_keys, statistic.adjacency} {}

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
                     .rank_error = {},
                     .has_values = !std::get<KeysOf>(statistic_.of).hides_counts},
                    statistic_);
}

std::vector<Answer> KeysPart::release(accounting::Reservation& reservation, mechanisms::BitsRef bits, std::uint64_t /*records*/) {
  reservation.spend(event());
  std::vector<Answer> answers;
  for (const auto& [key, count] : draw_keys(counts_, noise_.value(), threshold_, bits)) {
    const bool hides_counts = std::get<KeysOf>(statistic_.of).hides_counts;
    answers.push_back(answer_of(statistic_, key, hides_counts ? hidden : Estimate{count, count - reach_, count + reach_}));
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

GroupMeansPart::GroupMeansPart(const Statistic& statistic, const Event& noise, double confidence)
    : means_{statistic},
      noise_{means_.noise_for(noise)},
      threshold_{means_.threshold(*noise_)},
      reach_{reach_of(means_.frame(), *noise_, confidence)} {}

void GroupMeansPart::start(Rows& rows) {
  const auto& statistic = means_.statistic();
  number_ = rows.position(*column_of(statistic), CellUse::number);
  key_.emplace(columns_of(*keys_of(statistic)), rows);
  owner_.emplace(statistic, rows);
  if (statistic.where) where_.emplace(*statistic.where, rows);
}

void GroupMeansPart::add(Rows& rows) {
  const auto& statistic = means_.statistic();
  const bool meets = !where_ || where_->is_met(rows);
  auto number = rows.number(number_);
  // Under zero-out a zeroed row is one without a number.
  if (!number && statistic.missing != MissingCells::left_out && statistic.adjacency != Adjacency::zero_out) number = 0;
  if (meets && number) means_.add(owner_->find(rows), key_->find(rows), *number);
}

void GroupMeansPart::add_total(const QueryTotal& total, std::uint64_t records) { means_.add_total(of_kind<GroupTotal>(total), records); }

Event GroupMeansPart::event() const { return event_of_keys(event_of(noise_.value()), keys_of(means_.statistic())->chance); }

PartFacts GroupMeansPart::facts() const {
  const auto& frame = means_.frame();
  const double step = frame.grid().step();
  return with_cells(
      {.query = describe(means_.statistic()),
       .noise = std::string{name(noise_.value())},
       .standard_deviation = statistics::standard_deviation(noise_.value()),
       .noise_is_on = fmt::format(
           "the sum of each group of ({} - {}), to which a unit adds its mean there, and {:.6g} times that on the number of its units, of which those above {:.6g} are shown",
           *column_of(means_.statistic()), frame.origin(), 1 / (static_cast<double>(frame.weight()) * step),
           means_.units(static_cast<double>(threshold_))),
       .l1_sensitivity = means_.l1_sensitivity().value(),
       .l2_sensitivity = means_.l2_sensitivity().value(),
       .grid_step = step,
       .is_whole = false,
       .has_groups = true,
       .has_cells = false},
      means_.statistic());
}

std::vector<Answer> GroupMeansPart::release(accounting::Reservation& reservation, mechanisms::BitsRef bits, std::uint64_t records) {
  const std::size_t columns = 1 + keys_of(means_.statistic())->beside.size();
  reservation.spend(event());
  std::vector<Answer> answers;
  for (const auto& shown : draw_groups(means_, noise_.value(), threshold_, bits)) {
    const auto estimate = estimates_of(means_.frame(), {shown.sum, shown.count}, reach_.value(), records).front();
    auto texts = texts_of_key(shown.key, columns);
    auto text = tuple_text(texts);
    answers.push_back({std::move(text), "", estimate, columns > 1 ? std::move(texts) : std::vector<std::string>{}});
  }
  return answers;
}

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
      parts.push_back(std::make_unique<QuantilePart>(query.statistic, event, confidence));
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
