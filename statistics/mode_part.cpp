#include <surety/statistics/mode_part.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include <surety/accounting/events/event_kinds.h>
#include <surety/base/text/error.h>
#include <surety/statistics/costs.h>

namespace surety::statistics {

using namespace data;

namespace {

/// Of exponential(e) or pure(e). \throws Error{unsupported} for another event.
Epsilon epsilon_of(const Event& event) {
  if (const auto* const exponential = std::get_if<Event::Exponential>(&event.node())) return exponential->epsilon;
  if (const auto* const pure = std::get_if<Event::Pure>(&event.node())) return pure->epsilon;
  throw Error{ErrorCode::unsupported, fmt::format("no choice of a mode is the event '{}'", describe(event))};
}

/// The rows of a unit that count. \throws Error{invalid_argument} for more than 2^52, of which doubles do not hold twice as many exactly
double rows_of(const Statistic& statistic) {
  const auto rows = most_rows(statistic).value();
  if (rows > std::uint64_t{1} << 52) invalid(fmt::format("a unit has {} rows, must have at most 2^52 for {}", rows, describe(statistic)));
  return static_cast<double>(rows);
}

/// The counts among which the mode is chosen.
StatisticSum counts_of(const Statistic& statistic) {
  statistic.validate();
  const auto& mode = std::get<ModeOf>(statistic.of);
  auto histogram = statistic;
  histogram.of = HistogramOf{mode.column, mode.categories};
  return {histogram, Grid{.log2_step = 0}};
}

}  // namespace

ModeChoice::ModeChoice(const Statistic& statistic, Event level)
    : level_{std::move(level)},
      epsilon_{epsilon_of(level_)},
      range_{rows_of(statistic) * (level_.adjacency() == Adjacency::replace_one ? 2 : 1)} {}

bool ModeChoice::is_permute_and_flip() const noexcept { return std::holds_alternative<Event::Pure>(level_.node()); }

mechanisms::SelectionOptions ModeChoice::options(std::size_t candidates) const {
  return {.epsilon = epsilon_,
          .sensitivity = ScoreSensitivity{range_},
          .change = ScoreChange::range,
          .candidates = Count{candidates},
          .adjacency = level_.adjacency()};
}

std::size_t ModeChoice::choose(const std::vector<std::int64_t>& counts, mechanisms::BitsRef bits) const {
  // Doubles hold these counts exactly, and no two counts are further apart than before.
  constexpr std::int64_t most = std::int64_t{1} << 53;
  std::vector<double> scores;
  scores.reserve(counts.size());
  for (const auto count : counts) scores.push_back(static_cast<double>(std::min(count, most)));
  // Permute-and-flip as the largest count with exponential noise, whose time tells nothing.
  const auto shape = is_permute_and_flip() ? mechanisms::NoiseShape::exponential : mechanisms::NoiseShape::gumbel;
  return mechanisms::ReportNoisyMax{options(counts.size()), shape}.release(scores, bits);
}

double ModeChoice::count_error(double exceeded, std::size_t candidates) const {
  if (epsilon_.value() == 0) return std::numeric_limits<double>::infinity();
  const auto others = static_cast<double>(candidates - 1);
  const double odds = is_permute_and_flip() ? others / (2 * exceeded) : others * (1 - exceeded) / exceeded;
  return std::max(0.0, std::log(odds) * range_ / epsilon_.value() * (1 + 0x1p-40));
}

ModePart::ModePart(const Statistic& statistic, Event level, double confidence) : ModePart{statistic} {
  choice_.emplace(statistic_, std::move(level));
  confidence_ = confidence;
}
ModePart::ModePart(const Statistic& statistic) : SumPart{counts_of(statistic)}, statistic_{statistic} {}

Event ModePart::event() const {
  const auto releases = releases_of(statistic_);
  return releases == 1 ? choice_.value().event() : repeat(Count{releases}, choice_.value().event());
}

PartFacts ModePart::facts() const {
  const auto& mode = std::get<ModeOf>(statistic_.of);
  const auto& choice = choice_.value();
  const std::size_t candidates = mode.categories.names.size();
  const double error = choice.count_error(std::nextafter(1 - confidence_, 0), candidates);
  const auto chosen =
      mode.top == 1
          ? fmt::format("the choice of one of {} texts; its count is less than the largest", candidates)
          : fmt::format("the choices of {} of {} texts, each among those left; the count of each is less than the largest one left",
                        mode.top, candidates);
  const auto missed = std::isinf(error) ? std::string{"an unknown number of"} : fmt::format("fewer than {:.6g}", error * (1 + 1e-5));
  auto facts = with_cells({.query = describe(statistic_),
                           .noise = choice.is_permute_and_flip() ? "permute-and-flip" : "exponential",
                           .standard_deviation = {},
                           .noise_is_on = fmt::format("{} by {} records with confidence {}", chosen, missed, confidence_),
                           .l1_sensitivity = {},
                           .l2_sensitivity = {},
                           .grid_step = {},
                           .is_whole = true,
                           .has_groups = statistic_.by.has_value(),
                           .has_cells = true,
                           .cell_heading = "text",
                           .has_values = false,
                           .half_length = error},
                          sum().statistic());
  return facts;
}

std::vector<Answer> ModePart::release(accounting::Reservation& reservation, mechanisms::BitsRef bits, std::uint64_t /*records*/) {
  const auto& choice = choice_.value();
  const auto& mode = std::get<ModeOf>(statistic_.of);
  const auto counts = sum().sum().steps;
  const std::size_t candidates = mode.categories.names.size();
  const auto groups = statistic_.by ? names_of(*statistic_.by) : std::vector<GroupName>{{""}};
  std::vector<std::vector<std::size_t>> left(groups.size(), std::vector<std::size_t>(candidates));
  for (auto& texts : left) std::iota(texts.begin(), texts.end(), std::size_t{0});
  std::vector<std::vector<std::size_t>> chosen(groups.size());
  for (std::size_t place = 0; place < mode.top; ++place) {
    // A unit's rows are in one group or shared among groups, so the choices of all groups cost together what one costs.
    reservation.spend(choice.event());
    for (std::size_t group = 0; group < groups.size(); ++group) {
      auto& texts = left[group];
      std::vector<std::int64_t> of_left;
      of_left.reserve(texts.size());
      for (const auto text : texts) of_left.push_back(counts[group * candidates + text]);
      const auto at = choice.choose(of_left, bits);
      chosen[group].push_back(texts[at]);
      texts.erase(texts.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  const double error = choice.count_error(std::nextafter(1 - confidence_, 0), candidates);
  std::vector<Answer> answers;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    for (const auto text : chosen[group]) {
      answers.push_back({groups[group].text, mode.categories.names[text], {none, none, none}, groups[group].texts, std::nullopt, error});
    }
  }
  return answers;
}

}  // namespace surety::statistics
