// Into which of 4,096 buckets owners fall, where a table is read in parts: so that an owner who is in two of them is noticed.
//
// The bucket of an owner is the first three hexadecimal digits of the MD5 of its name, as bytes: what `substr(md5(name), 1, 3)` says, or what an engine
// calls so. MD5 is there because every engine has it; nothing secret rests on it.
#pragma once

#include <bitset>
#include <cstddef>
#include <string_view>

struct evp_md_ctx_st;
struct evp_md_st;

namespace surety::data {

inline constexpr std::size_t owner_buckets = 4096;
using OwnerBuckets = std::bitset<owner_buckets>;

/// Finds the buckets of names, one after the other.
class OwnerBucketFinder {
 public:
  /// \throws Error{environment} where OpenSSL has no MD5.
  OwnerBucketFinder();
  ~OwnerBucketFinder();
  OwnerBucketFinder(const OwnerBucketFinder&) = delete;
  OwnerBucketFinder& operator=(const OwnerBucketFinder&) = delete;

  /// Below `owner_buckets`. \param name as the reader gives it: of a CSV cell its text without quotes, of an int64 of an Arrow stream its digits
  /// \throws Error{environment} when OpenSSL fails.
  [[nodiscard]] std::size_t operator()(std::string_view name) const;

 private:
  evp_md_st* md5_;
  evp_md_ctx_st* context_;
};

}  // namespace surety::data
