// Whose bits a run draws, and that only a replay is called one.
#include <surety/jobs/run/run_bits.h>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace surety::run_bits_test {
namespace {

using Bytes = std::array<std::byte, 32>;

Bytes drawn(jobs::RunBits& bits) {
  Bytes bytes{};
  bits.source().fill(bytes);
  return bytes;
}
Bytes drawn_with(jobs::RunBits& bits) {
  Bytes bytes{};
  bits.with([&](auto& source) { source.fill(bytes); });
  return bytes;
}
Bytes of_seed(std::uint64_t seed) {
  Bytes bytes{};
  mechanisms::ReplayBits{seed}.fill(bytes);
  return bytes;
}

TEST(RunBits, AreAReplayOfTheirSeedAndCalledOne) {
  jobs::RunBits bits{7};
  EXPECT_TRUE(bits.not_private());
  EXPECT_EQ(drawn(bits), of_seed(7));
  EXPECT_NE(drawn(bits), of_seed(7)) << "the next ones";
  jobs::RunBits zero{0};
  EXPECT_TRUE(zero.not_private()) << "0 is a seed";
  EXPECT_EQ(drawn_with(zero), of_seed(0));
}

TEST(RunBits, AreOfTheSystemWhereNobodySaysASeed) {
  jobs::RunBits one{std::nullopt};
  jobs::RunBits other{std::nullopt};
  EXPECT_FALSE(one.not_private());
  EXPECT_NE(drawn(one), drawn(other));
  EXPECT_NE(drawn_with(one), drawn_with(other));
}

TEST(RunBits, OfTheCallerAreDrawnBothWays) {
  mechanisms::ReplayBits own{3};
  jobs::RunBits bits{mechanisms::BitsRef{own}};
  EXPECT_FALSE(bits.not_private()) << "the caller vouches for them";
  EXPECT_EQ(drawn(bits), of_seed(3));
  own = mechanisms::ReplayBits{3};
  EXPECT_EQ(drawn_with(bits), of_seed(3));
}

}  // namespace
}  // namespace surety::run_bits_test
