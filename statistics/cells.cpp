#include <surety/statistics/cells.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include <surety/base/numbers/overload.h>
#include <surety/base/text/error.h>

namespace surety::statistics {

using namespace data;

void validate(const Bounds& bounds) {
  const auto is_allowed = [](double end) { return std::abs(end) <= largest_bound; };
  if (!(is_allowed(bounds.lower) && is_allowed(bounds.upper) && bounds.upper - bounds.lower >= smallest_width)) {
    invalid(fmt::format("bounds are {} and {}, must ascend, be at least 2^-800 apart and be within +-2^900", bounds.lower, bounds.upper));
  }
}

namespace {

void validate_cells(const Bins& bins) {
  validate(bins.bounds);
  if (!(bins.count >= 2 && bins.count <= most_cells)) {
    invalid(fmt::format("the number of bins is {}, must be from 2 to 2^20", bins.count));
  }
  const auto ends = edges(bins);
  if (std::adjacent_find(ends.begin(), ends.end(), [](double a, double b) { return !(a < b); }) != ends.end()) {
    invalid(fmt::format("{} bins from {} to {} are narrower than numbers can tell apart, must be fewer", bins.count, bins.bounds.lower,
                        bins.bounds.upper));
  }
}

void validate_cells(const Edges& edges) {
  const auto& numbers = edges.numbers;
  if (!(numbers.size() >= 3 && numbers.size() <= most_cells + 1)) {
    invalid(fmt::format("the number of edges is {}, must be from 3 to 2^20 + 1", numbers.size()));
  }
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    if (!(std::abs(numbers[k]) <= largest_bound)) invalid(fmt::format("an edge is {}, must be within +-2^900", numbers[k]));
    if (k > 0 && !(numbers[k - 1] < numbers[k])) {
      invalid(fmt::format("the edge {} follows {}, must be greater", numbers[k], numbers[k - 1]));
    }
  }
}

void validate_cells(const Categories& categories) {
  if (categories.names.empty()) invalid("the list of categories is empty");
  std::set<std::string_view> distinct;
  for (const auto& name : categories.names) {
    if (name.empty()) invalid("a category is empty, must be a text");
    if (!distinct.insert(name).second) {
      invalid(fmt::format("the list of categories or keys names '{}' twice, must name each once", one_line(name)));
    }
  }
}

}  // namespace

void validate(const Cells& cells) {
  std::visit([](const auto& each) { validate_cells(each); }, cells);
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

std::vector<double> edges(const Cells& cells) {
  return std::visit(Overload{[](const Bins& bins) { return edges(bins); }, [](const Edges& its) { return its.numbers; },
                             [](const Categories&) { return std::vector<double>{}; }},
                    cells);
}

std::size_t number_of(const Cells& cells) noexcept {
  return std::visit(Overload{[](const Bins& bins) { return bins.count; }, [](const Edges& its) { return its.numbers.size() - 1; },
                             [](const Categories& categories) { return categories.names.size(); }},
                    cells);
}

std::vector<std::string> names_of(const Cells& cells) {
  if (const auto* const categories = std::get_if<Categories>(&cells)) return categories->names;
  std::vector<std::string> result;
  const auto ends = edges(cells);
  const std::size_t count = ends.size() - 1;
  for (std::size_t k = 0; k < count; ++k) {
    result.push_back(fmt::format("[{}, {}{}", ends[k], ends[k + 1], k + 1 == count ? "]" : ")"));
  }
  return result;
}

CellFinder::CellFinder(const Cells& cells) {
  if (are_of_numbers(cells)) {
    if (const auto* const bins = std::get_if<Bins>(&cells)) {
      lower_ = bins->bounds.lower;
      bins_per_unit_ = static_cast<double>(bins->count) / (bins->bounds.upper - bins->bounds.lower);
    }
    ends_ = edges(cells);
    last_ = static_cast<double>(ends_.size() - 2);
    ends_.front() = -HUGE_VAL;
    ends_.back() = std::nan("");  // no number is beyond it, infinity neither
  } else {
    const auto& names = std::get<Categories>(cells).names;
    for (std::size_t k = 0; k < names.size(); ++k) category_.emplace(names[k], k);
  }
}

std::optional<std::size_t> CellFinder::find(const std::string& text) const {
  const auto found = category_.find(text);
  if (found == category_.end()) return std::nullopt;
  return found->second;
}

std::size_t CellFinder::searched(double number) const noexcept {
  return static_cast<std::size_t>(std::upper_bound(ends_.begin() + 1, ends_.end() - 1, number) - (ends_.begin() + 1));
}

}  // namespace surety::statistics
