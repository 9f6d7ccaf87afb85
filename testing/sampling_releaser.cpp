#include <surety/testing/sampling_releaser.h>

#include <fmt/format.h>

#include <surety/base/text/error.h>

namespace surety::testing {

std::span<const std::size_t> ScriptedSamplingReleaser::draw_batch(std::size_t records) {
  if (drawn_ == batches_.size()) invalid(fmt::format("the script ends after {} batches", drawn_));
  for (const std::size_t place : batches_[drawn_]) {
    if (place >= records) invalid(fmt::format("batch {} of the script has place {}, must be below {}", drawn_, place, records));
  }
  return batch_.hold(batches_[drawn_++]);
}

std::vector<double> ScriptedSamplingReleaser::answer(Request request) {
  const std::size_t step = log_.size();
  if (step == released_.size()) invalid(fmt::format("the script ends after {} releases", step));
  if (released_[step].size() != request.query.steps.size()) {
    invalid(fmt::format("release {} of the script has {} coordinates, the query has {}", step, released_[step].size(),
                        request.query.steps.size()));
  }
  log_.push_back(std::move(request));
  return released_[step];
}

}  // namespace surety::testing
