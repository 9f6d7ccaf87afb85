#include <surety/mechanisms/bits/random_bits.h>

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <openssl/evp.h>
#include <rapidcheck/gtest.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <new>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include <surety/base/text/error.h>
#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/bits/vector_aes.h>
#include <surety/mechanisms/samplers/exact_rounding.h>

namespace {

/// While set, this key is all the entropy that the operating system has, and requests for it are counted.
std::optional<surety::mechanisms::AesStream::Key> fixed_entropy;
int requests = 0;

}  // namespace

/// Takes the place of the C library's function, here and in the library under test.
extern "C" ssize_t getrandom(void* buffer, std::size_t length, unsigned int flags) {
  if (!fixed_entropy) return syscall(SYS_getrandom, buffer, length, flags);
  ++requests;
  // In parts, as the kernel may for other lengths.
  const std::size_t part = std::min<std::size_t>(length, 20);
  std::memcpy(buffer, fixed_entropy->data() + (fixed_entropy->size() - length), part);
  return static_cast<ssize_t>(part);
}

namespace surety::mechanisms {

struct UnsignedHostRandom {
  void fill(std::span<std::byte>);
};
struct SignedHostRandom {
  void fill(std::span<std::byte>);
};

}  // namespace surety::mechanisms

template <>
inline constexpr bool surety::is_cryptographic<surety::mechanisms::SignedHostRandom> = true;

namespace surety::mechanisms::random_bits_test {
namespace {

// What compiles. A generator that nobody vouched for gets past no door.

template <class Bits>
concept SamplesRounded = requires(const RoundedGaussian& noise, Bits& bits) {
  noise(bits);
};
template <class Bits>
concept Fills = requires(const RoundedGaussian& noise, std::span<std::int64_t> to, Bits& bits) {
  noise.fill(to, bits);
};
template <class Bits>
concept SamplesByDefinition = requires(Bits& bits, StepSigma sigma) {
  rounded_gaussian_by_definition(bits, sigma);
};
template <class Bits>
concept Releases = requires(const Gaussian& mechanism, const GridVector& query, Bits& bits) {
  mechanism.release(query, bits);
};
template <class Bits>
concept ReleasesReals = requires(const GaussianOnReals& mechanism, std::span<const double> query, Bits& bits) {
  mechanism.release(query, bits);
};

template <class Bits>
constexpr int open_doors =
    int{SamplesRounded<Bits>} + int{Fills<Bits>} + int{SamplesByDefinition<Bits>} + int{Releases<Bits>} + int{ReleasesReals<Bits>};

static_assert(open_doors<SystemBits> == 5 && open_doors<ReplayBits> == 5 && open_doors<SignedHostRandom> == 5);
static_assert(open_doors<std::mt19937_64> == 0 && open_doors<std::random_device> == 0);
static_assert(open_doors<UnsignedHostRandom> == 0 && open_doors<int> == 0 && open_doors<const SystemBits> == 0);

static_assert(BitSource<SystemBits> && BitSource<ReplayBits> && BitSource<UnsignedHostRandom> && !BitSource<std::mt19937_64>);
static_assert(CryptographicBits<SystemBits> && CryptographicBits<SignedHostRandom>);
static_assert(!CryptographicBits<ReplayBits> && !CryptographicBits<UnsignedHostRandom> && !CryptographicBits<std::mt19937_64>);
static_assert(!std::is_copy_constructible_v<SystemBits> && !std::is_copy_assignable_v<SystemBits>);
static_assert(!std::is_copy_constructible_v<ReplayBits> && std::is_move_constructible_v<ReplayBits>);

std::vector<std::byte> draw(BitSource auto& bits, std::size_t size) {
  std::vector<std::byte> bytes(size);
  bits.fill(bytes);
  return bytes;
}

std::string hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const auto byte : bytes) text += fmt::format("{:02x}", std::to_integer<int>(byte));
  return text;
}

/// The aligned 64-bit words in common. Two independent streams of 2^13 words share one with probability 2^-38.
std::size_t words_in_common(std::span<const std::byte> a, std::span<const std::byte> b) {
  const auto words = [](std::span<const std::byte> bytes) {
    std::set<std::string> result;
    for (; bytes.size() >= 8; bytes = bytes.subspan(8)) result.insert(hex(bytes.first(8)));
    return result;
  };
  const auto first = words(a);
  const auto second = words(b);
  return static_cast<std::size_t>(
      std::count_if(first.begin(), first.end(), [&second](const auto& word) { return second.count(word) != 0; }));
}

std::vector<std::byte> read_all(int descriptor) {
  std::vector<std::byte> bytes;
  std::array<std::byte, 4096> block;
  for (ssize_t got = 0; (got = read(descriptor, block.data(), block.size())) > 0;)
    bytes.insert(bytes.end(), block.begin(), block.begin() + got);
  return bytes;
}

/// What `action` returns in a process made by `make_process`.
std::vector<std::byte> bytes_of_child(auto&& make_process, auto&& action) {
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe(ends.data()), 0);
  const pid_t child = make_process();
  if (child == 0) {
    const auto bytes = action();
    _exit(write(ends[1], bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()) ? 0 : 1);
  }
  close(ends[1]);
  auto bytes = read_all(ends[0]);
  close(ends[0]);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  return bytes;
}

pid_t by_fork() { return fork(); }
pid_t by_raw_clone() { return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr)); }

// AES-256 of counters 0 and 1 under the zero key; the first block is a value of NIST's AESAVS, appendix C.
TEST(AesStream, IsAes256InCounterMode) {
  AesStream stream;
  stream.restart(AesStream::Key{});
  std::array<std::byte, 32> bytes;
  stream.generate(bytes);
  EXPECT_EQ(hex(bytes), "dc95c078a2408989ad48a21492842087530f8afbc74536b9a963b4f1c4cb738b");
}

TEST(AesStream, IsOneStreamHoweverItIsCut) {
  AesStream whole;
  whole.restart(AesStream::Key{});
  std::array<std::byte, 100> expected;
  whole.generate(expected);
  AesStream cut;
  cut.restart(AesStream::Key{std::byte{1}});
  std::array<std::byte, 5> of_another_key;
  cut.generate(of_another_key);
  cut.restart(AesStream::Key{});
  std::array<std::byte, 100> bytes;
  const std::span all{bytes};
  cut.generate(all.first(1));
  cut.generate(all.subspan(1, 40));
  cut.generate(all.subspan(41));
  EXPECT_EQ(hex(bytes), hex(expected));
}

TEST(AesStream, InstructionsGiveTheStreamOfOpenSsl) {
  EXPECT_EQ(fastest_aes() == AesPath::vectors, VectorAes::is_available()) << "the stream of vectors is not that of OpenSSL";
  std::mt19937_64 random{6};
  AesStream by_openssl{AesPath::openssl};
  AesStream fastest{fastest_aes()};
  for (int key_number = 0; key_number < 200; ++key_number) {
    AesStream::Key key;
    for (auto& byte : key) byte = static_cast<std::byte>(random());
    by_openssl.restart(key);
    fastest.restart(key);
    for (int part = 0; part < 10; ++part) {
      // Lengths near the number of bytes computed at once, and much larger ones.
      const std::size_t size = part % 3 == 0 ? random() % 20 : part % 3 == 1 ? 500 + random() % 30 : random() % 6000;
      std::vector<std::byte> expected(size);
      std::vector<std::byte> bytes(size);
      by_openssl.generate(expected);
      fastest.generate(bytes);
      ASSERT_EQ(hex(bytes), hex(expected)) << "part " << part << " of key " << key_number;
    }
  }
}

TEST(SystemBits, EachPathGivesTheSameFromTheSameEntropy) {
  fixed_entropy = AesStream::Key{std::byte{5}};
  SystemBits by_openssl{AesPath::openssl};
  SystemBits fastest{fastest_aes()};
  EXPECT_EQ(draw(by_openssl, 3 * SystemBits::buffer_size), draw(fastest, 3 * SystemBits::buffer_size));
  fixed_entropy.reset();
}

// Computed with Python's hashlib and the openssl command: SHA-256 for the key, aes-256-ctr of zeros for the stream.
TEST(ReplayBits, GivesTheDocumentedStream) {
  ReplayBits bits{2026};
  const auto bytes = draw(bits, 5000);
  EXPECT_EQ(hex(std::span{bytes}.first(16)), "78521f9e68ec213077998c70e9f6e417");
  EXPECT_EQ(hex(std::span{bytes}.subspan(4088, 16)), "1a353c678a8aa0f346dc808c285fd464");
}

TEST(ReplayBits, GivesTheDocumentedSubstreams) {
  ReplayBits bits{2026};
  auto by_name = bits.substream("noise");
  EXPECT_EQ(hex(draw(by_name, 16)), "8458b318afb72e470db2ee2afc169f9b");
  static_cast<void>(draw(bits, 100));  // what was drawn does not matter
  auto by_number = bits.substream(7);
  EXPECT_EQ(hex(draw(by_number, 16)), "5a0801814887d371b8a578f8cf7dd0e5");
}

TEST(ReplayBits, SubstreamsShareNothing) {
  ReplayBits root{1};
  std::vector<ReplayBits> streams;
  streams.push_back(root.substream(0));
  streams.push_back(root.substream(1));
  streams.push_back(root.substream(std::string_view{"\0\0\0\0\0\0\0\0", 8}));  // the bytes of 0, yet another kind of name
  streams.push_back(root.substream("1"));
  streams.push_back(root.substream("1").substream("1"));
  streams.push_back(ReplayBits{2});
  streams.push_back(std::move(root));
  std::vector<std::vector<std::byte>> drawn;
  for (auto& stream : streams) drawn.push_back(draw(stream, 4096));
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) EXPECT_EQ(words_in_common(drawn[i], drawn[j]), 0U) << i << " and " << j;
  }
}

RC_GTEST_PROP(ReplayBits, IsOneStreamHoweverItIsCut, (std::uint64_t seed)) {
  const auto sizes = *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, 3000));
  ReplayBits cut{seed};
  std::vector<std::byte> joined;
  for (const auto size : sizes) {
    const auto part = draw(cut, size);
    joined.insert(joined.end(), part.begin(), part.end());
  }
  ReplayBits whole{seed};
  RC_ASSERT(draw(whole, joined.size()) == joined);
}

TEST(DrawWord, ReadsTheFirstByteAsTheLeast) {
  ReplayBits bits{2026};
  EXPECT_EQ(draw_word(bits), 0x3021ec689e1f5278U);
}

TEST(SystemBits, FillsEverySizeCompletely) {
  constexpr std::size_t buffer = SystemBits::buffer_size;
  SystemBits bits;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{8}, buffer - 33, buffer - 32, buffer - 31,
                                 buffer, buffer + 1, 10 * buffer + 7}) {
    // A byte is missed when it is zero in each of 16 draws, which happens by chance with probability 2^-128.
    std::vector<std::byte> seen(size);
    for (int repetition = 0; repetition < 16; ++repetition) {
      const auto bytes = draw(bits, size);
      for (std::size_t i = 0; i < size; ++i) seen[i] |= bytes[i];
    }
    EXPECT_EQ(std::count(seen.begin(), seen.end(), std::byte{0}), 0) << size;
  }
}

// Each refill is the keystream of a key, of which the first 32 bytes are kept for the next key and the rest is handed out. A key is the sum of 32
// bytes of the kept key's stream and 32 fresh ones.
TEST(SystemBits, FollowsFastKeyErasureWithFreshEntropy) {
  AesStream::Key kept{std::byte{7}, std::byte{8}};
  kept.back() = std::byte{9};
  fixed_entropy = kept;
  SystemBits bits;
  AesStream stream;
  for (int refill = 0; refill < 3; ++refill) {
    AesStream::Key fresh{};
    fresh.fill(static_cast<std::byte>(40 + refill));
    fixed_entropy = fresh;
    AesStream::Key key;
    stream.restart(kept);
    stream.generate(key);
    for (std::size_t i = 0; i < key.size(); ++i) key[i] ^= fresh[i];
    std::array<std::byte, SystemBits::buffer_size> keystream;
    stream.restart(key);
    stream.generate(keystream);
    std::copy_n(keystream.begin(), kept.size(), kept.begin());
    ASSERT_EQ(hex(draw(bits, keystream.size() - kept.size())), hex(std::span{keystream}.subspan(kept.size()))) << refill;
  }
  fixed_entropy.reset();
}

// As two machines that are restored from one snapshot: the same state, and entropy of their own from then on.
TEST(SystemBits, CopiesOfASnapshotPartAtTheNextRefillAndReservation) {
  for (const bool reserves : {false, true}) {
    fixed_entropy = AesStream::Key{std::byte{1}};
    SystemBits one;
    SystemBits other;
    EXPECT_EQ(draw(one, 1000), draw(other, 1000)) << "the same state";
    fixed_entropy.reset();
    constexpr std::size_t buffered = SystemBits::buffer_size - AesStream::key_size - 1000;
    if (reserves) {
      DrawnAhead::forget_all();
    } else {
      EXPECT_EQ(draw(one, buffered), draw(other, buffered)) << "which no process notices";
    }
    const auto first = draw(one, 1 << 16);
    const auto second = draw(other, 1 << 16);
    EXPECT_EQ(words_in_common(first, second), 0U);
    EXPECT_EQ(words_in_common(std::span{first}.first(1 << 15), std::span{first}.last(1 << 15)), 0U);
  }
}

TEST(SystemBits, AReservationForgetsOnceInEachObject) {
  fixed_entropy = AesStream::Key{};
  SystemBits one;
  SystemBits other;
  static_cast<void>(draw(one, 8));
  static_cast<void>(draw(other, 8));
  requests = 0;
  DrawnAhead::forget_all();
  DrawnAhead::forget_all();
  for (int call = 0; call < 3; ++call) static_cast<void>(draw(one, 8));
  EXPECT_EQ(requests, 2) << "the two parts of one request";
  static_cast<void>(draw(other, 8));
  EXPECT_EQ(requests, 4);
  fixed_entropy.reset();
}

TEST(SystemBits, NeverRepeatsAcrossRefillsAndObjects) {
  SystemBits first;
  SystemBits second;
  const auto a = draw(first, 1 << 16);
  const auto b = draw(first, 1 << 16);
  const auto c = draw(second, 1 << 16);
  EXPECT_EQ(words_in_common(a, b) + words_in_common(a, c) + words_in_common(b, c), 0U);
  EXPECT_EQ(words_in_common(a, a), std::size_t{1 << 13});
}

TEST(SystemBits, KeepsNoByteThatItHandedOut) {
  alignas(SystemBits) std::array<std::byte, sizeof(SystemBits)> storage{};
  auto* const bits = new (storage.data()) SystemBits;
  const auto contains = [&storage](std::span<const std::byte> bytes) {
    return std::search(storage.begin(), storage.end(), bytes.begin(), bytes.end()) != storage.end();
  };
  for (int repetition = 0; repetition < 2000; ++repetition) {
    const auto bytes = draw(*bits, 16);
    ASSERT_FALSE(contains(bytes));
  }
  bits->~SystemBits();
  EXPECT_GE(std::count(storage.begin(), storage.end(), std::byte{0}), static_cast<std::ptrdiff_t>(SystemBits::buffer_size));
}

TEST(SystemBits, ParentAndChildrenShareNothing) {
  for (const auto make_process : {by_fork, by_raw_clone}) {
    SystemBits bits;
    static_cast<void>(draw(bits, 100));  // the buffer is half used, and would be inherited
    const auto child = bytes_of_child(make_process, [&bits] { return draw(bits, 8192); });
    const auto sibling = bytes_of_child(make_process, [&bits] {
      const auto grandchild = bytes_of_child(by_fork, [&bits] { return draw(bits, 4096); });
      auto own = draw(bits, 4096);
      own.insert(own.end(), grandchild.begin(), grandchild.end());
      return own;
    });
    const auto parent = draw(bits, 8192);
    ASSERT_EQ(child.size() + sibling.size(), 16384U);
    EXPECT_EQ(words_in_common(parent, child) + words_in_common(parent, sibling) + words_in_common(child, sibling), 0U);
    EXPECT_EQ(words_in_common(std::span{sibling}.first(4096), std::span{sibling}.last(4096)), 0U);
  }
}

TEST(ReplayBits, ParentAndChildReplayTheSame) {
  ReplayBits bits{3};
  const auto child = bytes_of_child(by_fork, [&bits] { return draw(bits, 64); });
  EXPECT_EQ(draw(bits, 64), child);
}

TEST(SystemBits, ThreadsWithTheirOwnObjectsShareNothing) {
  std::array<std::vector<std::byte>, 2> drawn;
  std::vector<std::thread> threads;
  for (auto& mine : drawn) {
    threads.emplace_back([&mine] {
      SystemBits bits;
      mine = draw(bits, 1 << 16);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(words_in_common(drawn[0], drawn[1]), 0U);
}

/// From now on the kernel refuses getrandom in this process.
void take_entropy_away() {
  std::array<sock_filter, 4> program{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrandom, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog filter{.len = program.size(), .filter = program.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) _exit(77);
}

std::vector<std::byte> as_bytes(std::string_view text) {
  const auto bytes = std::as_bytes(std::span{text.data(), text.size()});
  return {bytes.begin(), bytes.end()};
}

TEST(SystemBits, RefusesToStartWithoutEntropy) {
  const auto message = bytes_of_child(by_fork, [] {
    take_entropy_away();
    try {
      SystemBits bits;
    } catch (const Error& error) {
      return as_bytes(fmt::format("{}: {}", error.code() == ErrorCode::environment, error.what()));
    }
    return as_bytes("no error");
  });
  EXPECT_EQ(message, as_bytes("true: random bits: the operating system gives no entropy (Function not implemented)"));
}

TEST(SystemBits, HandsOutNothingStaleWithoutEntropy) {
  SystemBits bits;
  static_cast<void>(draw(bits, 100));
  // A thread has a filter of its own; the process keeps its entropy.
  std::string text;
  std::thread{[&] {
    take_entropy_away();
    DrawnAhead::forget_all();
    for (int attempt = 0; attempt < 3; ++attempt) {
      try {
        static_cast<void>(draw(bits, 8));
        text += "drew ";
      } catch (const Error& error) {
        text += error.code() == ErrorCode::environment ? "refused " : "failed ";
      }
    }
  }}.join();
  EXPECT_EQ(text, "refused refused refused ");
}

TEST(SystemBits, NeverFallsBackOnInheritedBytesInAChildWithoutEntropy) {
  SystemBits bits;
  static_cast<void>(draw(bits, 100));
  const auto refusals = bytes_of_child(by_fork, [&bits] {
    take_entropy_away();
    std::string text;
    for (int attempt = 0; attempt < 3; ++attempt) {
      try {
        static_cast<void>(draw(bits, 8));
        text += "drew ";
      } catch (const Error&) {
        text += "refused ";
      }
    }
    return as_bytes(text);
  });
  EXPECT_EQ(refusals, as_bytes("refused refused refused "));
}

}  // namespace
}  // namespace surety::mechanisms::random_bits_test
