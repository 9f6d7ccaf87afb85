#include <surety/optimizers/empirical_risk/shaped_descent.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <numeric>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <Eigen/Eigenvalues>

#include <surety/base/numbers/vectorized.h>
#include <surety/base/text/error.h>
#include <surety/mechanisms/queries/second_moment_sum.h>
#include <surety/optimizers/empirical_risk/full_gradient.h>
#include <surety/optimizers/problem/second_moment.h>

namespace surety::optimizers {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

NoiseMultiplier matrix_multiplier(const ShapedDescentOptions& options) {
  const double share = options.matrix_share.value();
  return NoiseMultiplier{options.noise_multiplier.value() * std::sqrt((1 - share) / (share * static_cast<double>(steps_of(options))))};
}

constexpr std::size_t products_together = 4;

/// Writes the products of so many rows of `size` numbers with a square matrix, one after the other. Each number is the sum that one row alone would have,
/// in the same order: several only share what is read of the matrix.
SURETY_VECTORIZED void write_products(const std::array<const double*, products_together>& values, const double* matrix, std::size_t size,
                                      double* products) {
  using Four = double __attribute__((vector_size(4 * sizeof(double))));
  std::size_t j = 0;
  for (; j + 8 <= size; j += 8) {
    Four left[products_together] = {};   // NOLINT: as arrays of the library these do not stay in registers
    Four right[products_together] = {};  // NOLINT
    for (std::size_t k = 0; k < size; ++k) {
      Four of_left;
      Four of_right;
      std::memcpy(&of_left, matrix + k * size + j, sizeof of_left);
      std::memcpy(&of_right, matrix + k * size + j + 4, sizeof of_right);
      for (std::size_t r = 0; r < products_together; ++r) {
        left[r] += values[r][k] * of_left;
        right[r] += values[r][k] * of_right;
      }
    }
    for (std::size_t r = 0; r < products_together; ++r) {
      std::memcpy(products + r * size + j, &left[r], sizeof left[r]);
      std::memcpy(products + r * size + j + 4, &right[r], sizeof right[r]);
    }
  }
  for (; j < size; ++j) {
    for (std::size_t r = 0; r < products_together; ++r) {
      double sum = 0;
      for (std::size_t k = 0; k < size; ++k) sum += values[r][k] * matrix[k * size + j];
      products[r * size + j] = sum;
    }
  }
}

/// Everything below is a function of what was released and of public numbers.
class Shape {
 public:
  /// \param matrix released, symmetric. \param operator_norm of its noise
  Shape(const std::vector<double>& matrix, std::size_t features, double operator_norm, double count, double exponent)
      : size_{features}, operator_norm_{operator_norm}, count_{count} {
    const Eigen::Map<const Eigen::MatrixXd> map{matrix.data(), static_cast<Eigen::Index>(features), static_cast<Eigen::Index>(features)};
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver{map};
    const Eigen::VectorXd& values = solver.eigenvalues();
    for (std::size_t j = 0; j < features; ++j) {
      eigenvalues_.push_back(std::max(values[static_cast<Eigen::Index>(j)], 0.0) + operator_norm);
      scales_.push_back(std::pow(eigenvalues_.back() / count, exponent));
    }
    // Column j of a row's product with this is coordinate j of z.
    rows_.resize(features * features);
    for (std::size_t k = 0; k < features; ++k) {
      for (std::size_t j = 0; j < features; ++j) {
        rows_[k * features + j] = solver.eigenvectors()(static_cast<Eigen::Index>(k), static_cast<Eigen::Index>(j)) / std::sqrt(scales_[j]);
      }
    }
  }

  /// m_j
  [[nodiscard]] double scale(std::size_t j) const { return scales_[j]; }
  /// The curvature along u_j of a loss whose derivative has the Lipschitz constant 1.
  [[nodiscard]] double curvature(std::size_t j) const { return eigenvalues_[j] / (count_ * scales_[j]); }
  /// About the mean of |z|^2, or its largest value for a row of norm 1, whichever is less.
  [[nodiscard]] double squared_norm() const {
    double mean = 0;
    double most = 0;
    for (std::size_t j = 0; j < size_; ++j) {
      mean += (eigenvalues_[j] - operator_norm_ / 2) / (count_ * scales_[j]);
      most = std::max(most, 1 / scales_[j]);
    }
    return std::min(mean, most);
  }

  /// z of each row, which depends on that row and on what was released alone. \pre z is zeros
  void transform(std::span<const RowView> rows, std::span<double> z) const {
    const auto is_full = [&](const RowView& row) { return !row.is_sparse() && row.values.size() == size_; };
    for (std::size_t i = 0; i < rows.size();) {
      const auto next = rows.subspan(i);
      if (next.size() >= products_together && std::all_of(next.begin(), next.begin() + products_together, is_full)) {
        std::array<const double*, products_together> values;
        for (std::size_t r = 0; r < products_together; ++r) values[r] = next[r].values.data();
        write_products(values, rows_.data(), size_, &z[i * size_]);
        i += products_together;
      } else {
        add_product(rows[i], z.subspan(i * size_, size_));
        ++i;
      }
    }
  }

  [[nodiscard]] std::vector<double> weights(std::span<const double> shaped) const {
    std::vector<double> result(size_, 0.0);
    for (std::size_t k = 0; k < size_; ++k) {
      for (std::size_t j = 0; j < size_; ++j) result[k] += rows_[k * size_ + j] * shaped[j];
    }
    return result;
  }

 private:
  void add_product(const RowView& row, std::span<double> z) const {
    for (std::size_t k = 0; k < row.values.size(); ++k) {
      const std::size_t feature = row.is_sparse() ? row.indices[k] : k;
      const double value = row.values[k];
      const double* const column = rows_.data() + feature * size_;
      if (value == 0) continue;
      for (std::size_t j = 0; j < size_; ++j) z[j] += value * column[j];
    }
  }

  std::size_t size_;
  double operator_norm_;
  double count_;
  std::vector<double> eigenvalues_;
  std::vector<double> scales_;
  std::vector<double> rows_;
};

}  // namespace

namespace {

/// Of the derivative of -log p in K scores, along any direction: what the variance of numbers between -1 / sqrt 2 and 1 / sqrt 2 is at most.
constexpr double softmax_smoothness = 0.5;

/// Takes from each of K vectors of d numbers, one behind the other, their mean.
void take_what_is_common(std::span<double> gradient, std::size_t d) {
  const std::size_t classes = gradient.size() / d;
  for (std::size_t j = 0; j < d; ++j) {
    double sum = 0;
    for (std::size_t k = 0; k < classes; ++k) sum += gradient[k * d + j];
    for (std::size_t k = 0; k < classes; ++k) gradient[k * d + j] -= sum / static_cast<double>(classes);
  }
}

}  // namespace

void require_shapeable(std::size_t features) {
  if (features > most_shaped_features) {
    invalid(fmt::format("the number of features is {}, must be at most {} for their second moment", features, most_shaped_features));
  }
}

double shaped_clip_share(double nu) { return std::clamp(0.6 * std::pow(nu / 0.01, -0.4), 0.3, 1.0); }

std::uint64_t steps_of(const ShapedDescentOptions& options) {
  return options.steps ? options.steps->value() : options.regularization.value() > 0 ? 15 : 30;
}

Event plan(const ShapedDescentOptions& options) {
  return compose({gaussian(matrix_multiplier(options), options.adjacency),
                  repeat(Count{steps_of(options)}, gaussian(options.noise_multiplier, options.adjacency))});
}

namespace {

/// \throws Error{invalid_argument} for data and options of no run.
void require_usable(const Dataset& data, const ShapedDescentOptions& options) {
  if (!data.has_labels()) invalid("a gradient needs labels, the data set has none");
  require_shapeable(data.features());
  if (options.clip_share && !(*options.clip_share > 0 && *options.clip_share <= 1)) {
    invalid(fmt::format("the clip share is {}, must be greater than 0 and at most 1", *options.clip_share));
  }
  if (!options.public_count && options.adjacency == Adjacency::add_or_remove_one) {
    invalid("under add-or-remove-one the number of records is private: give a public count to divide by");
  }
  for (const double weight : options.class_weights) {
    if (!(weight > 0 && weight < infinity)) invalid(fmt::format("a class weight is {}, must be greater than 0 and finite", weight));
  }
  if (!(options.label_unit > 0 && options.label_unit < infinity)) {
    invalid(fmt::format("the unit of labels is {}, must be greater than 0 and finite", options.label_unit));
  }
}

/// Releases the second moment of the rows.
Shape released_shape(const Dataset& data, const ShapedDescentOptions& options, Count records, Releaser& releaser) {
  const std::size_t d = data.features();
  const NoiseMultiplier matrix_noise = matrix_multiplier(options);
  mechanisms::SecondMomentSum moments{
      {.clip = options.row_norm, .grid = mechanisms::second_moment_grid(options.row_norm, records, matrix_noise), .dimension = d}};
  add_second_moments(data, moments, options.threads, options.unit_ends);
  const L2Sensitivity moved = moments.sensitivity(options.adjacency);
  auto matrix = releaser.release(moments.sum(), moved, gaussian(matrix_noise, options.adjacency));
  symmetrize(d, matrix);
  return {matrix, d, noise_operator_norm(matrix_noise.value() * moved.value(), d), static_cast<double>(records.value()),
          options.shape.value()};
}

/// What the descent does along each u_j, and where gradients are clipped.
struct Descent {
  ClippingNorm clip;
  std::vector<double> pull;  ///< by penalties
  std::vector<double> step;
};

/// \param smoothness of the loss in its score
Descent descent_in(const Shape& shape, std::size_t d, double count, ObjectiveRef objective, double smoothness,
                   const ShapedDescentOptions& options) {
  const std::size_t classes = std::max<std::size_t>(1, options.class_weights.size());
  const bool is_softmax = classes > 1 && options.classes_by == ClassesBy::softmax;
  const bool is_regularized = options.regularization.value() > 0;
  const double mu =
      std::sqrt(static_cast<double>(steps_of(options))) / (options.noise_multiplier.value() * std::sqrt(1 - options.matrix_share.value()));
  const double unit = mechanisms::sensitivity_of_clipped_sum(ClippingNorm{1}, options.adjacency).value();
  const double nu = static_cast<double>(d) * unit / (count * mu);
  const double share = options.clip_share.value_or(shaped_clip_share(nu));
  const double heaviest = classes == 1 ? 1 : *std::max_element(options.class_weights.begin(), options.class_weights.end());
  const double of_loss = classes == 1 || is_softmax ? heaviest : std::numbers::sqrt2 * heaviest;
  const double bound = options.derivative_bound.value_or(objective.gradient_bound(1) * of_loss);
  const ClippingNorm clip{bound * std::sqrt(share * shape.squared_norm())};
  const double noise = std::sqrt(static_cast<double>(d)) * (clip.value() / options.label_unit) * unit / (count * mu);
  const double ridge = (options.ridge ? options.ridge->value() : is_regularized ? 0 : 0.03) * noise;
  const double damping = std::max(ridge, (options.damping ? options.damping->value() : is_regularized ? 0 : 0.5) * noise);
  Descent found{clip, std::vector<double>(d), std::vector<double>(d)};
  for (std::size_t j = 0; j < d; ++j) {
    const double penalty = options.regularization.value() / shape.scale(j);
    found.pull[j] = ridge + penalty;
    found.step[j] = 1 / (smoothness * heaviest * shape.curvature(j) + penalty + damping);
  }
  return found;
}

/// The mean position of the last steps, after accelerated ones: `descend` moves a position by one step.
template <class Descend>
std::vector<double> mean_position(std::size_t size, const ShapedDescentOptions& options, const Descend& descend) {
  const std::uint64_t steps = steps_of(options);
  std::vector<double> position(size, 0.0);
  std::vector<double> ahead = position;
  std::vector<double> sum(position.size(), 0.0);
  const std::uint64_t accelerated = options.regularization.value() > 0 ? steps / 2 : steps * 8 / 15;
  double k = 1;
  for (std::uint64_t t = 1; t <= steps; ++t) {
    if (t <= accelerated) {
      descend(ahead);
      const double next = (1 + std::sqrt(1 + 4 * k * k)) / 2;
      for (std::size_t j = 0; j < position.size(); ++j) {
        const double previous = std::exchange(position[j], ahead[j]);
        ahead[j] += (k - 1) / next * (position[j] - previous);
      }
      k = next;
    } else {
      descend(position);
      for (std::size_t j = 0; j < position.size(); ++j) sum[j] += position[j];
    }
    if (options.progress) options.progress(t);
  }
  for (double& value : sum) value /= static_cast<double>(steps - accelerated);
  return sum;
}

}  // namespace

ShapedDescentResult shaped_descent(Dataset data, ObjectiveRef objective, const ShapedDescentOptions& options, Releaser& releaser) {
  require_usable(data, options);
  const std::size_t d = data.features();
  const std::size_t classes = std::max<std::size_t>(1, options.class_weights.size());
  const bool is_softmax = classes > 1 && options.classes_by == ClassesBy::softmax;
  const Count records = options.public_count ? *options.public_count : Count{units_in(data, options.unit_ends)};
  // Before anything is released.
  const double smoothness = is_softmax ? softmax_smoothness : require_smoothness(objective, 1, "shaped descent");
  const Shape shape = released_shape(data, options, records, releaser);
  const Descent descent = descent_in(shape, d, static_cast<double>(records.value()), objective, smoothness, options);

  // The same numbers either way: dense rows in memory change once, others each time that they are read.
  RowMap map = [&shape](std::span<const RowView> rows, std::span<double> z) { shape.transform(rows, z); };
  if (data.file() == nullptr && !data.is_sparse()) data.map_rows(std::exchange(map, {}));
  NoisyFullGradient gradient_at{data,
                                objective,
                                {.noise_multiplier = options.noise_multiplier,
                                 .adjacency = options.adjacency,
                                 .clip = descent.clip,
                                 .public_count = records,
                                 .threads = options.threads,
                                 .unit_ends = options.unit_ends,
                                 .class_weights = options.class_weights,
                                 .classes_by = options.classes_by,
                                 .row_map = map},
                                releaser};
  const auto descend = [&](std::vector<double>& from) {
    auto gradient = gradient_at(from);
    if (is_softmax) take_what_is_common(gradient, d);
    for (std::size_t j = 0; j < from.size(); ++j) from[j] -= descent.step[j % d] * (gradient[j] + descent.pull[j % d] * from[j]);
  };
  const auto sum = mean_position(classes * d, options, descend);
  ShapedDescentResult result;
  for (std::size_t c = 0; c < classes; ++c) {
    const auto weights = shape.weights(std::span{sum}.subspan(c * d, d));
    result.weights.insert(result.weights.end(), weights.begin(), weights.end());
  }
  return result;
}

}  // namespace surety::optimizers
