#include <surety/statistics/group_means_part.h>

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <surety/base/text/safe_text.h>

namespace surety::statistics {

using namespace data;

GroupMeansPart::GroupMeansPart(const Statistic& statistic, const Event& noise, double confidence)
    : means_{statistic},
      noise_{means_.noise_for(noise)},
      threshold_{means_.threshold(*noise_)},
      intervals_{std::in_place, means_, *noise_, threshold_, confidence} {}

void GroupMeansPart::start(Rows& rows) {
  const auto& statistic = means_.statistic();
  numbers_.emplace(statistic, rows);
  key_.emplace(columns_of(*keys_of(statistic)), rows);
  owner_.emplace(statistic, rows);
  if (statistic.where) where_.emplace(*statistic.where, rows);
}

void GroupMeansPart::add(Rows& rows) {
  const auto& statistic = means_.statistic();
  const bool meets = !where_ || where_->is_met(rows);
  auto number = numbers_->read(rows);
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
           term_of(means_.statistic()), frame.origin(), 1 / (static_cast<double>(frame.weight()) * step),
           means_.units(static_cast<double>(threshold_))),
       .l1_sensitivity = means_.l1_sensitivity().value(),
       .l2_sensitivity = means_.l2_sensitivity().value(),
       .grid_step = step,
       .is_whole = false,
       .has_groups = true,
       .has_cells = false},
      means_.statistic());
}

std::vector<Answer> GroupMeansPart::release(accounting::Reservation& reservation, mechanisms::BitsRef bits, std::uint64_t /*records*/) {
  const std::size_t columns = 1 + keys_of(means_.statistic())->beside.size();
  reservation.spend(event());
  std::vector<Answer> answers;
  for (const auto& shown : draw_groups(means_, noise_.value(), threshold_, bits)) {
    const auto [estimate, used] = intervals_->of(shown);
    auto texts = texts_of_key(shown.key, columns);
    auto text = tuple_text(texts);
    answers.push_back({std::move(text), "", estimate, columns > 1 ? std::move(texts) : std::vector<std::string>{}, UsedRecords{used}});
  }
  return answers;
}

}  // namespace surety::statistics
