#include <surety/optimizers/doors/epoch_releaser.h>

#include <fmt/format.h>

#include <surety/base/text/error.h>

namespace surety::optimizers {

std::vector<std::size_t> EpochRounds::next(std::size_t records, mechanisms::BitsRef bits) {
  if (!is_within()) {
    epoch_.emplace(allocation_.deal(records, bits));
    records_ = records;
    drawn_ = 0;
  } else if (records != records_) {
    throw Error{ErrorCode::internal, "the number of records changes inside an epoch, must be the one that was dealt"};
  }
  const auto batch = epoch_->batch(drawn_++);
  return {batch.begin(), batch.end()};
}

std::span<const std::size_t> NoisyEpochReleaser::draw_batch(std::size_t records) {
  home_.require_here("this releaser");
  auto batch = rounds_.next(records, bits_);
  if (rounds_.has_just_begun()) charged_.reset();
  return batch_.hold(std::move(batch));
}

std::vector<double> NoisyEpochReleaser::release_sampled(const GridVector& query, L2Sensitivity sensitivity, const Event& event) {
  home_.require_here("this releaser");
  batch_.require_fresh();
  if (charged_ && !(event == *charged_)) {
    throw Error{ErrorCode::internal,
                fmt::format("release is '{}', must be '{}' in all rounds of this epoch", describe(event), describe(*charged_))};
  }
  const Event epoch = rounds_.allocation().event(event);
  const auto noise = detail::noise_of(query, event);
  batch_.use();
  if (!charged_) {
    reservation_.spend(epoch);
    charged_ = event;
  }
  return noise.release(query, sensitivity, bits_);
}

std::vector<double> NoisyEpochReleaser::release(const GridVector& query, L2Sensitivity sensitivity, const Event& event) {
  if (rounds_.is_within()) throw Error{ErrorCode::internal, "a query of all records is released inside an epoch, must be between epochs"};
  return detail::spend_and_release(reservation_, bits_, query, sensitivity, event, event, nullptr);
}

}  // namespace surety::optimizers
