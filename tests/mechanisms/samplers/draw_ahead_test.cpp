#include <surety/mechanisms/samplers/draw_ahead.h>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <set>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include <surety/mechanisms/additive/truncated_geometric.h>
#include <surety/mechanisms/samplers/exact_rounding.h>
#include <surety/mechanisms/samplers/lattice_noise.h>

#include <support/failing_bits.h>

namespace {

/// Where a test expects memory to be given back, and whether it was all zero then.
std::int64_t* watched = nullptr;
bool was_erased = false;

}  // namespace

void* operator new[](std::size_t size) {
  if (void* const memory = std::malloc(size); memory != nullptr) return memory;
  throw std::bad_alloc{};
}
void operator delete[](void* memory) noexcept {
  if (memory != nullptr && memory == watched) was_erased = std::count(watched, watched + 8, 0) == 8;
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept { operator delete[](memory); }

namespace surety::mechanisms::draw_ahead_test {
namespace {

using Gaussian = DrawAhead<DiscreteGaussianNoise>;
static_assert(!std::is_copy_constructible_v<Gaussian> && !std::is_copy_assignable_v<Gaussian>);
static_assert(std::is_nothrow_move_constructible_v<detail::SampleBuffer> && std::is_move_constructible_v<Gaussian>);
static_assert(std::is_move_assignable_v<Gaussian>);

constexpr std::size_t block = LatticeNoise::block;

template <class Sampler>
std::vector<std::int64_t> taken(DrawAhead<Sampler>& ahead, std::size_t count, auto& bits) {
  std::vector<std::int64_t> samples(count);
  for (auto& sample : samples) sample = ahead(bits);
  return samples;
}

/// Fills of whole buffers of `size`, of which the first `count` samples.
template <class Sampler>
std::vector<std::int64_t> in_bulk(const Sampler& sampler, std::size_t count, std::size_t size, std::uint64_t seed) {
  ReplayBits bits{seed};
  std::vector<std::int64_t> samples((count + size - 1) / size * size);
  for (std::size_t first = 0; first < samples.size(); first += size) sampler.fill(std::span{samples}.subspan(first, size), bits);
  samples.resize(count);
  return samples;
}

template <class Sampler>
void expect_bulk_samples(const Sampler& sampler) {
  for (const std::size_t size : {block, 3 * block, DrawAhead<Sampler>::default_size}) {
    DrawAhead ahead{sampler, size};
    ReplayBits bits{42};
    const std::size_t count = 3 * size + 5;
    EXPECT_EQ(taken(ahead, count, bits), in_bulk(sampler, count, size, 42)) << size;
  }
}

TEST(DrawAhead, GivesTheSamplesOfTheBulkForm) {
  expect_bulk_samples(DiscreteGaussianNoise{{9, 1}});
  expect_bulk_samples(DiscreteGaussianNoise{{10'000'000, 1}});
  expect_bulk_samples(DiscreteLaplaceNoise{{1000, 1}});
  expect_bulk_samples(GeometricNoise{{5, 2}});
  expect_bulk_samples(RoundedGaussian{StepSigma{0x1.23p20}});
  expect_bulk_samples(RoundedLaplace{StepScale{7.5}});
}

RC_GTEST_PROP(DrawAhead, EachBufferIsOneFill, (std::uint64_t seed)) {
  const auto size = *rc::gen::inRange<std::size_t>(1, 700);
  const TruncatedGeometricNoise sampler{{500, 1}, 1000};
  DrawAhead ahead{sampler, size};
  ReplayBits bits{seed};
  const auto samples = taken(ahead, 3 * size, bits);
  ReplayBits same{seed};
  for (std::size_t i = 0; i < 3; ++i) {
    std::vector<std::int64_t> buffer(size);
    sampler.fill(buffer, same);
    RC_ASSERT(std::equal(buffer.begin(), buffer.end(), samples.begin() + static_cast<std::ptrdiff_t>(i * size)));
  }
}

TEST(DrawAhead, ASizeOfZeroIsOne) {
  DrawAhead ahead{DiscreteGaussianNoise{{9, 1}}, 0};
  EXPECT_EQ(ahead.size(), 1U);
  ReplayBits bits{1};
  ReplayBits same{1};
  for (int i = 0; i < 5; ++i) {
    std::int64_t sample = 0;
    ahead.sampler().fill({&sample, 1}, same);
    EXPECT_EQ(ahead(bits), sample);
  }
}

TEST(DrawAhead, MovesItsBuffer) {
  const DiscreteGaussianNoise sampler{{10'000'000, 1}};
  const auto expected = in_bulk(sampler, 4 * block, block, 7);
  ReplayBits bits{7};
  DrawAhead first{sampler, block};
  auto samples = taken(first, 10, bits);
  DrawAhead second{std::move(first)};
  for (const auto sample : taken(second, 20, bits)) samples.push_back(sample);
  DrawAhead third{sampler, 2 * block};
  ReplayBits other{8};
  static_cast<void>(third(other));
  third = std::move(second);
  EXPECT_EQ(third.size(), block);
  for (const auto sample : taken(third, 2 * block, bits)) samples.push_back(sample);
  EXPECT_EQ(samples, std::vector<std::int64_t>(expected.begin(), expected.begin() + 30 + 2 * block));
}

// Nothing is left to hand out twice: what was moved from starts with fresh samples.
TEST(DrawAhead, WhatWasMovedFromDrawsAfresh) {
  const DiscreteGaussianNoise sampler{{10'000'000, 1}};
  detail::SampleBuffer from{4};
  std::int64_t next = 0;
  const auto refill = [&next](std::span<std::int64_t> samples) {
    std::generate(samples.begin(), samples.end(), [&next] { return ++next; });
  };
  EXPECT_EQ(from.take(refill), 1);
  detail::SampleBuffer to{std::move(from)};
  EXPECT_EQ(from.take(refill), 5);  // NOLINT: its state is documented
  EXPECT_EQ(to.take(refill), 2);
}

TEST(DrawAhead, HandsOutNothingOfABufferThatWasNotFilled) {
  const DiscreteGaussianNoise sampler{{10'000'000, 1}};
  DrawAhead ahead{sampler, 4 * block};
  testing::FailingBits fails_in_the_third_block{2};
  EXPECT_THROW(static_cast<void>(ahead(fails_in_the_third_block)), std::runtime_error);
  ReplayBits bits{3};
  EXPECT_EQ(taken(ahead, 4 * block, bits), in_bulk(sampler, 4 * block, 4 * block, 3));
}

TEST(DrawAhead, ErasesWhatItHandsOutAndWhatItLeaves) {
  std::int64_t* memory = nullptr;
  const auto refill = [&memory](std::span<std::int64_t> samples) {
    memory = samples.data();
    std::fill(samples.begin(), samples.end(), 77);
  };
  detail::SampleBuffer buffer{8};
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(buffer.take(refill), 77);
    EXPECT_EQ(std::count(memory, memory + 8, 0), static_cast<std::ptrdiff_t>(i + 1));
  }
  // A refill begins with an erased buffer, in a new process too.
  const auto all_erased = [](std::span<std::int64_t> samples) {
    EXPECT_EQ(std::count(samples.begin(), samples.end(), 0), 8);
    std::fill(samples.begin(), samples.end(), 5);
  };
  EXPECT_EQ(buffer.take(all_erased), 5);
  const pid_t child = fork();
  if (child == 0) {
    bool erased = false;
    static_cast<void>(
        buffer.take([&erased](std::span<std::int64_t> samples) { erased = std::count(samples.begin(), samples.end(), 0) == 8; }));
    _exit(erased ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// What was drawn before a reservation may be in a snapshot.
TEST(DrawAhead, DrawsAnewAfterAReservation) {
  detail::SampleBuffer buffer{8};
  int refills = 0;
  const auto refill = [&refills](std::span<std::int64_t> samples) {
    EXPECT_EQ(std::count(samples.begin(), samples.end(), 0), 8) << "erased";
    std::fill(samples.begin(), samples.end(), ++refills);
  };
  EXPECT_EQ(buffer.take(refill), 1);
  EXPECT_EQ(buffer.take(refill), 1);
  DrawnAhead::forget_all();
  for (int i = 0; i < 8; ++i) EXPECT_EQ(buffer.take(refill), 2);
  EXPECT_EQ(buffer.take(refill), 3);
}

// Else the erased slots of the parent's buffer would pass for noise: zeros.
TEST(DrawAhead, AChildWhoseBitsFailTriesAgain) {
  const auto fill_with = [](std::int64_t value) {
    return [value](std::span<std::int64_t> samples) { std::fill(samples.begin(), samples.end(), value); };
  };
  detail::SampleBuffer buffer{8};
  ASSERT_EQ(buffer.take(fill_with(77)), 77);
  const pid_t child = fork();
  if (child == 0) {
    int failures = 0;
    for (int attempt = 0; attempt < 2; ++attempt) {
      try {
        static_cast<void>(buffer.take([](std::span<std::int64_t>) { throw std::runtime_error{"no bits"}; }));
      } catch (const std::runtime_error&) {
        ++failures;
      }
    }
    _exit(failures == 2 && buffer.take(fill_with(5)) == 5 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(buffer.take(fill_with(5)), 77);
}

TEST(DrawAhead, ErasesItsBufferBeforeItGivesItBack) {
  const auto refill = [](std::span<std::int64_t> samples) {
    watched = samples.data();
    was_erased = false;
    std::fill(samples.begin(), samples.end(), 77);
  };
  {
    detail::SampleBuffer ends{8};
    static_cast<void>(ends.take(refill));
  }
  EXPECT_TRUE(was_erased);
  detail::SampleBuffer assigned{8};
  static_cast<void>(assigned.take(refill));
  assigned = detail::SampleBuffer{8};
  EXPECT_TRUE(was_erased);
  watched = nullptr;
}

/// What `count` calls give in a process made by `make_process`.
std::vector<std::int64_t> samples_of_child(auto&& make_process, auto& ahead, auto& bits, std::size_t count) {
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe(ends.data()), 0);
  const pid_t child = make_process();
  if (child == 0) {
    const auto samples = taken(ahead, count, bits);
    const std::size_t size = 8 * samples.size();
    _exit(write(ends[1], samples.data(), size) == static_cast<ssize_t>(size) ? 0 : 1);
  }
  close(ends[1]);
  std::vector<std::int64_t> samples(count);
  EXPECT_EQ(read(ends[0], samples.data(), 8 * count), static_cast<ssize_t>(8 * count));
  close(ends[0]);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  return samples;
}

// Samples of sigma = 2^31: of two times 200 independent ones, two are equal with probability below 10^-5; with one buffer all would be.
TEST(DrawAhead, ParentAndChildShareNoSample) {
  const auto by_fork = [] { return fork(); };
  const auto by_raw_clone = [] { return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr)); };
  const auto expect_disjoint = [](auto&& make_process) {
    SystemBits bits;
    DrawAhead ahead{DiscreteGaussianNoise{{std::uint64_t{1} << 62, 1}}};
    static_cast<void>(ahead(bits));  // the buffer is full and would be inherited
    const auto first = samples_of_child(make_process, ahead, bits, 200);
    const auto second = samples_of_child(make_process, ahead, bits, 200);
    const auto parent = taken(ahead, 200, bits);
    std::set<std::int64_t> all{first.begin(), first.end()};
    all.insert(second.begin(), second.end());
    all.insert(parent.begin(), parent.end());
    EXPECT_GE(all.size(), 598U);
  };
  expect_disjoint(by_fork);
  expect_disjoint(by_raw_clone);
}

}  // namespace
}  // namespace surety::mechanisms::draw_ahead_test
