#include <surety/accounting/calibration/accuracy.h>

#include <cmath>
#include <numbers>
#include <string_view>
#include <variant>

#include <fmt/format.h>

#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/format.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/rounding.h>

namespace surety {
namespace {

/// A kind of release whose noise one number says.
struct NoiseKind {
  std::string_view field;
  double (*deviation)(double value);  ///< of that number, over the sensitivity or in steps of the integers
  double (*value)(double deviation);  ///< the inverse
  bool is_on_integers;
};

double itself(double x) { return x; }

constexpr double root_of_two = std::numbers::sqrt2;

constexpr NoiseKind gaussian_noise{"noise_multiplier", itself, itself, false};
constexpr NoiseKind laplace_noise{"scale", [](double b) { return root_of_two * b; }, [](double s) { return s / root_of_two; }, false};

/// Nothing for releases whose noise is not one of these.
struct NoiseKindOf {
  std::optional<NoiseKind> operator()(const Event::Gaussian&) const { return gaussian_noise; }
  std::optional<NoiseKind> operator()(const Event::RecordSum&) const { return gaussian_noise; }
  std::optional<NoiseKind> operator()(const Event::Laplace&) const { return laplace_noise; }
  std::optional<NoiseKind> operator()(const Event::LaplaceRecordSum&) const { return laplace_noise; }
  std::optional<NoiseKind> operator()(const Event::DiscreteGaussian&) const { return NoiseKind{"sigma", itself, itself, true}; }
  /// The variance is 1 / (2 sinh(1 / (2 b))^2).
  std::optional<NoiseKind> operator()(const Event::DiscreteLaplace&) const {
    return NoiseKind{"scale", [](double b) { return 1 / (root_of_two * std::sinh(0.5 / b)); },
                     [](double s) { return 0.5 / std::asinh(1 / (root_of_two * s)); }, true};
  }
  std::optional<NoiseKind> operator()(const Event::Binomial&) const {
    return NoiseKind{"flips", [](double n) { return 0.5 * std::sqrt(n); },
                     [](double s) { return std::floor(std::nextafter(4 * s * s, infinity)); }, true};
  }
  std::optional<NoiseKind> operator()(const Event::Skellam&) const {
    return NoiseKind{"poisson_mean", [](double mean) { return std::sqrt(2 * mean); }, [](double s) { return s * s / 2; }, true};
  }
  template <class Other>
  std::optional<NoiseKind> operator()(const Other&) const {
    return std::nullopt;
  }
};

}  // namespace

NoiseOfAccuracy noise_of(const EventOfNumber& event, const Accuracy& accuracy) {
  const StandardFloatingPoint environment;
  static_cast<void>(parameter_of(event));  // which refuses a name that is nowhere, or stands for what no number is
  const Event trial = event(1);
  std::optional<NoiseKind> kind;
  std::string_view word;
  for (const auto& use : event.uses()) {
    const Event& release = event_at(trial, use);
    const auto found = std::visit(NoiseKindOf{}, release.node());
    const auto said = std::visit([](const auto& node) { return std::string_view{node.word}; }, release.node());
    if (!found || found->field != use.field) {
      throw Error{
          ErrorCode::invalid_argument,
          fmt::format(
              "the name '{}' stands for the {} of {}, must stand for the noise of gaussian, record_sum, laplace, laplace_record_sum, "
              "discrete_gaussian, discrete_laplace, binomial or skellam",
              event.name(), use.field, said)};
    }
    if (kind && said != word) {
      throw Error{ErrorCode::invalid_argument,
                  fmt::format("the name '{}' stands for the noise of {} and of {}, must stand for that of one kind of release",
                              event.name(), word, said)};
    }
    kind = found;
    word = said;
  }
  if (!kind) throw Error{ErrorCode::internal, "a number that is in no release"};
  if (kind->is_on_integers && accuracy.sensitivity) {
    throw Error{ErrorCode::invalid_argument, fmt::format("sensitivity is given, must be left out: {} names its own", word)};
  }
  const double unit = accuracy.sensitivity ? accuracy.sensitivity->value() : 1;
  const double wanted = accuracy.standard_deviation.value() / unit;
  const double value = kind->value(wanted);
  if (!(value > 0 && is_finite(value))) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("standard deviation is {:g} over the sensitivity, which no noise of {} has", wanted, word)};
  }
  return {value, event(value), kind->deviation(value) * unit};
}

}  // namespace surety
