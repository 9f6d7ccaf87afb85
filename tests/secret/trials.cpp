// Under valgrind's memcheck: the words of trials count as undefined, and so does all that is computed from them. A jump or an address that depends on
// them is an error. Defined again are only which trials are accepted and in doubt, which the samples are independent of
// (docs/proofs/samplers.md#isochronous).
//
//   trials              every kind of distribution by every path that valgrind knows
//   trials MISTAKE      makes one of the mistakes that must be found: branch or address
#include <valgrind/memcheck.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

#include <surety/base/numbers/floating_point.h>
#include <surety/mechanisms/samplers/isochronous_sampler.h>
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

}  // namespace

int main(int argc, char** argv) {
  if (RUNNING_ON_VALGRIND == 0) {
    std::fputs("secret/trials: run it under valgrind\n", stderr);
    return 2;
  }
  const std::string_view mistake = argc > 1 ? argv[1] : "";
  const surety::StandardFloatingPoint environment;
  std::int64_t sum = 0;
  for (const auto path : available_paths()) {
    for (const auto& sampler :
         {IsochronousSampler::rounded_gaussian(2.5), IsochronousSampler::rounded_gaussian(1000),
          IsochronousSampler::rounded_gaussian(0x1p60), IsochronousSampler::rounded_laplace(3), IsochronousSampler::rounded_laplace(1000),
          IsochronousSampler::rounded_laplace(0x1p58), IsochronousSampler::discrete_gaussian({1, 1}),
          IsochronousSampler::discrete_gaussian({1'000'000, 1}), IsochronousSampler::discrete_laplace({3, 1}),
          IsochronousSampler::discrete_laplace({1000, 1}), IsochronousSampler::discrete_laplace({std::uint64_t{1} << 50, 1}),
          IsochronousSampler::geometric({7, 2}), IsochronousSampler::geometric({1000, 1})}) {
      sum += draw_block(sampler, path, mistake);
    }
    std::printf("%s: %s\n", std::string{name_of(path)}.c_str(), sum == 0 ? "no sample" : "drawn");
  }
}
