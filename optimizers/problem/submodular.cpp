#include <surety/optimizers/problem/submodular.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include <surety/base/text/error.h>

namespace surety::optimizers {
namespace {

std::vector<double> table_of(std::size_t size, const SubmodularPolytope::Value& value) {
  if (size == 0) throw Error{ErrorCode::invalid_argument, "number of elements is 0, must be at least 1"};
  if (size > SubmodularPolytope::most_elements) {
    throw Error{ErrorCode::unsupported,
                fmt::format("number of elements is {}, must be at most {}: that a function is submodular is found by looking at all sets",
                            size, SubmodularPolytope::most_elements)};
  }
  std::vector<double> values(std::size_t{1} << size);
  std::vector<std::size_t> elements;
  for (std::size_t set = 1; set < values.size(); ++set) {
    elements.clear();
    for (std::size_t e = 0; e < size; ++e) {
      if ((set >> e & 1U) != 0) elements.push_back(e);
    }
    values[set] = value(elements);
    if (!std::isfinite(values[set])) {
      throw Error{ErrorCode::invalid_argument,
                  fmt::format("value of a set of {} elements is {}, must be finite", elements.size(), values[set])};
    }
  }
  return values;
}

void require_submodular(std::size_t size, const std::vector<double>& values) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  const double rounding = std::ldexp(largest, -40);
  for (std::size_t set = 0; set < values.size(); ++set) {
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const std::size_t with_i = set | std::size_t{1} << i;
        const std::size_t with_j = set | std::size_t{1} << j;
        if (with_i == set || with_j == set) continue;
        // An overflow makes an infinity that passes or a NaN that does not.
        if (!((values[with_i] - values[set]) - (values[with_i | with_j] - values[with_j]) >= -rounding)) {
          throw Error{
              ErrorCode::invalid_argument,
              fmt::format(
                  "function is not submodular, must be: beside {} others, elements {} and {} together are worth more than each alone",
                  std::popcount(set), j, i)};
        }
      }
    }
  }
}

}  // namespace

SubmodularPolytope::SubmodularPolytope(std::size_t size, const Value& value) : size_{size} {
  auto values = table_of(size, value);
  require_submodular(size, values);
  values_ = std::make_shared<const std::vector<double>>(std::move(values));
}

std::vector<double> SubmodularPolytope::minimize_linear(std::span<const double> costs) const {
  require_dimension("a cost vector", costs.size(), size_);
  std::vector<std::size_t> order(size_);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](auto i, auto j) { return completed(costs[i]) < completed(costs[j]); });
  std::vector<double> vertex(size_);
  std::size_t set = 0;
  for (const std::size_t element : order) {
    const std::size_t larger = set | std::size_t{1} << element;
    vertex[element] = at(larger) - at(set);
    set = larger;
  }
  return vertex;
}

double SubmodularPolytope::diameter(LpExponent r, std::size_t dimension) const {
  require_dimension("a base polytope's space", dimension, size_);
  const std::size_t all = values_->size() - 1;
  std::vector<double> widths;
  double least = 0;
  double most = 0;
  for (std::size_t e = 0; e < size_; ++e) {
    const double low = at(all) - at(all ^ std::size_t{1} << e);
    const double high = at(std::size_t{1} << e);
    least += low;
    most += high;
    widths.push_back(std::max(0.0, high - low));
  }
  std::sort(widths.rbegin(), widths.rend());
  // Of magnitudes within the widths and of this sum, the norm is largest where the widest coordinates are full.
  double left = 2 * std::max(0.0, std::min(at(all) - least, most - at(all)));
  for (double& width : widths) {
    width = std::min(width, left);
    left -= width;
  }
  return lp_norm(widths, r) * (1 + 0x1p-40);
}

}  // namespace surety::optimizers
