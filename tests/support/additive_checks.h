// What every additive mechanism must be: its query plus its noise, moved by as much as the query moves.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include <surety/mechanisms/bits/random_bits.h>
#include <surety/mechanisms/queries/grid.h>

#include <support/scripted_bits.h>

namespace surety::mechanisms {

/// Of integers: a vector in one call or in place, and a number, are the query plus what mechanism.noise() draws from the same bits.
template <class Mechanism>
void expect_the_query_plus_its_noise(const Mechanism& mechanism) {
  const std::vector<std::int64_t> query{5, -1000, 0, 77};
  std::vector<std::int64_t> noise(4);
  ReplayBits bits{1};
  mechanism.noise().fill(noise, bits);
  ReplayBits same{1};
  const auto released = mechanism.release(query, same);
  ReplayBits again{1};
  auto in_place = query;
  mechanism.release_in_place(in_place, again);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(released[i], query[i] + noise[i]);
  EXPECT_EQ(in_place, released);
  ReplayBits single{1};
  EXPECT_EQ(mechanism.release(5, single), released.front());
}

/// On the grid of sixteenths: the query plus what `noise`, in steps, draws from the same bits.
template <class Mechanism, class Noise>
void expect_the_query_plus_rounded_noise(const Mechanism& mechanism, const Noise& noise) {
  const GridVector query{Grid{-4}, {0, -1000, 77}};
  ReplayBits bits{1};
  const auto released = mechanism.release(query, bits);
  ReplayBits same{1};
  std::vector<std::int64_t> samples(3);
  noise.fill(samples, same);
  ASSERT_EQ(released.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(released[i], static_cast<double>(query.steps[i] + samples[i]) / 16);
}

/// On the grid of sixteenths: by how much a release changes when the query moves from (0, 0) to (shift, -shift) steps, from the same bits.
template <class Mechanism>
std::vector<double> change_of_release(const Mechanism& mechanism, std::int64_t shift, std::uint64_t seed) {
  ReplayBits bits{seed};
  ReplayBits same{seed};
  const auto at_zero = mechanism.release({Grid{-4}, {0, 0}}, bits);
  const auto shifted = mechanism.release({Grid{-4}, {shift, -shift}}, same);
  return {shifted[0] - at_zero[0], shifted[1] - at_zero[1]};
}

/// Of integers: on either side of `digits`, the first 63 binary digits of P(|noise| >= j), the magnitude is j and j - 1, with both signs.
template <class Mechanism>
void expect_threshold(const Mechanism& mechanism, std::int64_t j, std::uint64_t digits) {
  for (const std::uint64_t sign : {0U, 1U}) {
    const auto released = [&](std::uint64_t first) {
      testing::ScriptedBits bits{testing::one_trial(first, sign == 1)};
      return mechanism.release(100, bits);
    };
    EXPECT_EQ(released(digits - 1), 100 + (sign == 1 ? -j : j)) << j;
    EXPECT_EQ(released(digits + 1), 100 + (sign == 1 ? 1 - j : j - 1)) << j;
  }
}

}  // namespace surety::mechanisms
