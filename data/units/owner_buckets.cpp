#include <surety/data/units/owner_buckets.h>

#include <openssl/evp.h>

#include <array>

#include <surety/base/text/error.h>

namespace surety::data {
namespace {

[[noreturn]] void md5_cannot() {
  throw Error{ErrorCode::environment, "units: OpenSSL cannot compute MD5, which finds the buckets of owners"};
}

}  // namespace

OwnerBucketFinder::OwnerBucketFinder() : md5_{EVP_MD_fetch(nullptr, "MD5", nullptr)}, context_{EVP_MD_CTX_new()} {
  if (md5_ != nullptr && context_ != nullptr) return;
  EVP_MD_CTX_free(context_);
  EVP_MD_free(md5_);
  md5_cannot();
}

OwnerBucketFinder::~OwnerBucketFinder() {
  EVP_MD_CTX_free(context_);
  EVP_MD_free(md5_);
}

std::size_t OwnerBucketFinder::operator()(std::string_view name) const {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  if (EVP_DigestInit_ex(context_, md5_, nullptr) != 1 || EVP_DigestUpdate(context_, name.data(), name.size()) != 1 ||
      EVP_DigestFinal_ex(context_, digest.data(), &length) != 1 || length < 2) {
    md5_cannot();
  }
  return std::size_t{digest[0]} << 4 | digest[1] >> 4;
}

}  // namespace surety::data
