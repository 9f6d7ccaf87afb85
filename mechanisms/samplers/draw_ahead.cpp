#include <surety/mechanisms/samplers/draw_ahead.h>

#include <memory>

#include <openssl/crypto.h>

namespace surety::mechanisms::detail {

SampleBuffer::SampleBuffer(std::size_t size) : size_{size}, state_{std::make_unique<State>(size)} {}

SampleBuffer::~SampleBuffer() { erase(); }

SampleBuffer::SampleBuffer(SampleBuffer&& other) noexcept = default;

SampleBuffer& SampleBuffer::operator=(SampleBuffer&& other) noexcept {
  if (this == &other) return *this;
  erase();
  size_ = other.size_;
  state_ = std::move(other.state_);
  return *this;
}

void SampleBuffer::erase() noexcept {
  if (state_ == nullptr) return;
  OPENSSL_cleanse(state_->samples.get(), size_ * sizeof(std::int64_t));
  state_->next = size_;
}

void SampleBuffer::start_again() {
  // What was moved from has lost its buffer.
  if (state_ == nullptr) state_ = std::make_unique<State>(size_);
  erase();
}

}  // namespace surety::mechanisms::detail
