#include <surety/mechanisms/additive/any_noise.h>

#include <cmath>
#include <string_view>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include <surety/base/text/error.h>
#include <surety/mechanisms/samplers/grid_noise.h>

namespace surety::mechanisms {
namespace {

template <class Law>
constexpr bool is_on_reals = requires(const Law& law) {
  law.rounded();
};

Grid grid_of(const GaussianOnReals& law) { return law.options().grid; }
Grid grid_of(const LaplaceOnReals& law) { return law.options().grid; }
template <class Mechanism>
Grid grid_of(const VectorOnReals<Mechanism>& law) {
  return law.rounded().grid();
}

std::size_t dimension_of(const GaussianOnReals& law) { return law.options().dimension; }
std::size_t dimension_of(const LaplaceOnReals& law) { return law.options().dimension; }
template <class Mechanism>
std::size_t dimension_of(const VectorOnReals<Mechanism>& law) {
  return law.rounded().dimension();
}

double scale_of(const GaussianOnReals& law) { return law.sigma(); }
double scale_of(const LaplaceOnReals& law) { return law.scale(); }
double scale_of(const KNormOnReals& law) {
  const auto& options = law.rounded().options();
  return options.scale.value() * std::visit([](const auto& moved) { return moved.value(); }, options.sensitivity);
}
double scale_of(const GeneralizedGaussianOnReals& law) {
  const auto& options = law.rounded().options();
  return options.multiplier.value() * options.sensitivity.value();
}
double scale_of(const DiscreteGaussian& law) { return law.sigma(); }
double scale_of(const DiscreteLaplace& law) { return law.scale(); }
double scale_of(const TruncatedGeometric& law) { return law.scale(); }
double scale_of(const Binomial& law) { return std::sqrt(static_cast<double>(law.options().flips.value())) / 2; }
double scale_of(const Skellam& law) { return std::sqrt(2 * law.options().mean.value()); }

/// How wide the noise on one coordinate is, in steps: for `require_floats`. Steps are powers of two, so the quotients are exact.
double width_in_steps(const GaussianOnReals& law) { return law.sigma() / law.options().grid.step(); }
double width_in_steps(const LaplaceOnReals& law) { return law.scale() / law.options().grid.step(); }
template <class Mechanism>
double width_in_steps(const VectorOnReals<Mechanism>& law) {
  return law.rounded().coordinate_in_steps();
}

/// By how much the noise lets one record move a sum, and in which norm.
struct Allowance {
  std::variant<NormName, NormExponent> norm;
  double sensitivity;
  Adjacency adjacency;
};
Allowance allowance_of(const GaussianOnReals& law) { return {NormName::l2, law.options().sensitivity.value(), law.options().adjacency}; }
Allowance allowance_of(const LaplaceOnReals& law) { return {NormName::l1, law.options().sensitivity.value(), law.options().adjacency}; }
Allowance allowance_of(const KNormOnReals& law) {
  const auto& options = law.rounded().options();
  return {law.rounded().norm(), std::visit([](const auto& moved) { return moved.value(); }, options.sensitivity), options.adjacency};
}
Allowance allowance_of(const GeneralizedGaussianOnReals& law) {
  const auto& options = law.rounded().options();
  return {options.r, options.sensitivity.value(), options.adjacency};
}
Allowance allowance_along_one(CoordinateSensitivity sensitivity, Adjacency adjacency) {
  return {NormName::linf, static_cast<double>(sensitivity.value().value()), adjacency};
}
Allowance allowance_of(const DiscreteGaussian& law) {
  const auto& options = law.options();
  if (const auto* const moved = std::get_if<L2Sensitivity>(&options.sensitivity)) return {NormName::l2, moved->value(), options.adjacency};
  return allowance_along_one(std::get<CoordinateSensitivity>(options.sensitivity), options.adjacency);
}
Allowance allowance_of(const Binomial& law) { return allowance_along_one(law.options().sensitivity, law.options().adjacency); }
Allowance allowance_of(const Skellam& law) { return allowance_along_one(law.options().sensitivity, law.options().adjacency); }
Allowance allowance_of(const DiscreteLaplace& law) { return {NormName::l1, law.options().sensitivity.value(), law.options().adjacency}; }
Allowance allowance_of(const TruncatedGeometric& law) { return {NormName::l1, law.options().sensitivity.value(), law.options().adjacency}; }

/// The noise covers a record that moves one coordinate, not more.
template <class Law>
bool is_along_one(const Law& law) {
  if constexpr (std::is_same_v<Law, DiscreteGaussian>) return std::holds_alternative<CoordinateSensitivity>(law.options().sensitivity);
  return std::is_same_v<Law, Binomial> || std::is_same_v<Law, Skellam>;
}

/// Refuses rows of another length than a law sums.
template <class Law>
void require_columns(const Law& law, std::size_t columns) {
  if constexpr (is_on_reals<Law>) {
    if (columns != dimension_of(law)) {
      invalid(fmt::format("rows have {} numbers, must have {} for this noise", columns, dimension_of(law)));
    }
  } else if (columns != 1 && is_along_one(law)) {
    invalid(fmt::format("rows have {} numbers, must have 1 for noise whose sensitivity is along one coordinate", columns));
  }
}

void require_clip(const Allowance& allowed, ClippingNorm clip) {
  const double most = allowed.adjacency == Adjacency::replace_one ? allowed.sensitivity / 2 : allowed.sensitivity;
  if (clip.value() <= most) return;
  invalid(fmt::format("clip is {}, must be at most {}: one record would move the sum by more than the noise's sensitivity", clip.value(),
                      most));
}

template <class Value>
constexpr std::string_view name_of_type = std::is_same_v<Value, double>  ? "double"
                                          : std::is_same_v<Value, float> ? "float"
                                                                         : "int64";

}  // namespace

AnyNoise::AnyNoise(Law law) : law_{std::move(law)} {}

Event AnyNoise::event() const {
  return std::visit([](const auto& law) { return Event{law.event()}; }, law_);
}

Grid AnyNoise::grid() const {
  return std::visit(
      [](const auto& law) {
        if constexpr (is_on_reals<std::decay_t<decltype(law)>>) {
          return grid_of(law);
        } else {
          return Grid{.log2_step = 0};
        }
      },
      law_);
}

std::size_t AnyNoise::dimension() const {
  return std::visit(
      [](const auto& law) -> std::size_t {
        if constexpr (is_on_reals<std::decay_t<decltype(law)>>) {
          return dimension_of(law);
        } else {
          return 1;
        }
      },
      law_);
}

double AnyNoise::scale() const {
  return std::visit([](const auto& law) { return scale_of(law); }, law_);
}

bool AnyNoise::is_on_integers() const noexcept {
  return std::visit([](const auto& law) { return !is_on_reals<std::decay_t<decltype(law)>>; }, law_);
}

template <class Value>
void AnyNoise::require_release_of(std::size_t count) const {
  constexpr bool integers = std::is_same_v<Value, std::int64_t>;
  if (integers && !is_on_integers()) invalid("noise on a grid of reals is asked for integers, must be asked for doubles or floats");
  if (!integers && is_on_integers()) invalid("noise on integers is asked for real numbers, must be asked for int64 values");
  std::visit(
      [count](const auto& law) {
        if constexpr (is_on_reals<std::decay_t<decltype(law)>>) {
          require_dimension(count, dimension_of(law));
          if constexpr (std::is_same_v<Value, float>) require_floats(grid_of(law), width_in_steps(law));
        }
      },
      law_);
}

template <class Value>
void AnyNoise::release_in_place(std::span<Value> values, BitsRef bits) const {
  require_release_of<Value>(values.size());
  std::visit(
      [&](const auto& law) {
        if constexpr (is_on_reals<std::decay_t<decltype(law)>> != std::is_same_v<Value, std::int64_t>) law.release_in_place(values, bits);
      },
      law_);
}

ClippedSum AnyNoise::sum_of_rows(ClippingNorm clip, std::size_t columns) const {
  return std::visit(
      [&](const auto& law) {
        require_columns(law, columns);
        const Allowance allowed = allowance_of(law);
        require_clip(allowed, clip);
        return ClippedSum{{.norm = allowed.norm, .clip = clip, .grid = grid(), .dimension = columns}};
      },
      law_);
}

template <class Value>
std::vector<Value> AnyNoise::release(const ClippedSum& sum, BitsRef bits) const {
  constexpr bool integers = std::is_same_v<Value, std::int64_t>;
  if (integers != is_on_integers()) {
    invalid(fmt::format("a sum of type {} is asked for, must be {} for this noise", name_of_type<Value>, integers ? "double" : "int64"));
  }
  const auto& made = sum.options();
  return std::visit(
      [&](const auto& law) -> std::vector<Value> {
        const Allowance allowed = allowance_of(law);
        require_columns(law, made.dimension);
        require_clip(allowed, made.clip);
        if (made.norm != allowed.norm)
          invalid("the rows of the sum are clipped in another norm than that of the noise, must be in the same");
        require_same_grid(made.grid, grid());
        if constexpr (is_on_reals<std::decay_t<decltype(law)>>) {
          if constexpr (std::is_same_v<Value, double>) return law.rounded().release(sum.sum(), bits);
        } else if constexpr (integers) {
          auto values = sum.sum().steps;
          law.release_in_place(values, bits);
          return values;
        }
        throw Error{ErrorCode::internal, "noise of a type that it is not"};
      },
      law_);
}

template void AnyNoise::require_release_of<double>(std::size_t) const;
template void AnyNoise::require_release_of<float>(std::size_t) const;
template void AnyNoise::require_release_of<std::int64_t>(std::size_t) const;
template void AnyNoise::release_in_place<double>(std::span<double>, BitsRef) const;
template void AnyNoise::release_in_place<float>(std::span<float>, BitsRef) const;
template void AnyNoise::release_in_place<std::int64_t>(std::span<std::int64_t>, BitsRef) const;
template std::vector<double> AnyNoise::release<double>(const ClippedSum&, BitsRef) const;
template std::vector<std::int64_t> AnyNoise::release<std::int64_t>(const ClippedSum&, BitsRef) const;

}  // namespace surety::mechanisms
