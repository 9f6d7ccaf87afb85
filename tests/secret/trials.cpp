// Under valgrind's memcheck: the words of trials count as undefined, and so does all that is computed from them. A jump or an address that depends on
// them is an error. Defined again are only which trials are accepted and in doubt, which the samples are independent of
// (docs/proofs/samplers.md#isochronous).
//
//   trials              every kind of distribution by every path that valgrind knows, and the parts of vector noise
//   trials MISTAKE      makes one of the mistakes that must be found: branch or address of a sample; early-exit or look-up of vector noise
//
// Of vector noise the reals, signs and uniform numbers count as undefined. Defined again are only whether a block is kept, which trials of a direction are
// accepted, and what is in doubt (docs/proofs/vector-noise.md#ideal-reals).
#include <valgrind/memcheck.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

#include <surety/base/numbers/floating_point.h>
#include <surety/mechanisms/additive/vector_rounding.h>
#include <surety/mechanisms/samplers/ideal_reals.h>
#include <surety/mechanisms/samplers/isochronous_sampler.h>
#include <surety/mechanisms/samplers/power_trial.h>
#include <surety/mechanisms/samplers/trial_loops.h>

namespace {

using namespace surety::mechanisms;

template <class T>
void declassify(const T& value) {
  static_cast<void>(VALGRIND_MAKE_MEM_DEFINED(&value, sizeof value));
}

std::int64_t draw_block(const IsochronousSampler& sampler, TrialPath path, std::string_view mistake) {
  const std::size_t own = sampler.words_per_trial();
  std::vector<std::uint64_t> words(own * trial_block + sampler.further_words());
  ReplayBits bits{own};
  draw_words(bits, words);
  static_cast<void>(VALGRIND_MAKE_MEM_UNDEFINED(words.data(), words.size() * sizeof words[0]));
  DecidedTrials trials;
  decide_trials(path, sampler.constants(), trial_block, words.data(), trials);
  bool is_in_doubt = false;
  DecidedTrial one = sampler.decide_precisely(trials.words.data(), words.data() + own * trial_block, is_in_doubt);
  declassify(trials.accepted);
  declassify(trials.in_doubt);
  declassify(trials.doubts);
  declassify(one.accepted);
  std::array<std::int64_t, trial_block + trial_lanes> samples{};
  const std::size_t count = gather_accepted(path, trials, trial_block, one, samples.data());
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (mistake == "branch" && samples[i] > 3) std::fputc('.', stderr);
    if (mistake == "address") sum += samples[static_cast<std::size_t>(samples[i] & 7)];
    sum += samples[i];
  }
  declassify(sum);
  return sum;
}

// ---- Vector noise ----

template <class T>
void make_secret(std::vector<T>& values) {
  static_cast<void>(VALGRIND_MAKE_MEM_UNDEFINED(values.data(), values.size() * sizeof values[0]));
}

std::vector<IdealReal> drawn(IdealShape shape, std::size_t count) {
  ReplayBits bits{count};
  IdealReals reals;
  reals.draw(shape, count, bits);
  std::vector<IdealReal> result(reals.reals().begin(), reals.reals().end());
  make_secret(result);
  return result;
}

std::vector<std::uint64_t> secret_words(std::size_t count) {
  ReplayBits bits{count};
  std::vector<std::uint64_t> words(count);
  draw_words(bits, words);
  make_secret(words);
  return words;
}

bool is_kept(IdealShape shape, int log2_cells) {
  const auto u = secret_words(2);
  const auto decision = IdealBlock{shape, log2_cells}.decide(drawn(shape, 256), {u[0], u[1]});
  declassify(decision.is_kept);
  declassify(decision.is_in_doubt);
  return decision.is_kept && !decision.is_in_doubt;
}

struct Powers {
  std::vector<IdealReal> reals;
  std::vector<std::uint64_t> tails;
  std::vector<UnsignedWide> logs;
};

Powers accepted_powers(double r) {
  constexpr std::size_t count = 64;
  const PowerTrial rule{r};
  const auto e = drawn(IdealShape::exponential, count);
  const auto v = drawn(IdealShape::uniform, count);
  const auto words = secret_words(4 * count);
  Powers result;
  for (std::size_t i = 0; i < count; ++i) {
    const auto decision = rule.decide(e[i], v[i], {words[4 * i], words[4 * i + 1]}, {words[4 * i + 2], words[4 * i + 3]});
    declassify(decision.accepted);
    declassify(decision.in_doubt);
    if (decision.accepted == 0 || decision.in_doubt != 0) continue;
    result.reals.push_back(decision.real);
    result.tails.push_back(decision.is_tail);
    result.logs.push_back(decision.log);
  }
  return result;
}

std::int64_t round_vector(VectorLaw law, std::string_view mistake) {
  const bool is_power = law.shape == VectorLaw::Shape::power;
  const IdealShape shape = law.shape == VectorLaw::Shape::exponential ? IdealShape::exponential
                           : law.shape == VectorLaw::Shape::uniform   ? IdealShape::uniform
                                                                      : IdealShape::half_normal;
  Powers powers;
  if (is_power) powers = accepted_powers(law.r);
  const auto reals = is_power ? powers.reals : drawn(shape, law.dimension);
  law.dimension = reals.size();
  const auto signs = secret_words(reals.size() / 64 + 1);
  const auto exponentials = drawn(IdealShape::exponential, law.exponentials());
  const auto normal = drawn(IdealShape::half_normal, law.has_normal() ? 1 : 0);
  std::vector<std::int64_t> integers(reals.size());
  const std::int64_t in_doubt = VectorRounding{law}.round(
      {.signs = signs, .magnitudes = reals, .tails = powers.tails, .logs = powers.logs, .exponentials = exponentials, .normal = normal},
      integers);
  declassify(in_doubt);
  std::int64_t sum = in_doubt;
  for (const std::int64_t integer : integers) {
    if (mistake == "early-exit" && integer == 0) break;
    if (mistake == "look-up") sum += integers[static_cast<std::size_t>(integer & 3)];
    sum += integer;
  }
  declassify(sum);
  return sum;
}

std::int64_t vector_noise(std::string_view mistake) {
  using Shape = VectorLaw::Shape;
  using Radial = VectorLaw::Radial;
  std::int64_t sum = 0;
  for (const auto shape : {IdealShape::exponential, IdealShape::half_normal}) sum += is_kept(shape, IdealReals::log2_cells) ? 1 : 0;
  constexpr std::array<double, 3> scale{1.1, 0.9, 0x1p10};
  constexpr std::size_t d = 40;
  for (const VectorLaw& law :
       {VectorLaw{Shape::exponential, 2, Radial::none, 0, scale, d}, VectorLaw{Shape::normal, 2, Radial::none, 0, scale, d},
        VectorLaw{Shape::uniform, 2, Radial::gamma, d + 1, scale, d},
        VectorLaw{Shape::normal, 2, Radial::root_of_chi_square, d + 1, scale, d},
        VectorLaw{Shape::power, 3, Radial::root_of_chi_square, d, scale, d},
        VectorLaw{Shape::power, 0x1p20, Radial::root_of_chi_square, d, scale, d}, VectorLaw{Shape::normal, 2, Radial::sphere, 0, scale, d},
        VectorLaw{Shape::normal, 2, Radial::ball, 0, scale, d}}) {
    sum += round_vector(law, mistake);
  }
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  if (RUNNING_ON_VALGRIND == 0) {
    std::fputs("secret/trials: run it under valgrind\n", stderr);
    return 2;
  }
  const std::string_view mistake = argc > 1 ? argv[1] : "";
  const surety::StandardFloatingPoint environment;
  std::int64_t sum = vector_noise(mistake);
  for (const auto path : available_paths()) {
    for (const auto& sampler :
         {IsochronousSampler::rounded_gaussian(2.5), IsochronousSampler::rounded_gaussian(1000),
          IsochronousSampler::rounded_gaussian(0x1p60), IsochronousSampler::rounded_laplace(3), IsochronousSampler::rounded_laplace(1000),
          IsochronousSampler::rounded_laplace(0x1p58), IsochronousSampler::discrete_gaussian({1, 1}),
          IsochronousSampler::discrete_gaussian({1'000'000, 1}), IsochronousSampler::discrete_laplace({3, 1}),
          IsochronousSampler::discrete_laplace({1000, 1}), IsochronousSampler::discrete_laplace({std::uint64_t{1} << 50, 1}),
          IsochronousSampler::geometric({7, 2}), IsochronousSampler::geometric({1000, 1}), IsochronousSampler::binomial(36),
          IsochronousSampler::binomial(1'000'000), IsochronousSampler::skellam(4.5), IsochronousSampler::skellam(0x1p50)}) {
      sum += draw_block(sampler, path, mistake);
    }
    std::printf("%s: %s\n", std::string{name_of(path)}.c_str(), sum == 0 ? "no sample" : "drawn");
  }
}
