// The random bits of one run.
#pragma once

#include <cstdint>
#include <optional>

#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/mechanisms/bits/random_bits.h>

namespace surety::jobs {

/// Bits from the operating system, replayed from a seed, or the caller's own. Entropy fails here, before private data is read.
class RunBits {
 public:
  /// \throws Error{environment} where the system gives no entropy.
  explicit RunBits(const std::optional<std::uint64_t>& replay_seed);
  /// Those of the caller, who promises that they are no replay. What they refer to outlives this.
  explicit RunBits(mechanisms::BitsRef own) : own_{own} {}
  /// The bits, wherever they come from.
  [[nodiscard]] mechanisms::BitsRef source() {
    if (own_) return *own_;
    return replay_ ? mechanisms::BitsRef{*replay_} : mechanisms::BitsRef{*system_};
  }
  /// Whether they are a replay.
  [[nodiscard]] bool not_private() const noexcept { return replay_.has_value(); }
  /// `draw` with a reference to the bits, for what treats the two differently.
  template <class Draw>
  auto with(Draw draw) {
    if (own_) return draw(*own_);
    return replay_ ? draw(*replay_) : draw(*system_);
  }

 private:
  std::optional<mechanisms::SystemBits> system_;
  std::optional<mechanisms::ReplayBits> replay_;
  std::optional<mechanisms::BitsRef> own_;
};

}  // namespace surety::jobs
