// Noise drawn ahead, so that the time of one call says nothing about the sample that it returns.
//
// For a sampler whose time depends on what it draws, and for single draws at the speed of bulk ones. A buffer of samples is filled at once, at calls whose places are known to everybody
// (the first, every `size` calls, and the first after a reservation), and handed out one by one, each in the same few instructions. Who watches the clock sees the time of
// whole buffers: the sum over `size` samples, none of which he can tell from another. docs/proofs/samplers.md#time.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include <surety/base/system/drawn_ahead.h>
#include <surety/mechanisms/bits/bits_ref.h>

namespace surety::mechanisms {

namespace detail {

/// Samples that are each taken once, in the process that drew them, and then erased.
class SampleBuffer {
 public:
  /// \pre size >= 1. \throws std::bad_alloc.
  explicit SampleBuffer(std::size_t size);
  /// Erases the samples.
  ~SampleBuffer();
  SampleBuffer(SampleBuffer&& other) noexcept;
  SampleBuffer& operator=(SampleBuffer&& other) noexcept;
  SampleBuffer(const SampleBuffer&) = delete;
  SampleBuffer& operator=(const SampleBuffer&) = delete;

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// The next sample. Where none is left, or the process is a copy of the one that drew them, or a reservation was made since, what is left is erased
  /// and `refill(span)` is called first; when that throws, the buffer stays empty.
  template <class Refill>
  [[nodiscard]] std::int64_t take(Refill refill) {
    if (state_ == nullptr || state_->guard.entered_new_process() || state_->ahead.must_be_forgotten() || state_->next == size_)
        [[unlikely]] {
      start_again();
      refill(std::span{state_->samples.get(), size_});
      state_->next = 0;
    }
    std::int64_t& slot = state_->samples[state_->next++];
    const std::int64_t sample = slot;
    // Volatile, or the compiler may leave out what nobody reads.
    *static_cast<volatile std::int64_t*>(&slot) = 0;
    return sample;
  }

 private:
  /// Apart from the object, since the guard does not move.
  struct State {
    explicit State(std::size_t size) : samples{std::make_unique<std::int64_t[]>(size)}, next{size} {}
    std::unique_ptr<std::int64_t[]> samples;
    std::size_t next;
    ForkGuard guard;
    DrawnAhead ahead;
  };

  void erase() noexcept;
  /// An erased buffer with nothing to take.
  void start_again();

  std::size_t size_;
  std::unique_ptr<State> state_;
};

}  // namespace detail

/// What can be drawn ahead: any sampler of integers with a bulk form.
template <class Sampler>
concept BulkSampler = requires(const Sampler& sampler, std::span<std::int64_t> samples, BitsRef bits) {
  sampler.fill(samples, bits);
};

/// A sampler with a buffer of its samples. For DiscreteGaussianNoise, DiscreteLaplaceNoise, GeometricNoise, RoundedGaussian,
/// RoundedLaplace, TruncatedGeometricNoise and the like.
///
/// Moved, never copied: a copy would hand out the same noise twice. A process made by fork() or clone gets none of its parent's samples: it
/// draws its own, which differ if the bits do (SystemBits do, ReplayBits replay). After a reservation of a ledger samples are drawn anew. Samples are
/// erased from the buffer when taken, when a fork or a reservation is noticed and when the object ends. One object per thread, or a lock around it.
///
/// Time: each call that does not fill the buffer takes the same loads and stores whatever the samples are (some nanoseconds); one that
/// does takes the time of `Sampler::fill` for the whole buffer. Memory: 8 bytes per sample.
template <BulkSampler Sampler>
class DrawAhead {
 public:
  static constexpr std::size_t default_size = 1024;

  /// Draws nothing yet. \pre size >= 1; a size of 0 is taken for 1. \throws std::bad_alloc.
  explicit DrawAhead(Sampler sampler, std::size_t size = default_size) : sampler_{std::move(sampler)}, buffer_{size == 0 ? 1 : size} {}

  [[nodiscard]] const Sampler& sampler() const noexcept { return sampler_; }
  /// Samples that are drawn at once.
  [[nodiscard]] std::size_t size() const noexcept { return buffer_.size(); }

  /// The next sample. Every `size` calls are one `sampler().fill` of as many samples from the `bits` of the first of them.
  /// \throws what the bits throw; the buffer is then empty, and the next call tries again.
  [[nodiscard]] std::int64_t operator()(BitsRef bits) {
    return buffer_.take([&](std::span<std::int64_t> samples) { sampler_.fill(samples, bits); });
  }

 private:
  Sampler sampler_;
  detail::SampleBuffer buffer_;
};

}  // namespace surety::mechanisms
