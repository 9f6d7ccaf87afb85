#include <surety/optimizers/empirical_risk/shaped_descent.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <numbers>
#include <numeric>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <Eigen/Eigenvalues>

#include <surety/base/text/error.h>
#include <surety/mechanisms/queries/second_moment_sum.h>
#include <surety/optimizers/doors/pure_noise.h>
#include <surety/optimizers/empirical_risk/full_gradient.h>
#include <surety/optimizers/empirical_risk/residual_clip.h>
#include <surety/optimizers/empirical_risk/row_products.h>
#include <surety/optimizers/empirical_risk/stein_shrinkage.h>
#include <surety/optimizers/problem/second_moment.h>

namespace surety::optimizers {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// With a residual clip: of what the matrix leaves of mu^2. Fitted with the constants of clip_of_residuals on made-up tables (docs/decisions/optimization.md).
constexpr double start_share = 0.045;
constexpr double counts_share = 0.035;
constexpr double intercept_share = 0.055;
// Of the mean label of two classes, likewise.
constexpr double class_share = 0.03;

bool releases_intercept(const ShapedDescentOptions& options) { return options.residual_clip && options.residual_clip->intercept; }

/// Of mu^2, for gradients.
double gradient_share(const ShapedDescentOptions& options) {
  double share = 1;
  if (options.residual_clip) share -= counts_share * (releases_intercept(options) ? 1 : 2);
  if (releases_intercept(options)) share -= start_share + intercept_share;
  if (options.starts_at_class_share) share -= class_share;
  return share * (1 - options.matrix_share.value());
}

/// D of gradients.
std::size_t gradient_numbers(std::size_t features, const ShapedDescentOptions& options) {
  return features * std::max<std::size_t>(1, options.class_weights.size());
}

/// One of the releases of a pure run: of this share of the whole epsilon.
PureRelease pure_release(const ShapedDescentOptions& options, double share, std::size_t numbers) {
  const double steps = static_cast<double>(steps_of(options));
  return {.scale = NoiseScale{options.noise_multiplier.value() * (gradient_share(options) / (share * steps))}, .numbers = numbers};
}
PureRelease pure_gradient(const ShapedDescentOptions& options, std::size_t features) {
  return {.scale = NoiseScale{options.noise_multiplier.value()}, .numbers = gradient_numbers(features, options)};
}

/// Of one release of so many numbers with this share of mu^2, or of the whole epsilon: of Gaussian noise, or of Gaussian noise as long as the pure noise.
NoiseMultiplier multiplier_of_share(const ShapedDescentOptions& options, double share, std::size_t numbers) {
  if (options.is_pure) return pure_release(options, share, numbers).multiplier();
  return NoiseMultiplier{options.noise_multiplier.value() *
                         std::sqrt(gradient_share(options) / (share * static_cast<double>(steps_of(options))))};
}
NoiseMultiplier gradient_multiplier(const ShapedDescentOptions& options, std::size_t features) {
  return options.is_pure ? pure_gradient(options, features).multiplier() : options.noise_multiplier;
}

/// Of what the matrix leaves.
double share_after_matrix(const ShapedDescentOptions& options, double share) { return share * (1 - options.matrix_share.value()); }
NoiseMultiplier multiplier_after_matrix(const ShapedDescentOptions& options, double share, std::size_t numbers) {
  return multiplier_of_share(options, share_after_matrix(options, share), numbers);
}

/// mu of a whole run with Gaussian noise of that length.
double mu_of(const ShapedDescentOptions& options, std::size_t features) {
  return std::sqrt(static_cast<double>(steps_of(options))) /
         (gradient_multiplier(options, features).value() * std::sqrt(gradient_share(options)));
}

/// Everything below is a function of what was released and of public numbers.
class Shape {
 public:
  /// \param matrix released, symmetric. \param operator_norm of its noise
  Shape(const std::vector<double>& matrix, std::size_t features, double operator_norm, Count records, double exponent)
      : size_{features}, operator_norm_{operator_norm}, records_{records}, count_{static_cast<double>(records.value())} {
    const double count = count_;
    const double entry_noise = operator_norm / std::sqrt(2 * static_cast<double>(features));
    last_moment_ = std::min((std::max(matrix.back(), 0.0) + 2 * entry_noise) / count, 1.0);
    const Eigen::Map<const Eigen::MatrixXd> map{matrix.data(), static_cast<Eigen::Index>(features), static_cast<Eigen::Index>(features)};
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver{map};
    const Eigen::VectorXd& values = solver.eigenvalues();
    for (std::size_t j = 0; j < features; ++j) {
      released_.push_back(values[static_cast<Eigen::Index>(j)]);
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
    products_.emplace(rows_, features);
  }

  /// n, or of records with weights about their sum.
  [[nodiscard]] Count records() const { return records_; }
  /// The mean square of the last feature, at most 1: two standard deviations of its noise more than was released, or than 0.
  [[nodiscard]] double last_moment() const { return last_moment_; }
  /// m_j
  [[nodiscard]] double scale(std::size_t j) const { return scales_[j]; }
  /// The curvature along u_j of a loss whose derivative has the Lipschitz constant 1.
  [[nodiscard]] double curvature(std::size_t j) const { return eigenvalues_[j] / (count_ * scales_[j]); }
  /// The same of the second moment without the noise that eigenvalues have: half of it, as in `squared_norm`.
  [[nodiscard]] double curvature_without_noise(std::size_t j) const {
    return (eigenvalues_[j] - operator_norm_ / 2) / (count_ * scales_[j]);
  }
  /// The same by an estimate of each direction's own second moment, which tells directions that rows hardly have from others: for additive noise of an
  /// orthogonally invariant law the mean of v^T A v, v an eigenvector of the released matrix, tends to e - (op^2 / 2 d) sum over k of 1 / (e - e_k).
  /// \source [BABP16] Section III; docs/proofs/shaped-descent.md#shrinkage
  [[nodiscard]] std::vector<double> estimated_curvatures() const {
    const auto d = static_cast<double>(size_);
    const double width = operator_norm_ / (2 * std::sqrt(d));  // of the kernel that takes the poles away
    std::vector<double> result(size_);
    double least = least_moment * operator_norm_;
    for (std::size_t j = 0; j < size_; ++j) {
      double sum = 0;
      for (const double other : released_) {
        const double gap = released_[j] - other;
        sum += gap / (gap * gap + width * width);
      }
      // Ascending, as eigenvalues are.
      least = std::max(least, released_[j] - operator_norm_ * operator_norm_ / (2 * d) * sum);
      result[j] = least / (count_ * scales_[j]);
    }
    return result;
  }
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
  void transform(std::span<const RowView> rows, std::span<double> z) const { products_->write(rows, z); }

  /// The last feature of a row as a linear function of z. What a weight on that feature alone is in the new coordinates, too.
  [[nodiscard]] std::vector<double> last_feature() const {
    std::vector<double> result(size_);
    for (std::size_t j = 0; j < size_; ++j) result[j] = rows_[(size_ - 1) * size_ + j] * scales_[j];
    return result;
  }

  /// What the weights of these features are as linear functions of u, one behind the other.
  [[nodiscard]] std::vector<double> rows_of(const std::vector<std::size_t>& features) const {
    std::vector<double> result;
    result.reserve(features.size() * size_);
    for (const std::size_t feature : features) {
      const double* const row = rows_.data() + feature * size_;
      result.insert(result.end(), row, row + size_);
    }
    return result;
  }

  [[nodiscard]] std::vector<double> weights(std::span<const double> shaped) const {
    std::vector<double> result(size_, 0.0);
    for (std::size_t k = 0; k < size_; ++k) {
      for (std::size_t j = 0; j < size_; ++j) result[k] += rows_[k * size_ + j] * shaped[j];
    }
    return result;
  }

 private:
  // Of the norm of the noise: no estimate of a second moment is smaller.
  static constexpr double least_moment = 0.02;

  std::size_t size_;
  double operator_norm_;
  Count records_;
  double count_;
  double last_moment_ = 1;
  std::vector<double> released_;     // eigenvalues of the released matrix, ascending
  std::vector<double> eigenvalues_;  // with negative ones as 0, plus the norm of the noise
  std::vector<double> scales_;
  std::vector<double> rows_;
  std::optional<RowProducts> products_;  // with rows_
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
  if (options.steps) return options.steps->value();
  if (options.regularization.value() > 0) return 15;
  return options.residual_clip ? 12 : 30;
}

namespace {

/// A kind of release of a run: how often, and of what share of mu^2 or of the whole epsilon.
struct Part {
  double share;
  std::size_t numbers;
  std::uint64_t times = 1;
  bool is_gradient = false;
};
/// In the order of the releases. \param features any number where only shares are needed
std::vector<Part> parts_of(const ShapedDescentOptions& options, std::size_t features) {
  const auto after = [&](double share) { return share_after_matrix(options, share); };
  std::vector<Part> parts{{options.matrix_share.value(), features * features}};
  if (releases_intercept(options)) parts.push_back({after(start_share), 1});
  if (options.starts_at_class_share) parts.push_back({after(class_share), 1});
  if (options.residual_clip) parts.push_back({after(counts_share), ResidualCounts::bins, releases_intercept(options) ? 1U : 2U});
  parts.push_back({gradient_share(options), gradient_numbers(features, options), steps_of(options), true});
  if (releases_intercept(options)) parts.push_back({after(intercept_share), 1});
  return parts;
}

}  // namespace

Event plan(const ShapedDescentOptions& options) {
  std::vector<Event> releases;
  for (const Part& part : parts_of(options, 1)) {
    const auto event_of = [&] {
      if (options.is_pure) {
        return (part.is_gradient ? pure_gradient(options, 1) : pure_release(options, part.share, part.numbers)).event(options.adjacency);
      }
      const NoiseMultiplier noise = part.is_gradient ? options.noise_multiplier : multiplier_of_share(options, part.share, part.numbers);
      return gaussian(noise, options.adjacency);
    };
    releases.push_back(part.times == 1 && !part.is_gradient ? event_of() : repeat(Count{part.times}, event_of()));
  }
  return compose(releases);
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
  if (options.starts_at_class_share && !options.class_weights.empty())
    invalid("a start at the class share is for two classes (got several)");
  if (options.shrinks && options.residual_clip) {
    invalid("shrinkage is for classes (got a residual clip)");
  }
  for (const std::size_t feature : options.curves) {
    if (feature >= data.features()) invalid(fmt::format("curve feature {} is not one of {} features", feature, data.features()));
  }
  if (options.starts_at_class_share && options.residual_clip) {
    invalid("a start at the class share and a residual clip cannot both be given; remove one");
  }
  if (options.constant_feature && !(*options.constant_feature > 0 && *options.constant_feature < infinity)) {
    invalid(fmt::format("the constant feature must be greater than 0 and finite (got {})", *options.constant_feature));
  }
  if (!options.residual_clip) return;
  if (!options.class_weights.empty()) invalid("a residual clip is for squared loss (got several classes)");
  if (options.derivative_bound) invalid("a residual clip and a derivative bound cannot both be given; remove one");
  if (const auto& intercept = options.residual_clip->intercept; intercept && !(*intercept > 0 && *intercept < infinity)) {
    invalid(fmt::format("the intercept of a residual clip must be greater than 0 and finite (got {})", *intercept));
  }
}

/// About the sum of the weights, as the released second moment shows: where the last feature is the same number in all rows, by its entry; else by the trace, which is
/// that sum for rows of unit norm. At least the size of its noise, and at most as many as there are records. \source docs/proofs/weights.md#shaped
Count released_weight(const std::vector<double>& matrix, std::size_t d, double sigma, const ShapedDescentOptions& options, Count records) {
  double weight = 0;
  double noise = sigma;
  if (options.constant_feature) {
    const double squared = *options.constant_feature * *options.constant_feature;
    weight = matrix.back() / squared;
    noise /= squared;
  } else {
    for (std::size_t j = 0; j < d; ++j) weight += matrix[j * d + j];
    noise *= std::sqrt(static_cast<double>(d));
  }
  const auto most = static_cast<double>(records.value());
  return Count{static_cast<std::uint64_t>(std::round(std::clamp(std::max(weight, noise), 1.0, most)))};
}

/// Releases the second moment of the rows.
Shape released_shape(const Dataset& data, const ShapedDescentOptions& options, Count records, Releaser& releaser) {
  const std::size_t d = data.features();
  const NoiseMultiplier matrix_noise = multiplier_of_share(options, options.matrix_share.value(), d * d);
  mechanisms::SecondMomentSum moments{
      {.clip = options.row_norm, .grid = mechanisms::second_moment_grid(options.row_norm, records, matrix_noise), .dimension = d}};
  add_second_moments(data, moments, options.threads, options.unit_ends);
  const L2Sensitivity moved = moments.sensitivity(options.adjacency);
  auto matrix = releaser.release(moments.sum(), moved, gaussian(matrix_noise, options.adjacency));
  symmetrize(d, matrix);
  const double sigma = matrix_noise.value() * moved.value();
  const Count weight = data.has_weights() ? released_weight(matrix, d, sigma, options, records) : records;
  return {matrix, d, noise_operator_norm(sigma, d), weight, options.shape.value()};
}

/// What the descent does along each u_j, and where gradients are clipped.
struct Descent {
  ClippingNorm clip;
  double ridge;                 ///< r
  std::vector<double> penalty;  ///< of regularization
  std::vector<double> step;
};

/// k
double clip_share_of(std::size_t d, double count, const ShapedDescentOptions& options) {
  if (options.clip_share) return *options.clip_share;
  if (options.residual_clip) return 1;
  const double unit = mechanisms::sensitivity_of_clipped_sum(ClippingNorm{1}, options.adjacency).value();
  return shaped_clip_share(static_cast<double>(d) * unit / (count * mu_of(options, d)));
}

/// \param smoothness of the loss in its score \param residual_bound R of a residual clip
Descent descent_in(const Shape& shape, std::size_t d, double count, ObjectiveRef objective, double smoothness,
                   const ShapedDescentOptions& options, std::optional<double> residual_bound) {
  const std::size_t classes = std::max<std::size_t>(1, options.class_weights.size());
  const bool is_softmax = classes > 1 && options.classes_by == ClassesBy::softmax;
  const bool is_regularized = options.regularization.value() > 0;
  const double mu = mu_of(options, d);
  const double unit = mechanisms::sensitivity_of_clipped_sum(ClippingNorm{1}, options.adjacency).value();
  const double share = clip_share_of(d, count, options);
  const double heaviest = classes == 1 ? 1 : *std::max_element(options.class_weights.begin(), options.class_weights.end());
  const double of_loss = classes == 1 || is_softmax ? heaviest : std::numbers::sqrt2 * heaviest;
  const double bound = residual_bound             ? *residual_bound
                       : options.derivative_bound ? *options.derivative_bound
                                                  : objective.gradient_bound(1) * of_loss;
  const ClippingNorm clip{bound * std::sqrt(share * shape.squared_norm())};
  const double noise = std::sqrt(static_cast<double>(d)) * (clip.value() / options.label_unit) * unit / (count * mu);
  const double ridge = (options.ridge ? options.ridge->value() : is_regularized ? 0 : 0.03) * noise;
  const double damping = std::max(ridge, (options.damping ? options.damping->value() : is_regularized ? 0 : 0.5) * noise);
  Descent found{clip, ridge, std::vector<double>(d), std::vector<double>(d)};
  for (std::size_t j = 0; j < d; ++j) {
    const double penalty = options.regularization.value() / shape.scale(j);
    found.penalty[j] = penalty;
    found.step[j] = 1 / (smoothness * heaviest * shape.curvature(j) + penalty + damping);
  }
  return found;
}

/// The mean position of the last steps, after accelerated ones: `descend` moves a position by one step.
/// \param turn is called with the position after the accelerated steps
template <class Descend, class Turn>
std::vector<double> mean_position(std::vector<double> position, const ShapedDescentOptions& options, const Descend& descend,
                                  const Turn& turn) {
  const std::uint64_t steps = steps_of(options);
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
      if (t == accelerated + 1) turn(position);
      descend(position);
      for (std::size_t j = 0; j < position.size(); ++j) sum[j] += position[j];
    }
    if (options.progress) options.progress(t);
  }
  for (double& value : sum) value /= static_cast<double>(steps - accelerated);
  return sum;
}

// Of beta: the mean curvature of the loss where predictions are not all near 1/2. Fitted (docs/decisions/optimization.md).
constexpr double mean_curvature = 0.5;

// Of the way to the minimum: of directions where a descent comes less far the estimate is too uncertain.
constexpr double least_reach = 0.05;

/// u shrunk towards `start` as the header says. \param noise the standard deviation of a coordinate of a released mean gradient
std::vector<double> shrunk(const std::vector<double>& u, const std::vector<double>& start, const Shape& shape, const Descent& descent,
                           double smoothness, double count, double noise, const ShapedDescentOptions& options) {
  const std::size_t d = descent.step.size();
  const std::size_t classes = u.size() / d;
  const bool has_curves = !options.curves.empty();
  const bool is_softmax = classes > 1 && options.classes_by == ClassesBy::softmax;
  // Of softmax with equal probabilities, along vectors without a common direction, which is taken from the noise, too.
  const double of_loss = is_softmax ? 1 / static_cast<double>(classes) : smoothness;
  if (is_softmax) noise *= std::sqrt(1 - 1 / static_cast<double>(classes));
  std::vector<double> curvature = has_curves ? shape.estimated_curvatures() : std::vector<double>(d);
  for (std::size_t j = 0; j < d; ++j)
    curvature[j] = mean_curvature * of_loss * (has_curves ? curvature[j] : shape.curvature_without_noise(j));
  ShapedDescentOptions quiet = options;
  quiet.progress = {};
  const std::uint64_t steps = steps_of(options);
  // The mean position of a descent on the quadratic of these curvatures with the minimum `at` in each coordinate, and one unit of noise in one gradient.
  const auto quadratic = [&](double at, std::uint64_t noisy) {
    std::uint64_t step = 0;
    const auto descend = [&](std::vector<double>& from) {
      const double unit = step++ == noisy ? 1 : 0;
      for (std::size_t j = 0; j < d; ++j)
        from[j] -= descent.step[j] * (curvature[j] * (from[j] - at) + unit + (descent.ridge + descent.penalty[j]) * from[j]);
    };
    return mean_position(std::vector<double>(d), quiet, descend, [](const auto& /*position*/) {});
  };
  std::vector<double> variance(d);
  for (std::uint64_t noisy = 0; noisy < steps; ++noisy) {
    const auto moved = quadratic(0, noisy);
    for (std::size_t j = 0; j < d; ++j) variance[j] += noise * noise * moved[j] * moved[j];
  }
  for (std::size_t j = 0; j < d; ++j) variance[j] += curvature[j] / (count * std::pow(curvature[j] + descent.ridge, 2));
  std::vector<double> reach(d, 1.0);
  if (has_curves) {
    reach = quadratic(1, steps);
    for (double& value : reach) value = std::clamp(value, least_reach, 1.0);
  }
  std::vector<double> result(u.size());
  for (std::size_t j = 0; j < u.size(); ++j) result[j] = u[j] - start[j];
  result = shrunk_by_stein(result, {.curvature = std::move(curvature),
                                    .variance = std::move(variance),
                                    .reach = std::move(reach),
                                    .ridge = descent.ridge,
                                    .curves = shape.rows_of(options.curves)});
  for (std::size_t j = 0; j < u.size(); ++j) result[j] += start[j];
  return result;
}

/// Of one run with a residual clip: what it releases besides the matrix and the gradients.
class Residuals {
 public:
  /// Releases the mean label, where the intercept is constant, and the counts of residuals.
  Residuals(const Dataset& data, const ShapedDescentOptions& options, double count, Releaser& releaser)
      : options_{options},
        shared_{.label_bound = options.residual_clip->label_bound,
                .adjacency = options.adjacency,
                .count = count,
                .unit_ends = options.unit_ends,
                .threads = options.threads},
        intercept_{options.residual_clip->intercept.value_or(1)},
        start_(data.features(), 0.0) {
    if (releases_intercept(options)) {
      std::vector<double> last(data.features(), 0.0);
      last.back() = 1 / intercept_;
      const double bound = shared_.label_bound.value();
      const double mean = release_mean_residual(data, {.score = start_, .intercept = last}, ClippingNorm{bound}, shared_,
                                                multiplier_after_matrix(options, start_share, 1), releaser);
      start_.back() = std::clamp(mean, -bound, bound) / intercept_;
    }
    count_again(data, start_, releaser);
  }

  /// Releases the counts of the residuals of another score.
  void count_again(const Dataset& data, std::span<const double> score, Releaser& releaser) {
    counts_ =
        release_residual_counts(data, score, shared_, multiplier_after_matrix(options_, counts_share, ResidualCounts::bins), releaser);
  }
  /// The weight of the last feature where the descent begins.
  [[nodiscard]] double start() const { return start_.back(); }
  /// R of gradients. The noise is that of the mean of the last half of them in a prediction.
  [[nodiscard]] double clip(const Shape& shape) const {
    constexpr double of_gradients = 0.5;
    const auto d = static_cast<double>(start_.size());
    const double length = std::sqrt(d * clip_share_of(start_.size(), shared_.count, options_) * shape.squared_norm());
    const double noise = length * unit() / (shared_.count * mu_of(options_, start_.size()) * std::sqrt(gradient_share(options_) / 2));
    return clip_of_residuals(*counts_, noise, of_gradients).value();
  }
  /// What is added to the weight of the last feature at the end: releases the mean residual of `score`.
  /// \param last that feature as a function of the rows of `data`
  [[nodiscard]] double correction(const Dataset& data, std::span<const double> score, std::vector<double> last, Releaser& releaser) const {
    for (double& value : last) value /= intercept_;
    const NoiseMultiplier noise = multiplier_after_matrix(options_, intercept_share, 1);
    const ClippingNorm clip = clip_of_residuals(*counts_, noise.value() * unit() / shared_.count, 1);
    const double mean = release_mean_residual(data, {.score = score, .intercept = last}, clip, shared_, noise, releaser);
    return std::clamp(mean, -clip.value(), clip.value()) / intercept_;  // beyond the clip it is noise
  }

 private:
  [[nodiscard]] double unit() const { return mechanisms::sensitivity_of_clipped_sum(ClippingNorm{1}, options_.adjacency).value(); }

  const ShapedDescentOptions& options_;
  ResidualOptions shared_;
  double intercept_;
  std::vector<double> start_;  // weights
  std::optional<ResidualCounts> counts_;
};

/// The weight of the last feature with which a model says the share of the class that is released here.
double released_start(const Dataset& data, const ShapedDescentOptions& options, const Shape& shape, double count, Releaser& releaser) {
  const std::vector<double> zero(data.features(), 0.0);
  std::vector<double> last = zero;
  last.back() = 0x1p60;  // clamped to 1 in every row but those of damaged records
  const NoiseMultiplier noise = multiplier_after_matrix(options, class_share, 1);
  const ResidualOptions shared{.label_bound = LabelBound{1},
                               .adjacency = options.adjacency,
                               .count = count,
                               .unit_ends = options.unit_ends,
                               .threads = options.threads};
  const double released = release_mean_residual(data, {.score = zero, .intercept = last}, ClippingNorm{1}, shared, noise, releaser);
  const double unit = mechanisms::sensitivity_of_clipped_sum(ClippingNorm{1}, options.adjacency).value();
  // Towards 0, where the descent would begin otherwise, by what the noise may hide: too long a start costs more than too short a one.
  const double hidden = std::max(noise.value() * unit, 1.0) / count;
  const double size = std::clamp(std::abs(released) - hidden, 0.0, std::max(0.0, 1 - 2 * hidden));
  const double mean = std::copysign(size, released);
  return std::log((1 + mean) / (1 - mean)) / std::sqrt(shape.last_moment());
}

}  // namespace

namespace {

/// The releases of a pure run, as those of Gaussian noise that the parts of the algorithm request.
PureReleaser pure_releaser(Releaser& inner, const ShapedDescentOptions& options, std::size_t features) {
  std::vector<PureRelease> releases;
  for (const auto& part : parts_of(options, features)) {
    releases.push_back(part.is_gradient ? pure_gradient(options, features) : pure_release(options, part.share, part.numbers));
  }
  return {inner, options.adjacency, std::move(releases)};
}

}  // namespace

ShapedDescentResult shaped_descent(Dataset data, ObjectiveRef objective, const ShapedDescentOptions& options, Releaser& at) {
  require_usable(data, options);
  std::optional<PureReleaser> of_pure;
  if (options.is_pure) of_pure.emplace(pure_releaser(at, options, data.features()));
  Releaser& releaser = of_pure ? *of_pure : at;
  const std::size_t d = data.features();
  const std::size_t classes = std::max<std::size_t>(1, options.class_weights.size());
  const bool is_softmax = classes > 1 && options.classes_by == ClassesBy::softmax;
  // Before anything is released.
  const double smoothness = is_softmax ? softmax_smoothness : require_smoothness(objective, 1, "shaped descent");
  const Count all = options.public_count ? *options.public_count : Count{units_in(data, options.unit_ends)};
  const Shape shape = released_shape(data, options, all, releaser);
  const Count records = shape.records();
  const auto count = static_cast<double>(records.value());
  std::optional<Residuals> residuals;
  if (options.residual_clip) residuals.emplace(data, options, count, releaser);
  const double class_start = options.starts_at_class_share ? released_start(data, options, shape, count, releaser) : 0;

  // The same numbers either way: dense rows in memory change once, others each time that they are read.
  const bool is_mapped = data.file() == nullptr && !data.is_sparse();
  RowMap map = [&shape](std::span<const RowView> rows, std::span<double> z) { shape.transform(rows, z); };
  if (is_mapped) data.map_rows(std::exchange(map, {}));
  // A gradient with a clip of its own, and the steps that follow from it.
  struct Phase {
    Descent descent;
    NoisyFullGradient gradient_at;
  };
  const auto phase_of = [&](std::optional<double> residual_bound) {
    Descent descent = descent_in(shape, d, count, objective, smoothness, options, residual_bound);
    NoisyFullGradient gradient_at{data,
                                  objective,
                                  {.noise_multiplier = gradient_multiplier(options, d),
                                   .adjacency = options.adjacency,
                                   .clip = descent.clip,
                                   .public_count = records,
                                   .threads = options.threads,
                                   .unit_ends = options.unit_ends,
                                   .class_weights = options.class_weights,
                                   .classes_by = options.classes_by,
                                   .row_map = map},
                                  releaser};
    return std::make_unique<Phase>(Phase{std::move(descent), std::move(gradient_at)});
  };
  auto phase = phase_of(residuals ? std::optional{residuals->clip(shape)} : std::nullopt);
  std::vector<double> start(classes * d, 0.0);
  if (residuals || options.starts_at_class_share) {
    start = shape.last_feature();
    for (double& value : start) value *= residuals ? residuals->start() : class_start;
  }
  const auto descend = [&](std::vector<double>& from) {
    auto gradient = phase->gradient_at(from);
    if (is_softmax) take_what_is_common(gradient, d);
    const auto& [clip, ridge, penalty, step] = phase->descent;
    for (std::size_t j = 0; j < from.size(); ++j) {
      from[j] -= step[j % d] * (gradient[j] + ridge * (from[j] - start[j]) + penalty[j % d] * from[j]);
    }
  };
  const auto weights_of = [&](std::span<const double> position) {
    std::vector<double> weights;
    for (std::size_t c = 0; c < classes; ++c) {
      const auto of_class = shape.weights(position.subspan(c * d, d));
      weights.insert(weights.end(), of_class.begin(), of_class.end());
    }
    return weights;
  };
  const auto turn = [&](const std::vector<double>& position) {
    if (!residuals || releases_intercept(options)) return;
    residuals->count_again(data, is_mapped ? position : weights_of(position), releaser);
    phase = phase_of(residuals->clip(shape));
  };
  auto mean = mean_position(start, options, descend, turn);
  if (options.shrinks) mean = shrunk(mean, start, shape, phase->descent, smoothness, count, phase->gradient_at.noise(), options);
  ShapedDescentResult result{.weights = weights_of(mean)};
  if (releases_intercept(options)) {
    std::vector<double> last(d, 0.0);
    last.back() = 1;
    result.weights.back() += is_mapped ? residuals->correction(data, mean, shape.last_feature(), releaser)
                                       : residuals->correction(data, result.weights, last, releaser);
  }
  return result;
}

}  // namespace surety::optimizers
