#include <surety/mechanisms/timing/noise_timing.h>

#include <algorithm>
#include <initializer_list>
#include <span>
#include <utility>

#include <surety/mechanisms/additive/scaled_noise.h>
#include <surety/mechanisms/bits/random_bits.h>
#include <surety/mechanisms/samplers/draw_ahead.h>
#include <surety/mechanisms/samplers/exact_rounding.h>
#include <surety/mechanisms/samplers/lattice_noise.h>

namespace surety::mechanisms {
namespace {

constexpr auto adjacency = Adjacency::add_or_remove_one;
const Grid whole_numbers{.log2_step = 0};
constexpr std::string_view draw_ahead = "draw_ahead";

/// A query of real numbers of sensitivity 1 has sensitivity 2 once it is rounded to whole numbers: the noise is half as large beside it.
constexpr double after_rounding_to_whole_numbers = 2;

template <class MakeLaw>
void add_releases(std::vector<NoiseTiming>& rows, std::string_view mechanism, std::string_view name, std::initializer_list<double> scales,
                  MakeLaw make) {
  for (const double scale : scales) {
    rows.push_back({mechanism, name, scale, [=](const TimingOptions& options) {
                      const AnyNoise noise{make(scale)};
                      SystemBits bits;
                      return check_timing(SingleReleases{noise, bits}, options);
                    }});
  }
}

template <class MakeLaw>
void add_releases(std::vector<NoiseTiming>& rows, std::string_view mechanism, std::initializer_list<double> scales, MakeLaw make) {
  add_releases(rows, mechanism, mechanism, scales, make);
}

/// Releases of `ScaledGaussian`, which is not among the laws that another language chooses from.
void add_scaled_gaussian(std::vector<NoiseTiming>& rows, std::initializer_list<double> scales) {
  for (const double scale : scales) {
    rows.push_back({"scaled_gaussian", "scaled_gaussian", scale, [=](const TimingOptions& options) {
                      const ScaledGaussian noise{{.multiplier = NoiseMultiplier{scale}, .grid = whole_numbers, .adjacency = adjacency}};
                      const GridVector zero{.grid = whole_numbers, .steps = {0}};
                      SystemBits bits;
                      return check_timing([&] { return noise.release(zero, L2Sensitivity{1}, bits).front(); }, options);
                    }});
  }
}

GeneralizedGaussianOnReals generalized_gaussian(double scale, std::uint64_t dimension) {
  return GeneralizedGaussianOnReals{{.r = NormExponent{3},
                                     .multiplier = NoiseMultiplier{scale / after_rounding_to_whole_numbers},
                                     .sensitivity = LrSensitivity{1},
                                     .grid = whole_numbers,
                                     .dimension = Count{dimension},
                                     .adjacency = adjacency}};
}

KNormOnReals k_norm(double scale, decltype(KNorm::Options::sensitivity) sensitivity, std::uint64_t dimension) {
  return KNormOnReals{{.scale = NoiseScale{scale / after_rounding_to_whole_numbers},
                       .sensitivity = sensitivity,
                       .grid = whole_numbers,
                       .dimension = Count{dimension},
                       .adjacency = adjacency}};
}

template <class MakeSampler>
void add_draw_ahead(std::vector<NoiseTiming>& rows, std::string_view name, MakeSampler make) {
  for (const std::uint64_t scale : {1U, 1000U}) {
    rows.push_back({draw_ahead, name, static_cast<double>(scale), [=](const TimingOptions& options) {
                      DrawAhead ahead{make(scale)};
                      SystemBits bits;
                      return check_timing([&] { return ahead(bits); }, options);
                    }});
  }
}

}  // namespace

SingleReleases::SingleReleases(const AnyNoise& noise, BitsRef bits) : noise_{noise}, bits_{bits} {
  if (noise.is_on_integers()) {
    values_.emplace<std::vector<std::int64_t>>(noise.dimension());
  } else {
    values_.emplace<std::vector<double>>(noise.dimension());
  }
}

double SingleReleases::operator()() {
  return std::visit(
      [this](auto& values) {
        std::fill(values.begin(), values.end(), 0);
        noise_.release_in_place(std::span{values}, bits_);
        // A search for the largest value would take a time that depends on the values.
        return static_cast<double>(values.front());
      },
      values_);
}

std::vector<NoiseTiming> noise_timings() {
  // Of noise for real numbers the largest is that of `grid_for`, the grid of who names no step.
  const std::initializer_list<double> of_integers{1, 1e3, 1e6};
  const std::initializer_list<double> of_reals{1, 1e3, 0x1p29};
  std::vector<NoiseTiming> rows;
  add_releases(rows, "discrete_gaussian", of_integers, [](double scale) {
    return DiscreteGaussian{{.sigma = NoiseScale{scale}, .sensitivity = CoordinateSensitivity{Count{1}}, .adjacency = adjacency}};
  });
  add_releases(rows, "discrete_laplace", of_integers, [](double scale) {
    return DiscreteLaplace{{.scale = NoiseScale{scale}, .sensitivity = L1Sensitivity{1}, .adjacency = adjacency}};
  });
  // Fewer flips have no magnitudes beyond the 95th percentile that most draws do not have.
  add_releases(rows, "binomial", {4, 1e3, 1e6}, [](double scale) {
    const auto flips = static_cast<std::uint64_t>(4 * scale * scale);
    return Binomial{{.flips = Count{flips}, .sensitivity = CoordinateSensitivity{Count{1}}, .adjacency = adjacency}};
  });
  add_releases(rows, "skellam", of_integers, [](double scale) {
    return Skellam{{.mean = PoissonMean{scale * scale / 2}, .sensitivity = CoordinateSensitivity{Count{1}}, .adjacency = adjacency}};
  });
  add_releases(rows, "truncated_geometric", of_integers, [](double scale) {
    // Far enough that the outer 1 % lies within.
    const auto end = static_cast<std::int64_t>(16 * scale);
    return TruncatedGeometric{{.scale = NoiseScale{scale}, .sensitivity = L1Sensitivity{1}, .range = {-end, end}, .adjacency = adjacency}};
  });
  add_releases(rows, "gaussian", of_reals, [](double scale) {
    return GaussianOnReals{{.multiplier = NoiseMultiplier{scale / after_rounding_to_whole_numbers},
                            .sensitivity = L2Sensitivity{1},
                            .grid = whole_numbers,
                            .dimension = 1,
                            .adjacency = adjacency}};
  });
  add_releases(rows, "laplace", of_reals, [](double scale) {
    return LaplaceOnReals{{.scale = NoiseScale{scale / after_rounding_to_whole_numbers},
                           .sensitivity = L1Sensitivity{1},
                           .grid = whole_numbers,
                           .dimension = 1,
                           .adjacency = adjacency}};
  });
  add_scaled_gaussian(rows, of_reals);
  // Of one value, and of eight.
  add_releases(rows, "generalized_gaussian", of_reals, [](double scale) { return generalized_gaussian(scale, 1); });
  add_releases(rows, "generalized_gaussian", "generalized_gaussian(8)", {1, 0x1p29},
               [](double scale) { return generalized_gaussian(scale, 8); });
  add_releases(rows, "k_norm", of_reals, [](double scale) { return k_norm(scale, L2Sensitivity{1}, 1); });
  add_releases(rows, "k_norm", "k_norm(l1, 8)", {1, 0x1p29}, [](double scale) { return k_norm(scale, L1Sensitivity{1}, 8); });
  add_releases(rows, "k_norm", "k_norm(l2, 8)", {1, 0x1p29}, [](double scale) { return k_norm(scale, L2Sensitivity{1}, 8); });
  add_releases(rows, "k_norm", "k_norm(linf, 8)", {1, 0x1p29}, [](double scale) { return k_norm(scale, LinfSensitivity{1}, 8); });
  add_draw_ahead(rows, "draw_ahead(discrete_gaussian)", [](std::uint64_t scale) {
    return DiscreteGaussianNoise{Rational{scale * scale, 1}};
  });
  add_draw_ahead(rows, "draw_ahead(discrete_laplace)", [](std::uint64_t scale) { return DiscreteLaplaceNoise{Rational{scale, 1}}; });
  add_draw_ahead(rows, "draw_ahead(gaussian)", [](std::uint64_t scale) { return RoundedGaussian{StepSigma{static_cast<double>(scale)}}; });
  return rows;
}

std::vector<std::string> timed_mechanisms() {
  std::vector<std::string> names;
  for (const auto& row : noise_timings()) {
    if (names.empty() || names.back() != row.mechanism) names.emplace_back(row.mechanism);
  }
  return names;
}

}  // namespace surety::mechanisms
