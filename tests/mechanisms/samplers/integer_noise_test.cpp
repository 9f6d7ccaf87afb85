#include <surety/mechanisms/samplers/integer_noise.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include <support/scripted_bits.h>

namespace surety::mechanisms::integer_noise_test {
namespace {

using testing::ScriptedBits;

constexpr auto least = std::numeric_limits<std::int64_t>::min();
constexpr auto greatest = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t plus_one = std::uint64_t{1} << 62;  // T = 1/4: a discrete Gaussian of variance 1 is 1
constexpr std::uint64_t minus_one = plus_one | 1;

TEST(IntegerNoise, ClampsTheValueBeforeAndTheSumAfter) {
  const DiscreteGaussianNoise noise{{1, 1}};
  const std::vector<std::int64_t> values{greatest, greatest, least, least, largest_sum - 2, largest_sum - 1, 0};
  const std::vector<std::uint64_t> words{plus_one, minus_one, plus_one, minus_one, plus_one, plus_one, minus_one};
  constexpr std::int64_t largest = largest_sum - 1;
  const std::vector<std::int64_t> expected{largest, largest, -largest, -largest, largest, largest, -1};
  ScriptedBits bits{testing::block_of_trials(words)};
  EXPECT_EQ(with_noise(noise, values, bits), expected);
  ScriptedBits same{testing::block_of_trials(words)};
  auto in_place = values;
  add_noise(noise, in_place, same);
  EXPECT_EQ(in_place, expected);
  for (std::size_t i = 0; i < values.size(); ++i) {
    ScriptedBits one{{words[i], 0}};
    EXPECT_EQ(with_noise(noise, values[i], one), expected[i]) << i;
  }
}

RC_GTEST_PROP(IntegerNoise, AddsTheSamplesOfFill, (std::uint64_t seed)) {
  static const DiscreteLaplaceNoise noise{{3000, 7}};
  const auto size = *rc::gen::inRange<std::size_t>(0, 700);
  std::vector<std::int64_t> samples(size);
  ReplayBits bits{seed};
  noise.fill(samples, bits);
  ReplayBits same{seed};
  for (auto& sample : samples) sample += 12345;
  RC_ASSERT(with_noise(noise, std::vector<std::int64_t>(size, 12345), same) == samples);
}

}  // namespace
}  // namespace surety::mechanisms::integer_noise_test
