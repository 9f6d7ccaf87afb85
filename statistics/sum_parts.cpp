#include <surety/statistics/sum_parts.h>

#include <algorithm>

#include <fmt/format.h>

#include <surety/statistics/release.h>

namespace surety::statistics {

using namespace data;

SumPart::SumPart(StatisticSum sum, StatisticNoise noise, NoiseReach reach)
    : sum_{std::move(sum)}, noise_{std::move(noise)}, reach_{std::move(reach)} {}

namespace {

/// Whether each interval is the number that is released, give or take how far the noise reaches.
bool has_one_length(const StatisticSum& sum) {
  const auto& of = sum.statistic().of;
  return sum.counts() || std::holds_alternative<SumOf>(of) || std::holds_alternative<UnitSumOf>(of);
}

}  // namespace

PartFacts SumPart::facts() const {
  auto facts = with_cells({.query = describe(sum_.statistic()),
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
  if (reach_ && has_one_length(sum_)) facts.half_length = reach_->distance;
  return facts;
}

void SumPart::add_total(const QueryTotal& total, std::uint64_t records) { sum_.add_total(of_kind<StepTotal>(total), records); }

std::vector<Answer> SumPart::release(accounting::Reservation& reservation, mechanisms::BitsRef bits, std::uint64_t records) {
  const auto released = statistics::release(sum_, noise(), reservation, bits);
  const auto estimates = estimates_of(sum_, released, reach_.value(), records);
  const auto used = used_records_of(sum_, released, reach_.value());
  const auto& statistic = sum_.statistic();
  const auto groups = statistic.by ? names_of(*statistic.by) : std::vector<GroupName>{{""}};
  const std::vector<std::string> cells = sum_.is_histogram() ? sum_.names() : std::vector<std::string>{""};
  std::vector<Answer> answers;
  answers.reserve(estimates.size());
  for (std::size_t k = 0; k < estimates.size(); ++k) {
    const auto& group = groups[k / cells.size()];
    answers.push_back({group.text, cells[k % cells.size()], estimates[k], group.texts});
    if (!used.empty()) answers.back().used = UsedRecords{used[k]};
  }
  return answers;
}

void UnitSumPart::start(Rows& rows) {
  const auto& statistic = sum().statistic();
  numbers_.emplace(statistic, rows);
  owner_.emplace(statistic, rows);
  if (statistic.where) where_.emplace(*statistic.where, rows);
  if (statistic.by) groups_.emplace(statistic, rows);
}

void UnitSumPart::add(Rows& rows) {
  const bool meets = !where_ || where_->is_met(rows);
  const auto number = numbers_->read(rows);
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

void PublicCountPart::add_total(const QueryTotal& total, std::uint64_t records) { sum_.add_total(of_kind<StepTotal>(total), records); }

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
          .has_cells = false,
          .half_length = 0};
}

std::vector<Answer> PublicCountPart::release(accounting::Reservation& /*reservation*/, mechanisms::BitsRef /*bits*/,
                                             std::uint64_t /*records*/) {
  const auto units = static_cast<double>(sum_.sum().steps.front());
  return {{"", "", {units, units, units}}};
}

}  // namespace surety::statistics
