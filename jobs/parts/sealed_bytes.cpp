#include <surety/jobs/parts/sealed_bytes.h>

#include <fmt/format.h>
#include <openssl/evp.h>

#include <utility>

#include <surety/base/text/error.h>

namespace surety::jobs {
namespace {

constexpr std::size_t checksum_bytes = 32;

std::string checksum_of(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &length, EVP_sha256(), nullptr) != 1 || length != checksum_bytes) {
    throw Error{ErrorCode::environment, "OpenSSL cannot compute SHA-256"};
  }
  return {reinterpret_cast<const char*>(digest.data()), length};
}

}  // namespace

SealedWriter::SealedWriter(const SealedKind& kind) : text_{kind.magic} { put(kind.version, four_bytes); }

void SealedWriter::put(std::uint64_t number, std::size_t bytes) {
  for (std::size_t k = 0; k < bytes; ++k) text_ += static_cast<char>(static_cast<unsigned char>(number >> (8 * k)));
}

void SealedWriter::put(statistics::ExactInteger number) {
  put(static_cast<std::uint64_t>(number), eight_bytes);
  put(static_cast<std::uint64_t>(number >> 64), eight_bytes);
}

std::string SealedWriter::sealed() && {
  text_ += checksum_of(text_);
  return std::move(text_);
}

SealedReader::SealedReader(std::string_view bytes, const SealedKind& kind) : left_{bytes}, name_{kind.name} {
  if (!bytes.starts_with(kind.magic)) refuse("is none");
  left_.remove_prefix(kind.magic.size());
  if (const auto version = number(four_bytes); version != kind.version) {
    refuse(fmt::format("is of version {}, must be of version {}, that of the Surety that reads it", version, kind.version));
  }
  require_room(1, checksum_bytes);
  if (checksum_of(bytes.substr(0, bytes.size() - checksum_bytes)) != bytes.substr(bytes.size() - checksum_bytes)) {
    refuse("is cut short or was changed: its checksum is wrong");
  }
  left_.remove_suffix(checksum_bytes);
}

std::string_view SealedReader::text(std::size_t bytes) {
  require_room(1, bytes);
  const auto found = left_.substr(0, bytes);
  left_.remove_prefix(bytes);
  return found;
}

std::uint64_t SealedReader::number(std::size_t bytes) {
  std::uint64_t result = 0;
  const auto found = text(bytes);
  for (std::size_t k = 0; k < bytes; ++k) result |= std::uint64_t{static_cast<unsigned char>(found[k])} << (8 * k);
  return result;
}

statistics::ExactInteger SealedReader::exact() {
  __extension__ using Unsigned = unsigned __int128;
  const Unsigned low = number(eight_bytes);
  const Unsigned high = number(eight_bytes);
  return static_cast<statistics::ExactInteger>(high << 64 | low);
}

void SealedReader::require_room(std::uint64_t count, std::size_t bytes) const {
  if (bytes != 0 && count > left_.size() / bytes) refuse("is cut short");
}

void SealedReader::require(bool holds) const {
  if (!holds) refuse("holds what cannot be");
}

void SealedReader::refuse(std::string_view reason) const { throw Error{ErrorCode::bad_data, fmt::format("{}: {}", name_, reason)}; }

std::string hexadecimal(std::span<const unsigned char> bytes) {
  std::string result;
  for (const auto byte : bytes) result += fmt::format("{:02x}", byte);
  return result;
}

}  // namespace surety::jobs
