// No two processes or threads share output: parent, children, grandchildren and threads draw in bulk through every sampler, and no block of
// output occurs twice. The same check has to fail for bits without a fork guard.
//
// A block holds more than 120 bits of entropy (the least is 8 coordinates of a point of the ball, about 18 bits each), so that two of some
// 10^4 blocks of one kind are equal by chance with probability below 2^-90; two of the 47,104 words of 64 bits are with probability below
// 2^-32.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/additive/laplace.h>
#include <surety/mechanisms/additive/lp_noise.h>
#include <surety/mechanisms/bits/random_bits.h>
#include <surety/mechanisms/choices/randomized_response.h>
#include <surety/mechanisms/choices/selection.h>
#include <surety/mechanisms/choices/sparse_vector.h>
#include <surety/mechanisms/samplers/exact_rounding.h>

namespace surety::mechanisms {

/// SystemBits without its guard: after fork, parent and child have one buffer. A mutant.
class UnguardedBits {
 public:
  UnguardedBits() {
    SystemBits system;
    AesStream::Key key;
    system.fill(key);
    stream_.restart(key);
  }
  void fill(std::span<std::byte> bytes) {
    for (auto& byte : bytes) {
      if (next_ == buffer_.size()) {
        stream_.generate(buffer_);
        next_ = 0;
      }
      byte = buffer_[next_++];
    }
  }

 private:
  AesStream stream_;
  std::array<std::byte, 16384> buffer_{};
  std::size_t next_ = 16384;
};

}  // namespace surety::mechanisms

// A false promise, which only a mutant may make.
template <>
inline constexpr bool surety::is_cryptographic<surety::mechanisms::UnguardedBits> = true;

namespace surety::mechanisms::random_bits_bulk_test {
namespace {

using Words = std::vector<std::uint64_t>;

/// How many words make a block, and what draws them; every round draws a whole number of blocks.
template <class Bits>
struct Path {
  std::string name;
  std::size_t block;
  std::function<Words(Bits&)> draw;
};

template <class Bits>
Path<Bits> lattice_path(const std::string& name, std::size_t block, const LatticeNoise& noise) {
  return {name, block, [=](Bits& bits) {
            std::vector<std::int64_t> samples(2048);
            noise.fill(samples, bits);
            return Words{samples.begin(), samples.end()};
          }};
}

Words words_of(const std::vector<double>& values) {
  Words words(values.size());
  std::memcpy(words.data(), values.data(), 8 * values.size());
  return words;
}

template <class Bits, class Mechanism>
Path<Bits> release_path(const std::string& name, std::size_t block, const Mechanism& mechanism, std::size_t dimension) {
  return {name, block, [=](Bits& bits) {
            const GridVector zero{Grid{-20}, std::vector<std::int64_t>(dimension)};
            return words_of(mechanism.release(zero, bits));
          }};
}

template <class Bits>
std::vector<Path<Bits>> paths() {
  const Grid grid{-20};
  constexpr auto adjacency = Adjacency::replace_one;
  const SelectionOptions five{.epsilon = Epsilon{1},
                              .sensitivity = ScoreSensitivity{1},
                              .change = ScoreChange::one_way,
                              .candidates = Count{5},
                              .adjacency = adjacency};
  const auto choices = [](const auto& mechanism) {
    return [mechanism](Bits& bits) {
      const std::vector<double> scores(5, 1.0);
      Words words;
      for (int i = 0; i < 512; ++i) words.push_back(mechanism.release(scores, bits));
      return words;
    };
  };
  std::vector<Path<Bits>> all{
      {"words", 1,
       [](Bits& bits) {
         Words words(2048);
         draw_words(bits, std::span{words});
         return words;
       }},
      lattice_path<Bits>("wide Gaussian", 8, RoundedGaussian{StepSigma{0x1p40}}),
      lattice_path<Bits>("narrow Gaussian", 128, RoundedGaussian{StepSigma{1}}),
      lattice_path<Bits>("wide Laplace", 8, RoundedLaplace{StepScale{0x1p40}}),
      lattice_path<Bits>("narrow Laplace", 128, RoundedLaplace{StepScale{1}}),
      lattice_path<Bits>("discrete Gaussian", 128, DiscreteGaussianNoise{Rational{1, 1}}),
      lattice_path<Bits>("discrete Laplace", 128, DiscreteLaplaceNoise{Rational{1, 1}}),
      lattice_path<Bits>("geometric", 128, GeometricNoise{Rational{2, 1}}),
      {"Gaussian, one at a time", 8,
       [noise = RoundedGaussian{StepSigma{0x1p40}}](Bits& bits) {
         Words words;
         for (int i = 0; i < 512; ++i) words.push_back(static_cast<std::uint64_t>(noise(bits)));
         return words;
       }},
      release_path<Bits>(
          "Gaussian releases", 8,
          Gaussian{{.multiplier = NoiseMultiplier{1}, .sensitivity = L2Sensitivity{1}, .grid = grid, .adjacency = adjacency}}, 512),
      release_path<Bits>("Laplace releases", 8,
                         Laplace{{.scale = NoiseScale{1}, .sensitivity = L1Sensitivity{1}, .grid = grid, .adjacency = adjacency}}, 64),
      {"exponential mechanism", 128, choices(ExponentialMechanism{five})},
      {"noisy max", 128, choices(ReportNoisyMax{five, NoiseShape::laplace})},
      {"permute-and-flip", 128, choices(PermuteAndFlip{five})},
      {"randomized response", 256,
       [response = RandomizedResponse{Probability{0.5}, Count{2}, adjacency}](Bits& bits) {
         return Words{response.release(std::vector<std::uint64_t>(2048, 1), bits)};
       }},
      {"AboveThreshold", 256, [=](Bits& bits) {
         AboveThreshold run{{.epsilon = Epsilon{1},
                             .sensitivity = ScoreSensitivity{1},
                             .change = ScoreChange::either_way,
                             .answers = Count{1000},
                             .adjacency = adjacency}};
         Words words;
         for (int i = 0; i < 512; ++i) words.push_back(run.release(0, 0, bits) ? 1 : 0);
         return words;
       }}};
  using Sensitivity = decltype(KNorm::Options::sensitivity);
  for (const Sensitivity& sensitivity : {Sensitivity{L1Sensitivity{1}}, Sensitivity{L2Sensitivity{1}}, Sensitivity{LinfSensitivity{1}}}) {
    all.push_back(release_path<Bits>(
        fmt::format("K-norm {}", sensitivity.index()), 8,
        KNorm{{.scale = NoiseScale{1}, .sensitivity = sensitivity, .grid = grid, .dimension = Count{256}, .adjacency = adjacency}}, 256));
  }
  all.push_back(release_path<Bits>("generalized Gaussian", 8,
                                   GeneralizedGaussian{{.r = NormExponent{3},
                                                        .multiplier = NoiseMultiplier{1},
                                                        .sensitivity = LrSensitivity{1},
                                                        .grid = grid,
                                                        .dimension = Count{256},
                                                        .adjacency = adjacency}},
                                   256));
  all.push_back({"ball", 8, [=](Bits& bits) {
                   const auto point = uniform_in_ball(Count{256}, Radius{1}, grid, bits);
                   return Words{point.steps.begin(), point.steps.end()};
                 }});
  return all;
}

/// Everything one process or thread draws: the rounds of each path after the other.
template <class Bits>
std::vector<Words> draw_all(Bits& bits, const std::vector<Path<Bits>>& all) {
  std::vector<Words> drawn;
  for (const auto& path : all) drawn.push_back(path.draw(bits));
  return drawn;
}

void write_all(int descriptor, const void* data, std::size_t size) {
  for (const char* at = static_cast<const char*>(data); size > 0;) {
    const ssize_t put = write(descriptor, at, size);
    if (put <= 0) _exit(1);
    at += put;
    size -= static_cast<std::size_t>(put);
  }
}

bool read_all(int descriptor, void* data, std::size_t size) {
  for (char* at = static_cast<char*>(data); size > 0;) {
    const ssize_t got = read(descriptor, at, size);
    if (got <= 0) return false;
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

/// What a child draws, who inherits the bits as they are; with `generations` left, its own child draws at the same time.
template <class Bits>
void draw_in_child(Bits& bits, const std::vector<Path<Bits>>& all, int generations, std::vector<std::vector<Words>>& drawn) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::vector<std::vector<Words>> mine;
    if (generations > 1) draw_in_child(bits, all, generations - 1, mine);
    mine.push_back(draw_all(bits, all));
    const std::uint64_t parts = mine.size();
    write_all(ends[1], &parts, 8);
    for (const auto& part : mine) {
      for (const auto& words : part) {
        const std::uint64_t size = words.size();
        write_all(ends[1], &size, 8);
        write_all(ends[1], words.data(), 8 * size);
      }
    }
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  close(ends[1]);
  std::uint64_t parts = 0;
  EXPECT_TRUE(read_all(ends[0], &parts, 8));
  for (std::uint64_t part = 0; part < parts; ++part) {
    drawn.emplace_back();
    for (std::size_t path = 0; path < all.size(); ++path) {
      std::uint64_t size = 0;
      EXPECT_TRUE(read_all(ends[0], &size, 8));
      Words words(size);
      EXPECT_TRUE(read_all(ends[0], words.data(), 8 * size));
      drawn.back().push_back(std::move(words));
    }
  }
  close(ends[0]);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/// Per path, how many blocks occurred before, anywhere.
template <class Bits>
std::map<std::string, std::size_t> repetitions(const std::vector<Path<Bits>>& all, const std::vector<std::vector<Words>>& drawn) {
  std::map<std::string, std::size_t> repeated;
  for (std::size_t path = 0; path < all.size(); ++path) {
    std::vector<Words> blocks;
    for (const auto& part : drawn) {
      const auto& words = part[path];
      EXPECT_EQ(words.size() % all[path].block, 0U) << all[path].name;
      EXPECT_GE(words.size(), all[path].block) << all[path].name;
      for (auto at = words.begin(); at != words.end(); at += static_cast<std::ptrdiff_t>(all[path].block)) {
        blocks.emplace_back(at, at + static_cast<std::ptrdiff_t>(all[path].block));
      }
    }
    std::sort(blocks.begin(), blocks.end());
    std::size_t count = 0;
    for (std::size_t i = 1; i < blocks.size(); ++i) count += blocks[i] == blocks[i - 1] ? 1U : 0U;
    repeated[all[path].name] = count;
  }
  return repeated;
}

/// 12 children of which every third has a child and a grandchild, with the parent drawing in between.
template <class Bits>
std::map<std::string, std::size_t> repetitions_after_fork() {
  const auto all = paths<Bits>();
  Bits bits;
  std::array<std::byte, 104> used;
  bits.fill(used);  // the rest of the buffer would be inherited
  std::vector<std::vector<Words>> drawn;
  for (int child = 0; child < 12; ++child) {
    draw_in_child(bits, all, child % 3 == 0 ? 3 : 1, drawn);
    if (child % 4 == 3) drawn.push_back(draw_all(bits, all));
  }
  EXPECT_EQ(drawn.size(), 12U + 2 * 4 + 3);
  return repetitions(all, drawn);
}

TEST(SystemBits, NoProcessSharesSamples) {
  for (const auto& [path, repeated] : repetitions_after_fork<SystemBits>()) EXPECT_EQ(repeated, 0U) << path;
}

TEST(UnguardedBits, ShareSamplesAfterForkOnEveryPath) {
  for (const auto& [path, repeated] : repetitions_after_fork<UnguardedBits>()) EXPECT_GT(repeated, 0U) << path;
}

/// As many threads as said, each with the bits that it makes.
template <class Bits, class Make>
std::map<std::string, std::size_t> repetitions_among_threads(std::size_t count, const Make& make) {
  const auto all = paths<Bits>();
  std::vector<std::vector<Words>> drawn(count);
  std::vector<std::thread> threads;
  for (auto& mine : drawn) {
    threads.emplace_back([&] {
      Bits bits = make();
      mine = draw_all(bits, all);
    });
  }
  for (auto& thread : threads) thread.join();
  return repetitions(all, drawn);
}

TEST(SystemBits, NoThreadSharesSamples) {
  for (const auto& [path, repeated] : repetitions_among_threads<SystemBits>(16, [] { return SystemBits{}; })) {
    EXPECT_EQ(repeated, 0U) << path;
  }
}

// Two threads that were given the same key, a mutant of "each its own bits".
TEST(ReplayBits, ShareSamplesAmongThreadsOnEveryPath) {
  for (const auto& [path, repeated] : repetitions_among_threads<ReplayBits>(2, [] { return ReplayBits{20261121}; })) {
    EXPECT_GT(repeated, 0U) << path;
  }
}

}  // namespace
}  // namespace surety::mechanisms::random_bits_bulk_test
