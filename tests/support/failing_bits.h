// Replayed bits that fail at a call.
#pragma once

#include <cstddef>
#include <span>

#include <surety/base/text/error.h>
#include <surety/mechanisms/bits/random_bits.h>

namespace surety::testing {

class FailingBits {
 public:
  /// Fails after so many calls.
  explicit FailingBits(int calls) : calls_{calls} {}
  void fill(std::span<std::byte> bytes) {
    if (calls_-- == 0) throw Error{ErrorCode::environment, "no bits"};
    bits_.fill(bytes);
  }

 private:
  int calls_;
  mechanisms::ReplayBits bits_{1};
};

}  // namespace surety::testing

template <>
inline constexpr bool surety::is_cryptographic<surety::testing::FailingBits> = true;
