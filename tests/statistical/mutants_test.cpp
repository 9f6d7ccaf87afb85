// Planted mutants: wrong samplers, each of which some statistic has to find.
//
// `found_from` is the number of samples from which the deviation is found with probability 0.999 (docs/proofs/statistical-power.md); with
// so many the test demands it, with fewer it only says what was seen. At n = 2e8 (scripts/statistics) every mutant has to be found.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <surety/mechanisms/samplers/exact_rounding.h>
#include <surety/mechanisms/samplers/lattice_noise.h>

#include <support/lattice.h>

namespace surety::statistical {

/// ReplayBits in which one bit of every word is stuck at 1.
struct StuckBits {
  mechanisms::ReplayBits bits;
  unsigned place;

  void fill(std::span<std::byte> bytes) {
    bits.fill(bytes);
    for (std::size_t i = place / 8; i < bytes.size(); i += 8) bytes[i] |= static_cast<std::byte>(1U << place % 8);
  }
};

/// ReplayBits each of whose buffers is handed out twice.
struct ReusingBits {
  mechanisms::ReplayBits bits;
  std::array<std::byte, 4096> buffer{};
  std::size_t next = 4096;
  bool is_second = true;

  void fill(std::span<std::byte> bytes) {
    for (auto& byte : bytes) {
      if (next == buffer.size()) {
        is_second = !is_second;
        if (!is_second) bits.fill(buffer);
        next = 0;
      }
      byte = buffer[next++];
    }
  }
};

}  // namespace surety::statistical

// False promises, which only a mutant may make.
template <>
inline constexpr bool surety::is_cryptographic<surety::statistical::StuckBits> = true;
template <>
inline constexpr bool surety::is_cryptographic<surety::statistical::ReusingBits> = true;

namespace surety::statistical::mutants_test {
namespace {

using mechanisms::BinomialNoise;
using mechanisms::DiscreteGaussianNoise;
using mechanisms::DiscreteLaplaceNoise;
using mechanisms::draw_word;
using mechanisms::draw_words;
using mechanisms::GeometricNoise;
using mechanisms::LatticeNoise;
using mechanisms::Rational;
using mechanisms::ReplayBits;
using mechanisms::RoundedGaussian;
using mechanisms::RoundedLaplace;
using mechanisms::SkellamNoise;

struct Mutant {
  std::string name;
  LatticeLaw law;
  double found_from;
  std::function<Fill(std::int64_t)> make;  ///< for a number of samples
};

ReplayBits stream(const std::string& name) { return ReplayBits{seed}.substream(name); }

/// Samples of a sampler as they are.
std::function<Fill(std::int64_t)> samples_of(const LatticeNoise& sampler, const std::string& name) {
  return [=](std::int64_t) {
    auto bits = std::make_shared<ReplayBits>(stream(name));
    return [=](Samples samples) { sampler.fill(samples, *bits); };
  };
}

/// Right samples, each mutated with the help of a fresh random word.
std::function<Fill(std::int64_t)> mutated(const LatticeNoise& sampler, const std::string& name,
                                          const std::function<void(Samples, std::span<const std::uint64_t>)>& mutation) {
  return [=](std::int64_t) {
    auto bits = std::make_shared<ReplayBits>(stream(name));
    auto others = std::make_shared<ReplayBits>(stream(name + ", mutation"));
    auto words = std::make_shared<std::vector<std::uint64_t>>();
    return [=](Samples samples) {
      sampler.fill(samples, *bits);
      words->resize(samples.size());
      draw_words(*others, std::span{*words});
      mutation(samples, *words);
    };
  };
}

std::function<Fill(std::int64_t)> each(const LatticeNoise& sampler, const std::string& name,
                                       const std::function<std::int64_t(std::int64_t, std::uint64_t)>& mutation) {
  return mutated(sampler, name, [=](Samples samples, std::span<const std::uint64_t> words) {
    for (std::size_t i = 0; i < samples.size(); ++i) samples[i] = mutation(samples[i], words[i]);
  });
}

std::uint64_t chance(double p) { return static_cast<std::uint64_t>(p * 0x1p64); }

void add_gaussian_mutants(std::vector<Mutant>& all, double sigma) {
  const auto law = rounded_gaussian(sigma);
  const RoundedGaussian right{StepSigma{sigma}};
  const auto add = [&](const std::string& what, double found_from, const auto& make) {
    const std::string name = what + ", " + law.name;
    all.push_back({name, law, found_from, make(name)});
  };
  add("scale + 0.2 %", 2e7, [&](const auto& name) { return samples_of(RoundedGaussian{StepSigma{1.002 * sigma}}, name); });
  add("scale - 0.2 %", 2e7, [&](const auto& name) { return samples_of(RoundedGaussian{StepSigma{0.998 * sigma}}, name); });
  add("mean + 0.002 sigma", 4e7, [&](const auto& name) {
    // The whole part of the shift is added always, its fraction as often as it says.
    const double shift = 0.002 * sigma;
    const auto whole = static_cast<std::int64_t>(shift);
    const auto fraction = chance(shift - std::floor(shift));
    return each(right, name, [=](std::int64_t k, std::uint64_t word) { return k + whole + (word < fraction ? 1 : 0); });
  });
  add("truncated at 5 sigma", 1e8, [&](const auto& name) {
    const auto limit = static_cast<std::int64_t>(5 * sigma);
    return each(right, name, [=](std::int64_t k, std::uint64_t) { return std::clamp(k, -limit, limit); });
  });
  add("sign bias 2^-8", 1e7, [&](const auto& name) {
    return each(right, name, [](std::int64_t k, std::uint64_t word) { return word >> 56 == 0 ? std::abs(k) : k; });
  });
  add("low-bit bias 0.5 %", 1e7, [&](const auto& name) {
    const auto rarely = chance(0.01);  // half of them are odd anyway
    return each(right, name, [=](std::int64_t k, std::uint64_t word) { return word < rarely ? k | 1 : k; });
  });
  add("bit 3 of samples stuck", 1e5,
      [&](const auto& name) { return each(right, name, [](std::int64_t k, std::uint64_t) { return k | 8; }); });
  add("tail 1.5 times heavier beyond 4 sigma", 1.5e7, [&](const auto& name) {
    // After half of the samples of the tail, the next one is from the tail too, with a fresh sign.
    return mutated(right, name, [=](Samples samples, std::span<const std::uint64_t> words) {
      for (std::size_t i = 0; i + 1 < samples.size(); ++i) {
        if (std::abs(static_cast<double>(samples[i])) <= 4 * sigma || (words[i] & 1) != 0) continue;
        samples[i + 1] = (words[i] & 2) != 0 ? samples[i] : -samples[i];
        ++i;
      }
    });
  });
  add("a neighbour's sign, once in 128", 1e7, [&](const auto& name) {
    return mutated(right, name, [](Samples samples, std::span<const std::uint64_t> words) {
      for (std::size_t i = 1; i < samples.size(); i += 2) {
        if (words[i] >> 57 == 0) samples[i] = samples[i - 1] < 0 ? -std::abs(samples[i]) : std::abs(samples[i]);
      }
    });
  });
  add("a stuck bit in the random words", 1e7, [&](const auto&) {
    return [=](std::int64_t) -> Fill {
      auto bits = std::make_shared<StuckBits>(StuckBits{stream("stuck"), 56});
      return [=](Samples samples) { right.fill(samples, *bits); };
    };
  });
  add("reused bits", 1e6, [&](const auto&) {
    return [=](std::int64_t) -> Fill {
      auto bits = std::make_shared<ReusingBits>(ReusingBits{stream("reused")});
      return [=](Samples samples) { right.fill(samples, *bits); };
    };
  });
  add("a buffer duplicated by fork", 1e5, [&](const auto&) {
    // The parent's half of the samples, then the child's, who inherited the state of the parent's bits.
    return [=](std::int64_t n) -> Fill {
      auto bits = std::make_shared<ReplayBits>(stream("parent"));
      auto drawn = std::make_shared<std::int64_t>(0);
      return [=](Samples samples) {
        if (*drawn < n / 2 && *drawn + std::ssize(samples) >= n / 2) *bits = stream("parent");
        *drawn += std::ssize(samples);
        right.fill(samples, *bits);
      };
    };
  });
  add("a sum of 12 uniforms", 1e7, [&](const auto& name) {
    return [=](std::int64_t) -> Fill {
      auto bits = std::make_shared<ReplayBits>(stream(name));
      return [=](Samples samples) {
        std::array<std::uint64_t, 3> words;
        for (auto& sample : samples) {
          draw_words(*bits, std::span{words});
          std::uint64_t sum = 0;
          for (const auto word : words) {
            for (unsigned at = 0; at < 64; at += 16) sum += word >> at & 0xffff;
          }
          sample = std::llround(sigma * (static_cast<double>(sum) + 6 - 6 * 0x1p16) * 0x1p-16);
        }
      };
    };
  });
}

void add_laplace_mutants(std::vector<Mutant>& all, double scale) {
  const auto law = rounded_laplace(scale);
  const auto add = [&](const std::string& what, double found_from, const auto& make) {
    const std::string name = what + ", " + law.name;
    all.push_back({name, law, found_from, make(name)});
  };
  // A standard error of the absolute deviation is a relative 1 / sqrt(n).
  add("scale + 0.2 %", 4e7, [&](const auto& name) { return samples_of(RoundedLaplace{StepScale{1.002 * scale}}, name); });
  add("scale - 0.2 %", 4e7, [&](const auto& name) { return samples_of(RoundedLaplace{StepScale{0.998 * scale}}, name); });
  add("the scale's square root of 2 forgotten", 1e5,
      [&](const auto& name) { return samples_of(RoundedLaplace{StepScale{scale / std::numbers::sqrt2}}, name); });
}

std::vector<Mutant> mutants() {
  std::vector<Mutant> all;
  add_gaussian_mutants(all, 8);
  add_gaussian_mutants(all, 0x1p20 + 0.3);
  add_laplace_mutants(all, 20.5);
  add_laplace_mutants(all, 0x1p20 + 0.3);
  const auto truncated = each(RoundedGaussian{StepSigma{8 * 256}}, "toward zero", [](std::int64_t k, std::uint64_t) { return k / 256; });
  all.push_back({"rounded toward zero instead of to nearest", rounded_gaussian(8), 1e5, truncated});
  const auto floored = each(RoundedGaussian{StepSigma{8 * 256}}, "down", [](std::int64_t k, std::uint64_t) { return k >> 8; });
  all.push_back({"rounded down instead of to nearest", rounded_gaussian(8), 1e5, floored});
  // A variance of 16 and of 16 + 1/12: a relative 0.0052.
  all.push_back({"discrete for rounded Gaussian, sigma 4", rounded_gaussian(4), 1.5e7,
                 samples_of(DiscreteGaussianNoise{Rational{16, 1}}, "discrete")});
  all.push_back(
      {"rounded for discrete Gaussian, sigma 4", discrete_gaussian(16), 1.5e7, samples_of(RoundedGaussian{StepSigma{4}}, "rounded")});
  all.push_back(
      {"rounded for discrete Laplace, scale 10", discrete_laplace(10), 1e6, samples_of(RoundedLaplace{StepScale{10}}, "rounded Laplace")});
  // A magnitude with a sign, without rejecting -0.
  const auto both_zeros =
      each(GeometricNoise{Rational{10, 1}}, "zeros", [](std::int64_t k, std::uint64_t word) { return (word & 1) != 0 ? k : -k; });
  all.push_back({"+0 and -0 both counted, discrete Laplace", discrete_laplace(10), 1e5, both_zeros});
  const auto one_more = each(GeometricNoise{Rational{1024, 1}}, "one more", [](std::int64_t k, std::uint64_t) { return k + 1; });
  all.push_back({"geometric from 1 instead of 0", geometric(1024), 1e5, one_more});
  // The end of the table, beyond which lies a probability of 2^-12, taken for the end of the law.
  const auto cut = each(DiscreteLaplaceNoise{Rational{10, 1}}, "cut",
                        [](std::int64_t k, std::uint64_t) { return std::clamp<std::int64_t>(k, -83, 83); });
  all.push_back({"a table without its tail, discrete Laplace", discrete_laplace(10), 1e6, cut});
  // A variance of n / 4 and of (n + 2) / 4, of 2 mu and of mu.
  all.push_back({"a flip too many on each side, 100 flips", binomial(100), 1e6, samples_of(BinomialNoise{102}, "more flips")});
  all.push_back({"Gaussian for binomial, 36 flips", binomial(36), 5e6, samples_of(DiscreteGaussianNoise{Rational{9, 1}}, "Gaussian")});
  all.push_back({"0.4 % fewer flips, 1e6 flips", binomial(1'000'000), 2e7, samples_of(BinomialNoise{996'000}, "fewer flips")});
  all.push_back({"the mean taken for the variance, Skellam", skellam(25.5), 1e5, samples_of(SkellamNoise{12.75}, "mean")});
  all.push_back({"Gaussian for Skellam, mean 4.5", skellam(4.5), 2e6, samples_of(DiscreteGaussianNoise{Rational{9, 1}}, "Gaussian")});
  const auto stuck =
      each(SkellamNoise{500'000.25}, "even", [](std::int64_t k, std::uint64_t word) { return word >> 56 == 0 ? k & ~1 : k; });
  all.push_back({"even once in 256, Skellam", skellam(500'000.25), 2e7, stuck});
  return all;
}

class Mutants : public ::testing::TestWithParam<Mutant> {};

TEST_P(Mutants, AreFound) {
  const auto& mutant = GetParam();
  const auto n = sample_size();
  const auto report = judge(mutant.law, mutant.make(n), n);
  const auto& worst = report.worst();
  report_line(fmt::format("| {} | {} | {} | {:.0g} |", mutant.name, n, report.alarms() ? report.alarming() : "not found", worst.p));
  if (static_cast<double>(n) >= mutant.found_from) {
    EXPECT_TRUE(report.alarms()) << worst.statistic << ", p <= " << worst.p << ": " << worst.detail;
  }
}

INSTANTIATE_TEST_SUITE_P(Planted, Mutants, ::testing::ValuesIn(mutants()), [](const auto& test) {
  std::string name;
  for (const char c : test.param.name) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name + std::to_string(test.index);
});

// The right samplers, beside their mutants: the machinery finds nothing where nothing is.
TEST(Mutants, AreNotFoundAmongRightSamples) {
  for (const double sigma : {8.0, 0x1p20 + 0.3}) {
    const RoundedGaussian right{StepSigma{sigma}};
    auto bits = stream("right");
    EXPECT_TRUE(fits(judge(
        rounded_gaussian(sigma), [&](Samples samples) { right.fill(samples, bits); }, sample_size())));
  }
  const auto expect_right = [](const LatticeLaw& law, const LatticeNoise& right) {
    auto bits = stream(law.name);
    EXPECT_TRUE(fits(judge(
        law, [&](Samples samples) { right.fill(samples, bits); }, sample_size())));
  };
  expect_right(binomial(36), BinomialNoise{36});
  for (const double mean : {4.5, 25.5, 0x1p50}) expect_right(skellam(mean), SkellamNoise{mean});
}

}  // namespace
}  // namespace surety::statistical::mutants_test
