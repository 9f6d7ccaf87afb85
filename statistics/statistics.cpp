#include <surety/statistics/statistics.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include <fmt/format.h>

#include <surety/accounting/numbers/error.h>
#include <surety/accounting/numbers/interval.h>
#include <surety/accounting/numbers/overload.h>
#include <surety/data/csv.h>

namespace surety::statistics {

using namespace data;
namespace {

using accounting::Interval;

// Exact for sums and products of two doubles that matter to each other.
constexpr mpfr_prec_t precision = 256;

Interval point(double value) { return {value, precision}; }

/// A 63-bit integer as a point: both halves and their sum are exact.
Interval point(std::int64_t value) {
  return point(static_cast<double>(value >> 32)) * point(0x1p32) + point(static_cast<double>(value & 0xffffffff));
}

void validate_bounds(const Bounds& bounds) {
  const auto is_allowed = [](double end) { return std::abs(end) <= Statistic::largest_bound; };
  if (!(is_allowed(bounds.lower) && is_allowed(bounds.upper) && bounds.upper - bounds.lower >= Statistic::smallest_width)) {
    invalid(fmt::format("bounds are {} and {}, must ascend, be at least 2^-800 apart and be within +-2^900", bounds.lower, bounds.upper));
  }
}

void validate_cells(const Bins& bins) {
  validate_bounds(bins.bounds);
  if (!(bins.count >= 2 && bins.count <= Statistic::most_bins)) {
    invalid(fmt::format("the number of bins is {}, must be from 2 to 2^20", bins.count));
  }
  const auto ends = edges(bins);
  if (std::adjacent_find(ends.begin(), ends.end(), [](double a, double b) { return !(a < b); }) != ends.end()) {
    invalid(fmt::format("{} bins from {} to {} are narrower than numbers can tell apart, must be fewer", bins.count, bins.bounds.lower,
                        bins.bounds.upper));
  }
}

void validate_cells(const Categories& categories) {
  if (categories.names.empty()) invalid("the list of categories is empty");
  const std::set<std::string_view> distinct{categories.names.begin(), categories.names.end()};
  if (distinct.contains("")) invalid("a category is empty, must be a text");
  if (distinct.size() != categories.names.size()) invalid("the list of categories names one twice");
}

/// The bounds of a sum or mean; nullptr for counts.
const Bounds* bounds_of(const Statistic& statistic) {
  if (const auto* const sum = std::get_if<SumOf>(&statistic.of)) return &sum->bounds;
  if (const auto* const mean = std::get_if<MeanOf>(&statistic.of)) return &mean->bounds;
  return nullptr;
}

/// A mean of an unknown number of records: a sum and a count.
bool is_ratio(const Statistic& statistic) { return std::holds_alternative<MeanOf>(statistic.of) && !statistic.has_public_count(); }

/// Numbers are counted from the middle of the bounds where every record that counts stays one, or is counted beside the sum.
bool is_centred(const Statistic& statistic) {
  return (statistic.adjacency == Adjacency::replace_one && !statistic.where) || is_ratio(statistic);
}

const std::string* column_of(const Statistic& statistic) {
  return std::visit(Overload{[](const CountOf&) -> const std::string* { return nullptr; },
                             [](const auto& of) -> const std::string* { return &of.column; }},
                    statistic.of);
}

/// erfc(x / (sigma sqrt 2)) or exp(-x / b): how often ideal noise exceeds x in magnitude, for sigma or b in the unit of x.
struct Tail {
  bool is_gaussian;
  double scale;

  [[nodiscard]] Interval operator()(const Interval& x) const {
    return is_gaussian ? erfc(x / (point(scale) * sqrt(point(2.0)))) : exp(-(x / point(scale)));
  }
};

}  // namespace

void Statistic::validate() const {
  if (where && !where->test) invalid(fmt::format("the condition '{}' has no comparison, must be such as 'visits>0'", where->column));
  if (const auto* const bounds = bounds_of(*this)) validate_bounds(*bounds);
  if (const auto* const histogram = std::get_if<HistogramOf>(&of)) {
    std::visit([](const auto& cells) { validate_cells(cells); }, histogram->cells);
  }
  if (std::holds_alternative<CountOf>(of) && has_public_count()) {
    invalid(
        fmt::format("the number of records is public under {}, so count() needs no noise: add a condition, or use add-or-remove-one, which "
                    "keeps the number private",
                    name(adjacency)));
  }
}

bool Statistic::has_public_count() const noexcept { return !where && adjacency != Adjacency::add_or_remove_one; }

std::string describe(const Statistic& statistic) {
  const auto* const column = column_of(statistic);
  const char* const function = std::visit(Overload{[](const CountOf&) { return "count"; }, [](const SumOf&) { return "sum"; },
                                                   [](const MeanOf&) { return "mean"; }, [](const HistogramOf&) { return "histogram"; }},
                                          statistic.of);
  return fmt::format("{}({}){}", function, column != nullptr ? *column : "",
                     statistic.where ? " where " + describe(*statistic.where) : std::string{});
}

std::vector<double> edges(const Bins& bins) {
  const double width = bins.bounds.upper - bins.bounds.lower;
  std::vector<double> result;
  for (std::size_t k = 0; k < bins.count; ++k) {
    result.push_back(bins.bounds.lower + width * static_cast<double>(k) / static_cast<double>(bins.count));
  }
  result.push_back(bins.bounds.upper);
  return result;
}

Grid grid_for(const Statistic& statistic, NoiseMultiplier noise) {
  statistic.validate();
  const auto* const bounds = bounds_of(statistic);
  if (bounds == nullptr) return {.log2_step = 0};
  const double extent = is_centred(statistic) ? bounds->upper - bounds->lower : std::max(std::abs(bounds->lower), std::abs(bounds->upper));
  return mechanisms::grid_for(L2Sensitivity{extent}, noise);
}

Event event_of(const StatisticNoise& noise) {
  return std::visit([](const auto& mechanism) { return mechanism.event(); }, noise);
}

std::string_view name(const StatisticNoise& noise) { return std::holds_alternative<mechanisms::Gaussian>(noise) ? "gaussian" : "laplace"; }

double standard_deviation(const StatisticNoise& noise) {
  return std::visit(Overload{[](const mechanisms::Gaussian& gaussian) { return gaussian.sigma(); },
                             [](const mechanisms::Laplace& laplace) { return std::sqrt(2.0) * laplace.scale(); }},
                    noise);
}

double quantile(const StatisticNoise& noise, double exceeded) {
  const Grid grid = std::visit([](const auto& mechanism) { return mechanism.options().grid; }, noise);
  // A power of two scales exactly.
  const Tail tail = std::visit(Overload{[&](const mechanisms::Gaussian& gaussian) {
                                          return Tail{true, gaussian.sigma() * grid.steps_per_unit()};
                                        },
                                        [&](const mechanisms::Laplace& laplace) {
                                          return Tail{false, laplace.scale() * grid.steps_per_unit()};
                                        }},
                               noise);
  const auto suffices = [&](std::int64_t steps) { return tail(point(steps) + point(0.5)).enclosure().upper <= exceeded; };
  if (suffices(0)) return 0;
  std::int64_t failing = 0;
  std::int64_t enough = largest_sum;
  while (enough - failing > 1) {
    const std::int64_t middle = failing + (enough - failing) / 2;
    (suffices(middle) ? enough : failing) = middle;
  }
  return (point(enough) * point(grid.step())).enclosure().upper;
}

StatisticSum::StatisticSum(Statistic statistic, Grid grid) : statistic_{std::move(statistic)}, grid_{grid} {
  statistic_.validate();
  std::size_t coordinates = 1;
  if (const auto* const bounds = bounds_of(statistic_)) {
    bounds_ = *bounds;
    if (is_centred(statistic_)) origin_ = bounds_.lower / 2 + bounds_.upper / 2;
    constexpr double most = 0x1p40;
    const double extent = std::max(std::abs(bounds_.lower - origin_), std::abs(bounds_.upper - origin_)) * grid_.steps_per_unit();
    if (!(extent >= 1 && extent <= most)) {
      invalid(fmt::format("a bound is {} grid steps from the origin, must be from 1 to 2^40", extent));
    }
    low_ = steps_of(bounds_.lower);
    high_ = steps_of(bounds_.upper);
    if (is_ratio(statistic_)) {
      weight_ = std::max(std::abs(low_), std::abs(high_));
      coordinates = 2;
    }
  } else if (const auto* const histogram = std::get_if<HistogramOf>(&statistic_.of)) {
    std::visit(Overload{[&](const Bins& bins) {
                          inner_ = edges(bins);
                          inner_.erase(inner_.begin());
                          inner_.pop_back();
                          coordinates = bins.count;
                        },
                        [&](const Categories& categories) {
                          coordinates = categories.names.size();
                          for (std::size_t k = 0; k < coordinates; ++k) category_.emplace(categories.names[k], k);
                        }},
               histogram->cells);
  }
  sum_.resize(coordinates);
}

std::int64_t StatisticSum::steps_of(double number) const {
  const double clamped = number >= bounds_.lower ? std::min(number, bounds_.upper) : bounds_.lower;
  return std::llround((clamped - origin_) * grid_.steps_per_unit());
}

void StatisticSum::add(double number) {
  if (!inner_.empty()) {
    const auto cell = std::isnan(number) ? inner_.begin() : std::upper_bound(inner_.begin(), inner_.end(), number);
    add_steps(static_cast<std::size_t>(cell - inner_.begin()), 1);
  } else if (bounds_of(statistic_) != nullptr) {
    add_steps(0, steps_of(number));
    if (weight_ != 0) add_steps(1, weight_);
  }
}

void StatisticSum::add(const std::string& text) {
  if (const auto found = category_.find(text); found != category_.end()) add_steps(found->second, 1);
}

void StatisticSum::add_damaged() {
  if (!is_histogram()) add(0.0);
}

GridVector StatisticSum::sum() const {
  GridVector result{.grid = grid_, .steps = {}};
  result.steps.reserve(sum_.size());
  for (const Integer steps : sum_) {
    result.steps.push_back(static_cast<std::int64_t>(std::clamp<Integer>(steps, -Integer{largest_sum}, Integer{largest_sum})));
  }
  return result;
}

double StatisticSum::norm(bool squared) const {
  const auto joint = [&](std::int64_t a, std::int64_t b) {
    return squared ? sqrt(point(a) * point(a) + point(b) * point(b)) : point(a) + point(b);
  };
  // One record more or less: its own contribution, and that to the count beside the sum.
  const Interval comes = joint(std::max(std::abs(low_), std::abs(high_)), weight_);
  // One record for another: both in one cell of a sum, or in two cells of a histogram.
  const Interval changes = is_histogram() ? joint(1, sum_.size() > 1 ? 1 : 0) : point(high_ - low_);
  const bool may_come = statistic_.adjacency != Adjacency::replace_one || statistic_.where.has_value();
  const bool may_change = statistic_.adjacency == Adjacency::replace_one;
  const Interval most = !may_change ? comes : may_come ? maximum(comes, changes) : changes;
  return (most * point(grid_.step())).enclosure().upper;
}

L1Sensitivity StatisticSum::l1_sensitivity() const { return L1Sensitivity{norm(false)}; }
L2Sensitivity StatisticSum::l2_sensitivity() const { return L2Sensitivity{norm(true)}; }

double StatisticSum::reach(const StatisticNoise& noise, double confidence) const {
  const double parts = weight_ != 0 ? 2 : 1;
  return quantile(noise, ((point(1.0) - point(confidence)) / point(parts)).enclosure().lower);
}

std::vector<Estimate> StatisticSum::estimates(const std::vector<double>& released, double reach, std::uint64_t records) const {
  const auto around = [&](double value) {
    // Beyond 2^53 steps a released number was rounded when it became a double.
    const double rounding = std::abs(value) > 0x1p53 * grid_.step() ? std::abs(value) * 0x1p-53 : 0;
    const Interval half = point(reach) + point(rounding);
    return hull(point(value) - half, point(value) + half);
  };
  const auto estimate = [](double value, const Interval& interval) {
    const auto ends = interval.enclosure();
    return Estimate{value, ends.lower + 0.0, ends.upper + 0.0};  // a lower end of -0 becomes 0
  };
  // A sum beyond what fits was released as the largest one that does. Where the noise may have brought it from there, nothing bounds it.
  const auto is_open_above = [&](double value) {
    if (value + reach < 0x1p61 * grid_.step()) return false;  // far from there
    return (around(value) - point(largest_sum - 1) * point(grid_.step())).enclosure().upper >= 0;
  };
  const auto is_open_below = [&](double value) { return is_open_above(-value); };
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto opened = [&](double value, Estimate closed) {
    if (is_open_below(value)) closed.lower = -infinity;
    if (is_open_above(value)) closed.upper = infinity;
    return closed;
  };
  std::vector<Estimate> result;
  if (bounds_of(statistic_) == nullptr) {
    for (const double count : released) result.push_back(opened(count, estimate(count, around(count))));
    return result;
  }
  const Interval step = point(grid_.step());
  const auto clamped = [&](const Estimate& raw) {
    // What rounding to the grid makes of the bounds.
    const double lower = std::min(bounds_.lower, (point(origin_) + point(low_) * step).enclosure().lower);
    const double upper = std::max(bounds_.upper, (point(origin_) + point(high_) * step).enclosure().upper);
    return Estimate{std::clamp(raw.value, lower, upper), std::clamp(raw.lower, lower, upper), std::clamp(raw.upper, lower, upper)};
  };
  const double sum = released.front();
  if (weight_ != 0) {
    const double count = released[1] / (static_cast<double>(weight_) * grid_.step());
    const double value = origin_ + sum / std::max(count, 1.0);
    // A mean is one of at least one record. Where even the upper end of the count is below that, nothing is known, nor where one of the two
    // sums may have saturated.
    const Interval counted = around(released[1]) / (point(weight_) * step);
    const bool may_be_saturated =
        std::any_of(released.begin(), released.end(), [&](double part) { return is_open_below(part) || is_open_above(part); });
    if (may_be_saturated || counted.compare(1) < 0) return {clamped({value, -infinity, infinity})};
    return {clamped(estimate(value, point(origin_) + around(sum) / maximum(counted, point(1.0))))};
  }
  const Interval number = point(static_cast<double>(records));
  const double whole = std::fma(static_cast<double>(records), origin_, sum);
  const Interval interval = number * point(origin_) + around(sum);
  if (std::holds_alternative<SumOf>(statistic_.of)) return {opened(sum, estimate(whole, interval))};
  return {clamped(opened(sum, estimate(whole / static_cast<double>(records), interval / number)))};
}

std::vector<std::string> StatisticSum::names() const {
  const auto* const histogram = std::get_if<HistogramOf>(&statistic_.of);
  if (histogram == nullptr) return {describe(statistic_)};
  return std::visit(Overload{[](const Bins& bins) {
                               std::vector<std::string> result;
                               const auto ends = edges(bins);
                               for (std::size_t k = 0; k < bins.count; ++k) {
                                 result.push_back(fmt::format("[{}, {}{}", ends[k], ends[k + 1], k + 1 == bins.count ? "]" : ")"));
                               }
                               return result;
                             },
                             [](const Categories& categories) { return categories.names; }},
                    histogram->cells);
}

std::string StatisticSum::what_is_released() const {
  if (is_histogram()) return "each cell";
  if (counts()) return "the count";
  if (weight_ == 0) return "the sum";
  return fmt::format("the sum of ({} - {}), and {:.6g} times that on the count", *column_of(statistic_), origin_,
                     1 / (static_cast<double>(weight_) * grid_.step()));
}

std::uint64_t read_statistic(const std::filesystem::path& path, StatisticSum& sum, const DataPolicy& policy) {
  const auto& statistic = sum.statistic();
  CsvReader reader{path, policy};
  const auto* const column = column_of(statistic);
  const std::size_t position = column != nullptr ? reader.position(*column) : 0;
  const std::size_t where_position = statistic.where ? reader.position(statistic.where->column) : 0;
  const auto* const histogram = std::get_if<HistogramOf>(&statistic.of);
  const bool is_text = histogram != nullptr && std::holds_alternative<Categories>(histogram->cells);

  const auto meets_condition = [&](const std::vector<std::string>& cells) {
    if (!statistic.where) return true;
    const auto cell = reader.number(cells, where_position);
    return cell && (*statistic.where)(*cell) > 0;
  };
  std::vector<std::string> cells;
  std::uint64_t records = 0;
  for (; reader.next(cells); ++records) {
    const bool counts = meets_condition(cells);
    const auto number = column == nullptr || is_text ? std::nullopt : reader.number(cells, position);
    if (!counts) continue;
    if (column == nullptr) {
      sum.add();
    } else if (is_text) {
      sum.add(cells[position]);
    } else if (number) {
      sum.add(*number);
    } else {
      sum.add_damaged();
    }
  }
  if (records == 0 && statistic.adjacency != Adjacency::add_or_remove_one) {
    throw Error{ErrorCode::bad_data, fmt::format("{}: has no records after the header", one_line(path.string()))};
  }
  return records;
}

StatisticNoise noise_for(const StatisticSum& sum, const Event& event) {
  const auto adjacency = event.adjacency();
  if (const auto* const laplace = std::get_if<Event::Laplace>(&event.node())) {
    return mechanisms::Laplace{{.scale = laplace->scale, .sensitivity = sum.l1_sensitivity(), .grid = sum.grid(), .adjacency = adjacency}};
  }
  if (const auto* const gaussian = std::get_if<Event::Gaussian>(&event.node())) {
    return mechanisms::Gaussian{
        {.multiplier = gaussian->multiplier, .sensitivity = sum.l2_sensitivity(), .grid = sum.grid(), .adjacency = adjacency}};
  }
  throw Error{ErrorCode::unsupported, fmt::format("no noise of a statistic is the event '{}'", describe(event))};
}

std::vector<double> release(const StatisticSum& sum, const StatisticNoise& noise, accounting::Reservation& reservation,
                            mechanisms::BitsRef bits) {
  const auto exact = sum.sum();
  reservation.spend(event_of(noise));
  return std::visit([&](const auto& mechanism) { return mechanism.release(exact, bits); }, noise);
}

}  // namespace surety::statistics
