#include "noises.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include <surety/accounting/events/event.h>
#include <surety/base/system/thread_key.h>
#include <surety/base/text/error.h>
#include <surety/mechanisms/additive/binomial.h>
#include <surety/mechanisms/additive/discrete_gaussian.h>
#include <surety/mechanisms/additive/discrete_laplace.h>
#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/additive/laplace.h>
#include <surety/mechanisms/additive/lp_noise.h>
#include <surety/mechanisms/additive/skellam.h>
#include <surety/mechanisms/additive/truncated_geometric.h>
#include <surety/mechanisms/bits/random_bits.h>

#include "arguments.h"
#include "texts.h"

namespace surety::python {
namespace {

/// Of each thread its own, which starts anew after a fork. \throws std::bad_alloc
mechanisms::SystemBits& bits_of_thread() {
  static ThreadKey key{[](void* bits) { delete static_cast<mechanisms::SystemBits*>(bits); }};
  if (void* const known = key.get()) return *static_cast<mechanisms::SystemBits*>(known);
  auto made = std::make_unique<mechanisms::SystemBits>();
  if (!key.set(made.get())) throw std::bad_alloc{};
  return *made.release();
}

/// A power of two as a grid.
Grid grid_of(double step) {
  int exponent = 0;
  if (!(step > 0) || !is_finite(step) || std::frexp(step, &exponent) != 0.5) refuse_quantity("step", step, "a power of two");
  return Grid{.log2_step = exponent - 1};
}

/// The grid that is asked for, or one for doubles.
Grid grid_asked(double scale, double sensitivity, std::optional<double> step) {
  return step ? grid_of(*step) : mechanisms::grid_for(L2Sensitivity{sensitivity}, NoiseMultiplier{scale});
}

Noise gaussian_noise(double multiplier, double sensitivity, std::size_t dimension, std::optional<double> step,
                     const std::string& adjacency) {
  return unlocked([&] {
    const NoiseMultiplier ratio{multiplier};
    const L2Sensitivity moved{sensitivity};
    return Noise{mechanisms::GaussianOnReals{{.multiplier = ratio,
                                              .sensitivity = moved,
                                              .grid = grid_asked(multiplier, sensitivity, step),
                                              .dimension = dimension,
                                              .adjacency = parse_adjacency(adjacency)}}};
  });
}
Noise laplace_noise(double scale, double sensitivity, std::size_t dimension, std::optional<double> step, const std::string& adjacency) {
  return unlocked([&] {
    return Noise{mechanisms::LaplaceOnReals{{.scale = NoiseScale{scale},
                                             .sensitivity = L1Sensitivity{sensitivity},
                                             .grid = grid_asked(scale, sensitivity, step),
                                             .dimension = dimension,
                                             .adjacency = parse_adjacency(adjacency)}}};
  });
}
Noise discrete_gaussian_noise(double sigma, std::variant<mechanisms::CoordinateSensitivity, L2Sensitivity> sensitivity,
                              const std::string& adjacency) {
  return unlocked([&] {
    return Noise{
        mechanisms::DiscreteGaussian{{.sigma = NoiseScale{sigma}, .sensitivity = sensitivity, .adjacency = parse_adjacency(adjacency)}}};
  });
}
Noise discrete_laplace_noise(double scale, double sensitivity, const std::string& adjacency) {
  return unlocked([&] {
    return Noise{mechanisms::DiscreteLaplace{
        {.scale = NoiseScale{scale}, .sensitivity = L1Sensitivity{sensitivity}, .adjacency = parse_adjacency(adjacency)}}};
  });
}

std::variant<L1Sensitivity, L2Sensitivity, LinfSensitivity> sensitivity_in(NormName norm, double value) {
  switch (norm) {
    case NormName::l1: return L1Sensitivity{value};
    case NormName::l2: return L2Sensitivity{value};
    case NormName::linf: return LinfSensitivity{value};
  }
  throw Error{ErrorCode::internal, "a norm without a sensitivity"};
}
Noise k_norm_noise(double scale, const std::string& norm, double sensitivity, nb::handle dimension, std::optional<double> step,
                   const std::string& adjacency) {
  const Count coordinates = count_of(dimension, "dimension");
  return unlocked([&] {
    return Noise{mechanisms::KNormOnReals{{.scale = NoiseScale{scale},
                                           .sensitivity = sensitivity_in(parse_norm(norm), sensitivity),
                                           .grid = grid_asked(scale, sensitivity, step),
                                           .dimension = coordinates,
                                           .adjacency = parse_adjacency(adjacency)}}};
  });
}
Noise generalized_gaussian_noise(double multiplier, double r, double sensitivity, nb::handle dimension, std::optional<double> step,
                                 const std::string& adjacency) {
  const Count coordinates = count_of(dimension, "dimension");
  return unlocked([&] {
    return Noise{mechanisms::GeneralizedGaussianOnReals{{.r = NormExponent{r},
                                                         .multiplier = NoiseMultiplier{multiplier},
                                                         .sensitivity = LrSensitivity{sensitivity},
                                                         .grid = grid_asked(multiplier, sensitivity, step),
                                                         .dimension = coordinates,
                                                         .adjacency = parse_adjacency(adjacency)}}};
  });
}
Noise binomial_noise(nb::handle flips, nb::handle sensitivity, const std::string& adjacency) {
  const Count many = count_of(flips, "flips");
  const mechanisms::CoordinateSensitivity moved{count_of(sensitivity, "sensitivity")};
  return unlocked(
      [&] { return Noise{mechanisms::Binomial{{.flips = many, .sensitivity = moved, .adjacency = parse_adjacency(adjacency)}}}; });
}
Noise skellam_noise(double mean, nb::handle sensitivity, const std::string& adjacency) {
  const mechanisms::CoordinateSensitivity moved{count_of(sensitivity, "sensitivity")};
  return unlocked([&] {
    return Noise{mechanisms::Skellam{{.mean = PoissonMean{mean}, .sensitivity = moved, .adjacency = parse_adjacency(adjacency)}}};
  });
}
Noise truncated_geometric_noise(double scale, double sensitivity, std::int64_t lowest, std::int64_t highest, const std::string& adjacency) {
  return unlocked([&] {
    return Noise{mechanisms::TruncatedGeometric{{.scale = NoiseScale{scale},
                                                 .sensitivity = L1Sensitivity{sensitivity},
                                                 .range = mechanisms::IntegerRange{lowest, highest},
                                                 .adjacency = parse_adjacency(adjacency)}}};
  });
}

/// The type of the values that a release has, as a word for people.
const char* wanted_type(const Noise& noise) {
  return noise.is_on_integers() ? "one of int64 for noise on integers" : "one of float64 or float32 for noise on real numbers";
}

/// `work(values)` with the values of a type that the noise is for. A TypeError for others.
template <class Work>
void with_values(const Noise& noise, const Block& block, const char* name, const Work& work) {
  if (noise.is_on_integers()) {
    if (const auto values = block.of<std::int64_t>()) return work(*values);
  } else {
    if (const auto values = block.of<double>()) return work(*values);
    if (const auto values = block.of<float>()) return work(*values);
  }
  const char* const found = noise.is_on_integers() ? "floats" : "int64";
  PyErr_SetString(PyExc_TypeError, (std::string{name} + " is an array of " + found + ", must be " + wanted_type(noise)).c_str());
  python_error();
}

/// What is said before a release of noise alone.
void spend_nothing(const Noise& noise) { static_cast<void>(noise); }

/// As numpy/random/bitgen.h has it, for ever.
struct NumpyBits {
  void* state;
  std::uint64_t (*next_uint64)(void*);
  std::uint32_t (*next_uint32)(void*);
  double (*next_double)(void*);
  std::uint64_t (*next_raw)(void*);
};

/// NumPy has no way to be told that there are no bits, and predictable ones would be worse than none.
std::uint64_t next_word(void* /*state*/) noexcept {
  try {
    return mechanisms::draw_word(bits_of_thread());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "surety: %s\n", error.what());
    std::abort();
  }
}
std::uint32_t next_half(void* state) noexcept { return static_cast<std::uint32_t>(next_word(state) >> 32); }
double next_double(void* state) noexcept { return static_cast<double>(next_word(state) >> 11) * 0x1p-53; }

/// Makes a generator's capsule draw from the secure bits. Nothing is kept: the bits belong to the thread that draws.
void draw_from_secure_bits(nb::handle capsule) {
  auto* const bits = static_cast<NumpyBits*>(PyCapsule_GetPointer(capsule.ptr(), "BitGenerator"));
  if (bits == nullptr) python_error();
  unlocked([] { bits_of_thread(); });
  *bits = {.state = nullptr, .next_uint64 = next_word, .next_uint32 = next_half, .next_double = next_double, .next_raw = next_word};
}

}  // namespace

void release_in_place(const Noise& noise, nb::handle array, const Spend& spend) {
  const Block block{array, "values"};
  with_values(noise, block, "values", [&](auto values) {
    using Value = typename decltype(values)::element_type;
    noise.require_release_of<Value>(values.size());
    spend(noise);
    unlocked([&] { noise.release_in_place(values, bits_of_thread()); });
  });
}

void release_sum(const Noise& noise, nb::handle rows, double clip, nb::handle into, const Spend& spend) {
  const Block block{rows, "rows", Block::Use::read};
  const Block result{into, "sum"};
  with_values(noise, block, "rows", [&](auto values) {
    using Row = typename decltype(values)::element_type;
    using Value = std::conditional_t<std::is_same_v<Row, std::int64_t>, std::int64_t, double>;
    const auto sum = result.of<Value>();
    if (!sum) throw Error{ErrorCode::internal, "the sum is of another type than the rows"};
    auto added = noise.sum_of_rows(ClippingNorm{clip}, sum->size());
    unlocked([&] {
      for (std::size_t first = 0; first + sum->size() <= values.size(); first += sum->size()) {
        added.add(std::span<const Row>{values}.subspan(first, sum->size()));
      }
    });
    spend(noise);
    unlocked([&] {
      const auto released = noise.template release<Value>(added, bits_of_thread());
      std::copy(released.begin(), released.end(), sum->begin());
    });
  });
}

using namespace nb::literals;

void add_noises(nb::module_& module) {
  nb::class_<Noise>(module, "Noise", nb::is_final())
      .def("event", &Noise::event)
      .def("scale_and_step",
           [](const Noise& noise) {
             return std::pair{noise.scale(), noise.grid().step()};
           })
      .def("is_on_integers", &Noise::is_on_integers)
      .def(
          "add_to", [](const Noise& noise, nb::handle values) { release_in_place(noise, values, spend_nothing); }, "values"_a)
      .def(
          "release_sum",
          [](const Noise& noise, nb::handle rows, double clip, nb::handle sum) { release_sum(noise, rows, clip, sum, spend_nothing); },
          "rows"_a, "clip"_a, "sum"_a);
  module.def("gaussian_noise", &gaussian_noise, "multiplier"_a, "sensitivity"_a, "dimension"_a, "step"_a.none(), "adjacency"_a);
  module.def("laplace_noise", &laplace_noise, "scale"_a, "sensitivity"_a, "dimension"_a, "step"_a.none(), "adjacency"_a);
  module.def(
      "discrete_gaussian_noise",
      [](double sigma, nb::handle sensitivity, const std::string& adjacency) {
        return discrete_gaussian_noise(sigma, mechanisms::CoordinateSensitivity{count_of(sensitivity, "sensitivity")}, adjacency);
      },
      "sigma"_a, "sensitivity"_a, "adjacency"_a);
  module.def(
      "discrete_gaussian_noise_of_vectors",
      [](double sigma, double l2_sensitivity, const std::string& adjacency) {
        return discrete_gaussian_noise(sigma, L2Sensitivity{l2_sensitivity}, adjacency);
      },
      "sigma"_a, "l2_sensitivity"_a, "adjacency"_a);
  module.def("discrete_laplace_noise", &discrete_laplace_noise, "scale"_a, "sensitivity"_a, "adjacency"_a);
  module.def("binomial_noise", &binomial_noise, "flips"_a, "sensitivity"_a, "adjacency"_a);
  module.def("skellam_noise", &skellam_noise, "mean"_a, "sensitivity"_a, "adjacency"_a);
  module.def("k_norm_noise", &k_norm_noise, "scale"_a, "norm"_a, "sensitivity"_a, "dimension"_a, "step"_a.none(), "adjacency"_a);
  module.def("generalized_gaussian_noise", &generalized_gaussian_noise, "multiplier"_a, "r"_a, "sensitivity"_a, "dimension"_a,
             "step"_a.none(), "adjacency"_a);
  module.def("truncated_geometric_noise", &truncated_geometric_noise, "scale"_a, "sensitivity"_a, "lowest"_a, "highest"_a, "adjacency"_a);
  module.def("draw_from_secure_bits", &draw_from_secure_bits, "capsule"_a);
}

}  // namespace surety::python
