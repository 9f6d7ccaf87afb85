#include <surety/mechanisms/bits/random_bits.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <functional>
#include <memory>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include <surety/base/text/error.h>
#include <surety/mechanisms/bits/vector_aes.h>

namespace surety::mechanisms {
namespace {

unsigned char* octets(std::byte* bytes) { return reinterpret_cast<unsigned char*>(bytes); }
const unsigned char* octets(const std::byte* bytes) { return reinterpret_cast<const unsigned char*>(bytes); }

[[noreturn]] void openssl_cannot(const char* what) {
  throw Error{ErrorCode::environment, fmt::format("random bits: OpenSSL cannot {}", what)};
}

/// Entropy from the kernel's pool, which exists from early boot on: a call waits for it rather than returning less.
void ask_operating_system(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = getrandom(bytes.data(), bytes.size(), 0);
    if (got < 0) {
      if (errno == EINTR) continue;
      throw Error{ErrorCode::environment,
                  fmt::format("random bits: the operating system gives no entropy ({})", std::generic_category().message(errno))};
    }
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
}

/// SHA-256 of the parts in order.
AesStream::Key digest(std::initializer_list<std::span<const std::byte>> parts) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(), EVP_MD_CTX_free};
  AesStream::Key key;
  bool good = context != nullptr && EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1;
  for (const auto part : parts) good = good && EVP_DigestUpdate(context.get(), part.data(), part.size()) == 1;
  good = good && EVP_DigestFinal_ex(context.get(), octets(key.data()), nullptr) == 1;
  if (!good) openssl_cannot("compute SHA-256");
  return key;
}

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span{text.data(), text.size()}); }

std::array<std::byte, 8> little_endian(std::uint64_t value) {
  std::array<std::byte, 8> bytes;
  for (auto& byte : bytes) {
    byte = static_cast<std::byte>(value & 0xff);
    value >>= 8;
  }
  return bytes;
}

}  // namespace

void AesStream::Free::operator()(evp_cipher_ctx_st* context) const noexcept { EVP_CIPHER_CTX_free(context); }

AesPath fastest_aes() {
  static const AesPath result = [] {
    if (!VectorAes::is_available()) return AesPath::openssl;
    AesStream::Key key;
    for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::byte>(151 * i + 13);
    // Of lengths that end within a block and within what is made at once.
    const auto stream_of = [&key](AesPath path) {
      std::array<std::byte, 1541> bytes;
      AesStream stream{path};
      stream.restart(key);
      stream.generate(std::span{bytes}.first(5));
      stream.generate(std::span{bytes}.subspan(5));
      return bytes;
    };
    return stream_of(AesPath::vectors) == stream_of(AesPath::openssl) ? AesPath::vectors : AesPath::openssl;
  }();
  return result;
}

AesStream::AesStream(AesPath path) {
  if (path == AesPath::vectors) {
    vectors_ = std::make_unique<VectorAes>();
    return;
  }
  context_.reset(EVP_CIPHER_CTX_new());
  if (context_ == nullptr || EVP_EncryptInit_ex(context_.get(), EVP_aes_256_ctr(), nullptr, nullptr, nullptr) != 1) {
    openssl_cannot("start AES-256-CTR");
  }
}

AesStream::AesStream(AesStream&&) noexcept = default;
AesStream& AesStream::operator=(AesStream&&) noexcept = default;
AesStream::~AesStream() = default;

void AesStream::restart(std::span<const std::byte, key_size> key) {
  if (vectors_ != nullptr) return vectors_->restart(key);
  static constexpr std::array<unsigned char, 16> counter{};
  if (EVP_EncryptInit_ex(context_.get(), nullptr, nullptr, octets(key.data()), counter.data()) != 1) openssl_cannot("set an AES-256 key");
}

void AesStream::generate(std::span<std::byte> bytes) {
  if (vectors_ != nullptr) return vectors_->generate(bytes);
  // The keystream is the encryption of zeros, in place; the library counts in int.
  constexpr std::size_t longest = std::size_t{1} << 30;
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min(bytes.size(), longest));
    std::memset(part.data(), 0, part.size());
    int written = 0;
    const int length = static_cast<int>(part.size());
    if (EVP_EncryptUpdate(context_.get(), octets(part.data()), &written, octets(part.data()), length) != 1 || written != length) {
      openssl_cannot("generate AES-256-CTR");
    }
    bytes = bytes.subspan(part.size());
  }
}

SystemBits::SystemBits() : SystemBits{fastest_aes()} {}

SystemBits::SystemBits(AesPath path) : stream_{path} { seed(); }

SystemBits::~SystemBits() { OPENSSL_cleanse(buffer_.data(), buffer_.size()); }

void SystemBits::forget() {
  OPENSSL_cleanse(buffer_.data(), buffer_.size());
  next_ = buffer_size;
}

void SystemBits::seed() {
  // What an inherited buffer holds belongs to the parent process, also if asking for entropy fails.
  forget();
  AesStream::Key key;
  ask_operating_system(key);
  stream_.restart(key);
  OPENSSL_cleanse(key.data(), key.size());
}

void SystemBits::refill() {
  // The stream is that of the key which the last refill, or the seed, has left. Its bytes and fresh ones are independent, so their sum is uniform where
  // either is. No digest of OpenSSL: another thread may draw while the process ends, when OpenSSL has freed its algorithms.
  AesStream::Key key;
  AesStream::Key fresh;
  ask_operating_system(fresh);
  stream_.generate(key);
  std::transform(key.begin(), key.end(), fresh.begin(), key.begin(), std::bit_xor<>{});
  stream_.restart(key);
  OPENSSL_cleanse(key.data(), key.size());
  OPENSSL_cleanse(fresh.data(), fresh.size());
  stream_.generate(buffer_);
  const auto next_key = std::span{buffer_}.first<AesStream::key_size>();
  stream_.restart(next_key);
  OPENSSL_cleanse(next_key.data(), next_key.size());
  next_ = AesStream::key_size;
}

void SystemBits::fill_across_refills(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    if (next_ == buffer_size) refill();
    const auto part = bytes.first(std::min(bytes.size(), buffer_size - next_));
    take(part);
    bytes = bytes.subspan(part.size());
  }
}

ReplayBits::ReplayBits(std::uint64_t seed) : ReplayBits{digest({bytes_of("surety replay bits 1"), little_endian(seed)})} {}

ReplayBits::ReplayBits(const AesStream::Key& key) : key_{key} { stream_.restart(key_); }

ReplayBits ReplayBits::substream(std::string_view name) const {
  return ReplayBits{digest({bytes_of("surety replay substream 1"), key_, bytes_of("s"), bytes_of(name)})};
}

ReplayBits ReplayBits::substream(std::uint64_t name) const {
  return ReplayBits{digest({bytes_of("surety replay substream 1"), key_, bytes_of("n"), little_endian(name)})};
}

void ReplayBits::fill_across_refills(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    if (next_ == buffer_.size()) {
      stream_.generate(buffer_);
      next_ = 0;
    }
    const auto part = bytes.first(std::min(bytes.size(), buffer_.size() - next_));
    take(part);
    bytes = bytes.subspan(part.size());
  }
}

}  // namespace surety::mechanisms
