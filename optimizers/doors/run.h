// The one door for data: a `Releaser`.
//
// An algorithm that reads private records computes a query on a grid, says how far one record can move it (l2 sensitivity) and
// what kind of release it asks for (the event), and gets a noisy vector back. Everything that it computes from released vectors
// and public values alone is post-processing and costs nothing; nothing else that depends on records may leave it, not even into
// its own next step (docs/proofs/gradient-descent.md#releaser). Every optimizer is generic over the releaser, so the code that
// draws noise in production replays a script under test, where one record is replaced, the released values are held fixed, and
// every value outside the queries must stay the same.
#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/numbers/error.h>
#include <surety/accounting/events/event.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/queries/grid.h>
#include <surety/mechanisms/queries/sensitivity.h>

namespace surety::optimizers {

/// release(query, sensitivity, event): one noisy value per coordinate of `query`, in data units. `sensitivity` bounds, under
/// event.adjacency(), how far one record moves the query in l2, given everything that was released before.
template <class R>
concept Releaser = requires(R& releaser, const GridVector& query, L2Sensitivity sensitivity, const Event& event) {
  { releaser.release(query, sensitivity, event) } -> std::same_as<std::vector<double>>;
};

/// Spends from a reservation, then draws the noise. What production uses; private when `Bits` is cryptographic.
template <mechanisms::ReleaseBits Bits>
class NoisyReleaser {
 public:
  /// Both must outlive the releaser.
  NoisyReleaser(accounting::Reservation& reservation, Bits& bits) : reservation_{reservation}, bits_{bits} {}

  /// The query plus N(0, (z sensitivity)^2) per coordinate, rounded exactly to the query's grid, for the event gaussian(z).
  /// Parameters are checked first, the event is spent next, and only then is a random bit drawn.
  /// \throws Error{unsupported} for an event that is not Gaussian; Error{internal} when the reservation does not hold it;
  ///         Error{invalid_argument} when the noise does not fit the grid.
  [[nodiscard]] std::vector<double> release(const GridVector& query, L2Sensitivity sensitivity, const Event& event) {
    const auto* const leaf = std::get_if<Event::Gaussian>(&event.node());
    if (leaf == nullptr) throw Error{ErrorCode::unsupported, fmt::format("no mechanism releases the event '{}'", describe(event))};
    const mechanisms::Gaussian::Options options{
        .multiplier = leaf->multiplier, .sensitivity = sensitivity, .grid = query.grid, .adjacency = event.adjacency()};
    if (!noise_ || noise_->options() != options) noise_.emplace(options);
    reservation_.spend(event);
    return noise_->release(query, bits_);
  }

 private:
  accounting::Reservation& reservation_;
  Bits& bits_;
  std::optional<mechanisms::Gaussian> noise_;  ///< the last one: its tables take milliseconds to make
};

/// Returns the query itself: NOT private. The same algorithm without its noise, for tests and as a baseline.
struct ExactReleaser {
  [[nodiscard]] std::vector<double> release(const GridVector& query, L2Sensitivity /*sensitivity*/, const Event& /*event*/) const {
    return mechanisms::to_reals(query);
  }
};

/// Replays released values and logs what was asked: for tests. What it returns does not depend on the data at all.
class ScriptedReleaser {
 public:
  /// What an algorithm asked in one release.
  struct Request {
    GridVector query;
    L2Sensitivity sensitivity;
    Event event;
  };

  /// `released[t]` is the answer to request t.
  explicit ScriptedReleaser(std::vector<std::vector<double>> released) : released_{std::move(released)} {}

  /// \throws Error{invalid_argument} when the script is over, or its next vector is not as long as the query.
  [[nodiscard]] std::vector<double> release(const GridVector& query, L2Sensitivity sensitivity, const Event& event) {
    const std::size_t step = log_.size();
    if (step == released_.size()) throw Error{ErrorCode::invalid_argument, fmt::format("the script ends after {} releases", step)};
    if (released_[step].size() != query.steps.size()) {
      throw Error{ErrorCode::invalid_argument, fmt::format("release {} of the script has {} coordinates, the query has {}", step,
                                                           released_[step].size(), query.steps.size())};
    }
    log_.push_back({query, sensitivity, event});
    return released_[step];
  }

  [[nodiscard]] const std::vector<Request>& log() const noexcept { return log_; }

 private:
  std::vector<std::vector<double>> released_;
  std::vector<Request> log_;
};

static_assert(Releaser<ExactReleaser> && Releaser<ScriptedReleaser>);

}  // namespace surety::optimizers
