#include <surety/optimizers/doors/run_releaser.h>

#include <cmath>
#include <limits>
#include <variant>

#include <fmt/format.h>

#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/releases.h>
#include <surety/base/text/error.h>

namespace surety::optimizers {
namespace {

double up(double value) { return std::nextafter(value, std::numeric_limits<double>::infinity()); }
double down(double value) { return std::nextafter(value, 0.0); }

/// At least count / z^2. Counts are exact doubles.
double cost(double multiplier, std::uint64_t count) { return up(up(static_cast<double>(count) / multiplier) / multiplier); }

}  // namespace

std::optional<double> squared_mu(const Event& event) {
  double sum = 0;
  for (const auto& [leaf, count] : accounting::Releases::of(event).entries()) {
    const auto* const gaussian = std::get_if<Event::Gaussian>(&leaf.node());
    if (gaussian == nullptr) return std::nullopt;
    sum = up(sum + cost(gaussian->multiplier.value(), count.value()));
  }
  return sum;
}

RunReleaser::RunReleaser(NoiseMultiplier run, Adjacency adjacency, mechanisms::BitsRef bits)
    : run_{run}, adjacency_{adjacency}, bits_{bits} {}

std::vector<double> RunReleaser::release(const GridVector& query, L2Sensitivity sensitivity, const Event& event) {
  const auto* const leaf = std::get_if<Event::Gaussian>(&event.node());
  if (leaf == nullptr) throw Error{ErrorCode::unsupported, fmt::format("no mechanism releases the event '{}'", describe(event))};
  const mechanisms::Gaussian::Options options{
      .multiplier = leaf->multiplier, .sensitivity = sensitivity, .grid = query.grid, .adjacency = event.adjacency()};
  if (!noise_ || noise_->options() != options) noise_.emplace(options);
  const double multiplier = leaf->multiplier.value();
  if (multiplier != multiplier_) {
    if (count_ > 0) before_ = up(before_ + cost(multiplier_, count_));
    multiplier_ = multiplier;
    count_ = 0;
  }
  ++count_;
  const double allowed = down(down(1 / run_.value()) / run_.value());
  const bool is_whole_run = before_ == 0 && count_ == 1 && multiplier >= run_.value();
  if (event.adjacency() != adjacency_ || !(is_whole_run || up(before_ + cost(multiplier_, count_)) <= allowed)) {
    throw Error{ErrorCode::internal,
                fmt::format("a run of a search releases '{}' beyond what is charged for it, gaussian({})", describe(event), run_.value())};
  }
  return noise_->release(query, bits_);
}

}  // namespace surety::optimizers
