// The random bits of one run.
#pragma once

#include <cstdint>
#include <optional>

#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/mechanisms/bits/random_bits.h>

namespace surety::jobs {

/// Bits from the operating system, or replayed from a seed. Entropy fails here, before private data is read.
class RunBits {
 public:
  /// \throws Error{environment} where the system gives no entropy.
  explicit RunBits(const std::optional<std::uint64_t>& replay_seed);
  /// The bits, wherever they come from.
  [[nodiscard]] mechanisms::BitsRef source() { return replay_ ? mechanisms::BitsRef{*replay_} : mechanisms::BitsRef{*system_}; }
  /// Whether they are a replay.
  [[nodiscard]] bool not_private() const noexcept { return replay_.has_value(); }
  /// `draw` with a reference to the bits, for what treats the two differently.
  template <class Draw>
  auto with(Draw draw) {
    return replay_ ? draw(*replay_) : draw(*system_);
  }

 private:
  std::optional<mechanisms::SystemBits> system_;
  std::optional<mechanisms::ReplayBits> replay_;
};

}  // namespace surety::jobs
