// What one run does as several processes, as an algorithm sees it. Who starts them, and what they speak, is the business of whoever runs it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace surety::jobs {

using Clock = std::chrono::steady_clock;
using Words = std::vector<std::uint64_t>;

/// Ranks of one run, of which the first alone has the reservation and the noise.
class Team {
 public:
  Team() = default;
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  virtual ~Team() = default;

  [[nodiscard]] virtual std::size_t rank() const = 0;
  [[nodiscard]] virtual std::size_t size() const = 0;
  [[nodiscard]] bool is_first() const { return rank() == 0; }
  /// How long ranks wait for each other while they learn.
  [[nodiscard]] virtual std::chrono::milliseconds timeout() const = 0;
  virtual void send_frames(std::size_t to, Words frames) = 0;
  /// Frames from any rank; nothing until the deadline.
  [[nodiscard]] virtual std::optional<Words> receive_frames(Clock::time_point deadline) = 0;
};

/// One process.
class Alone final : public Team {
 public:
  [[nodiscard]] std::size_t rank() const override { return 0; }
  [[nodiscard]] std::size_t size() const override { return 1; }
  [[nodiscard]] std::chrono::milliseconds timeout() const override { return std::chrono::milliseconds::max(); }
  void send_frames(std::size_t /*to*/, Words /*frames*/) override {}
  [[nodiscard]] std::optional<Words> receive_frames(Clock::time_point /*deadline*/) override { return std::nullopt; }
};

}  // namespace surety::jobs
