#include <surety/optimizers/problem/certified_gradients.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/events/format.h>
#include <surety/base/text/error.h>

namespace surety::optimizers {
namespace {

constexpr double u = 0x1p-53;

Dataset clipped(const Dataset& data, Radius radius, const std::optional<ConvexObjectiveRef>& objective) {
  if (!(radius.value() >= 0x1p-400 && radius.value() <= 0x1p400)) {
    throw Error{ErrorCode::invalid_argument, fmt::format("row norm is {}, must be from 2^-400 to 2^400", radius)};
  }
  std::vector<std::size_t> row_ends;
  std::vector<std::uint32_t> indices;
  std::vector<double> values;
  // A norm is off by a relative (m/2 + 2) u, the quotient, the product and the bound by 4u. A quotient by the norm is at most 1; the bound
  // over the norm might be subnormal, and then useless.
  const auto slack = [](const RowView& row) { return (static_cast<double>(row.values.size()) + 16) * u; };
  for (std::size_t i = 0; i < data.size(); ++i) {
    const RowView row = data.row(i);
    const double largest = radius.value() * (1 - slack(row));
    const bool counts = std::isfinite(row.norm) && (!objective || objective->has_label(data.label(i)));
    for (const double value : row.values) values.push_back(!counts ? 0 : row.norm <= largest ? value : value / row.norm * largest);
    indices.insert(indices.end(), row.indices.begin(), row.indices.end());
    row_ends.push_back(values.size());
  }
  std::vector<double> labels{data.labels().begin(), data.labels().end()};
  return data.is_sparse() ? Dataset::sparse(data.features(), std::move(row_ends), std::move(indices), std::move(values), std::move(labels))
                          : Dataset::dense(data.features(), std::move(values), std::move(labels));
}

}  // namespace

Dataset with_clipped_rows(const Dataset& data, Radius radius) { return clipped(data, radius, std::nullopt); }
Dataset with_clipped_rows(const Dataset& data, Radius radius, ConvexObjectiveRef objective) { return clipped(data, radius, objective); }

Grid gradient_grid(ClippingNorm clip) { return {.log2_step = std::ilogb(clip.value()) - 39}; }

double record_gradient_error(const GradientShape& shape, double norm) {
  const auto d = static_cast<double>(shape.features);
  const double row_norm = shape.row_norm.value();
  const double score = d * u * row_norm * norm + d * 0x1p-1074;
  const double derivative = shape.slope * score + shape.derivative_error;
  const double placing = shape.clip.value() * (2 * d + 60) * u + gradient_grid(shape.clip).step() * std::sqrt(d);
  return row_norm * derivative + placing;
}

}  // namespace surety::optimizers
