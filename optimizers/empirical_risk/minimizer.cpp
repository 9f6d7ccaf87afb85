#include <surety/optimizers/empirical_risk/minimizer.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <surety/accounting/events/format.h>
#include <surety/base/text/error.h>
#include <surety/mechanisms/queries/record_sum.h>
#include <surety/optimizers/problem/gradient_sum.h>
#include <surety/optimizers/problem/problem.h>

namespace surety::optimizers {

namespace {

constexpr double u = 0x1p-53;
/// Covers the rounding errors of the bounds below, which are sums and products of a few positive numbers.
constexpr double upward = 1.01;

/// The minimiser has at most this norm, and so does the way to it from 0.
double minimizer_norm(const MinimumShape& shape) {
  return upward * (shape.total_weight * shape.clip.value() + shape.linear_norm) / shape.lambda.value();
}

/// At least the norm of every iterate of the slow method.
double iterate_norm(const MinimumShape& shape) { return 3 * minimizer_norm(shape); }

/// ||computed gradient - gradient||_2 at weights of norm at most `norm`.
double gradient_error(const MinimumShape& shape, double norm) {
  const GradientShape of_record{.features = shape.features,
                                .clip = shape.clip,
                                .row_norm = shape.row_norm,
                                .slope = shape.slope,
                                .derivative_error = shape.derivative_error};
  const double largest = shape.total_weight * shape.clip.value() + shape.lambda.value() * norm + shape.linear_norm;
  return upward * (shape.total_weight * record_gradient_error(of_record, norm) + 8 * u * largest);
}

double smoothness(const MinimumShape& shape) {
  return upward * (shape.total_weight * shape.slope * shape.row_norm.value() * shape.row_norm.value() + shape.lambda.value());
}

/// The rounding errors of one step w - g / smoothness, times the smoothness: as if of the gradient.
double step_error(const MinimumShape& shape) {
  const double norm = iterate_norm(shape);
  return upward * 4 * u *
         (smoothness(shape) * norm + shape.total_weight * shape.clip.value() + shape.lambda.value() * norm + shape.linear_norm);
}

double all_errors(const MinimumShape& shape) { return gradient_error(shape, iterate_norm(shape)) + step_error(shape); }

/// What a gradient of this norm, or the slow method, certifies: lambda times the distance.
double tolerance(const MinimumShape& shape) { return 4 * all_errors(shape); }

}  // namespace

double MinimumShape::score_bound() const { return iterate_norm(*this) * row_norm.value() * upward; }

MinimumShape minimum_shape(ConvexObjectiveRef objective, double total_weight, ClippingNorm clip, Radius row_norm, Regularization lambda,
                           double linear_norm, std::size_t features) {
  MinimumShape shape{.total_weight = total_weight,
                     .clip = clip,
                     .row_norm = row_norm,
                     .lambda = lambda,
                     .linear_norm = linear_norm,
                     .features = features,
                     .slope = require_smoothness(objective, 1, "the certificate of a minimum"),
                     .derivative_error = 0};
  shape.derivative_error = objective.monotone_derivative_error(shape.score_bound());
  return shape;
}

double minimum_distance(const MinimumShape& shape) {
  if (!(shape.lambda.value() > 0)) {
    throw Error{ErrorCode::invalid_argument, fmt::format("regularization is {}, must be greater than 0", shape.lambda)};
  }
  const double distance = upward * tolerance(shape) / shape.lambda.value();
  const double largest = 0.01 * minimizer_norm(shape);
  if (!(distance <= largest)) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("rounding errors move the minimum by up to {}, must be at most {}: the regularization {} is too small",
                            distance, largest, shape.lambda)};
  }
  return distance;
}

namespace detail {

std::vector<double> minimize(const MinimumShape& shape,
                             const std::function<void(std::span<const double> weights, std::span<double> gradient)>& gradient,
                             std::optional<std::uint64_t> fast_steps) {
  const double enough = tolerance(shape);
  const double lambda = shape.lambda.value();
  const double step = 1 / smoothness(shape);
  std::vector<double> weights(shape.features, 0.0);
  std::vector<double> at(shape.features);

  // Accelerated, restarted where it goes uphill. It ends where the gradient certifies that it may.
  const double root = std::sqrt(lambda * step);
  const double momentum = (1 - root) / (1 + root);
  std::vector<double> ahead = weights;
  const std::uint64_t most = fast_steps ? *fast_steps : static_cast<std::uint64_t>(std::min(0x1p60, 1000 + 100 / root));
  for (std::uint64_t done = 0; done < most; ++done) {
    gradient(ahead, at);
    const double norm = upward * mechanisms::l2_norm(ahead);
    if (norm <= iterate_norm(shape) && upward * mechanisms::l2_norm(at) + gradient_error(shape, norm) <= enough) return ahead;
    double uphill = 0;
    for (std::size_t j = 0; j < weights.size(); ++j) {
      const double next = ahead[j] - step * at[j];
      const double move = next - weights[j];
      uphill += at[j] * move;
      weights[j] = next;
      ahead[j] = next + momentum * move;
    }
    if (uphill > 0) ahead = weights;
  }

  // Gradient descent from 0: each step shrinks the distance to the minimiser by 1 - lambda step, up to errors.
  std::fill(weights.begin(), weights.end(), 0.0);
  const double steps = std::ceil(upward * std::log(std::max(2.0, minimizer_norm(shape) * lambda / all_errors(shape))) / (lambda * step));
  for (double done = 0; done < steps; ++done) {
    gradient(weights, at);
    for (std::size_t j = 0; j < weights.size(); ++j) weights[j] -= step * at[j];
  }
  return weights;
}

}  // namespace detail

std::vector<double> minimize(const Dataset& data, ConvexObjectiveRef objective, double weight, std::span<const double> linear,
                             const MinimumShape& shape, const MinimizeOptions& options) {
  mechanisms::RecordSum sum{{.clip = shape.clip, .grid = gradient_grid(shape.clip), .dimension = data.features()}};
  return detail::minimize(
      shape,
      [&](std::span<const double> weights, std::span<double> gradient) {
        sum.clear();
        add_gradients(data, objective, weights, sum, options.threads);
        const std::vector<double> total = sum.reals();
        for (std::size_t j = 0; j < gradient.size(); ++j) {
          gradient[j] = weight * total[j] + shape.lambda.value() * weights[j] + (linear.empty() ? 0 : linear[j]);
        }
      },
      options.fast_steps);
}

}  // namespace surety::optimizers
