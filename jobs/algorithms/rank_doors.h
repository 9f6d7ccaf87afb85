// The doors of a training whose records are spread over the ranks of an mpirun.
//
// Every rank runs the same algorithm with the same options on its own share of the records. At each release the later ranks send their exact
// sums, which are integers, to the first; it adds them, asks its own door for the noise, and sends back what was released. So an algorithm
// need not know of ranks, all ranks hold the same weights to the last bit, and these are those of one process with all records: sums of
// integers know no order. A batch is drawn by the first rank over all records; each rank is told which of its own are in it.
//
// Only the first rank has noise and a reservation, and it sees the exact sum of every rank: docs/trust.md says who has to trust whom.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <surety/accounting/ledger/ledger.h>
#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/optimizers/doors/run.h>
#include <surety/optimizers/doors/sampled_releaser.h>
#include <surety/optimizers/empirical_risk/sampled_sgd.h>

#include <surety/jobs/doors/releasers.h>
#include <surety/jobs/run/team.h>

namespace surety::jobs {

/// What is sent at each release, in words, and checked.
class RankSums {
 public:
  /// \param records of all ranks
  RankSums(Team& team, std::uint64_t records) : team_{team}, records_{records} {}

  /// At the first rank: `own` and what all later ranks send. \param sensitivity of the sum: what one record adds is at most that
  /// \throws Error{unsupported} when so many records could go beyond largest_sum, where a sum would depend on who holds which of them;
  ///         Error{environment} when a rank does not send in time, or sends another round or grid.
  [[nodiscard]] GridVector add_others(GridVector own, L2Sensitivity sensitivity);
  /// At the first rank: tells all others.
  void tell(std::span<const double> released);
  /// At a later rank: sends its sum, and waits for what was released. \throws Error{environment} when that does not come in time.
  [[nodiscard]] std::vector<double> send_and_await(const GridVector& own);

  /// At the first rank: tells each rank which of its own records are in the batch. \return its own. \pre places ascend
  /// \param counts how many records each rank has
  [[nodiscard]] std::vector<std::size_t> share_out(std::span<const std::size_t> places, std::span<const std::uint64_t> counts);
  /// At a later rank: which of its records are in the batch. \throws Error{environment} when that does not come in time, or is not ascending
  /// and below `records`.
  [[nodiscard]] std::vector<std::size_t> await_places(std::size_t records);

 private:
  enum class Purpose : std::uint64_t { sum = 1, released, batch };
  /// The next message of the first rank, without its head.
  [[nodiscard]] Words await_from_first(Purpose purpose);
  [[nodiscard]] Words expect(Purpose purpose, Words words) const;
  [[nodiscard]] Words head(Purpose purpose) const;
  [[nodiscard]] Words receive();

  Team& team_;
  std::uint64_t records_;
  std::uint64_t round_ = 0;  ///< releases so far
};

/// How many records each rank trains on, from what each knows of its own. Waits for all of them as long as they read.
/// \throws Error{environment} for a damaged message.
[[nodiscard]] std::vector<std::uint64_t> counts_of_ranks(Team& team, std::uint64_t own);

/// A `Releaser` of all ranks together. \pre `own` at the first rank
class RanksReleaser final : public optimizers::Releaser {
 public:
  /// \param records of all ranks
  RanksReleaser(Team& team, std::uint64_t records, optimizers::Releaser* own)
      : is_first_{team.is_first()}, sums_{team, records}, own_{own} {}

  [[nodiscard]] std::vector<double> release(const GridVector& query, L2Sensitivity sensitivity, const Event& event) override;

 private:
  bool is_first_;
  RankSums sums_;
  optimizers::Releaser* own_;
};

/// A `SamplingReleaser` of all ranks together, whose batches are of all records. \pre `own` at the first rank
class RanksSamplingReleaser final : public optimizers::SamplingReleaser {
 public:
  RanksSamplingReleaser(Team& team, std::vector<std::uint64_t> counts, optimizers::SamplingReleaser* own);

  /// \param records of this rank. \return those of them that are in the batch
  [[nodiscard]] std::span<const std::size_t> draw_batch(std::size_t records) override;
  [[nodiscard]] std::vector<double> release_sampled(const GridVector& query, L2Sensitivity sensitivity, const Event& event) override;
  [[nodiscard]] std::vector<double> release(const GridVector& query, L2Sensitivity sensitivity, const Event& event) override;

 private:
  bool is_first_;
  std::vector<std::uint64_t> counts_;
  std::uint64_t all_;
  RankSums sums_;
  optimizers::SamplingReleaser* own_;
  std::vector<std::size_t> places_;
};

/// Where a training asks for its releases: in one process at its reservation, on several ranks at the first one's.
class TrainingDoors {
 public:
  /// \param reservation of the first rank, null at the others. \param counts as `counts_of_ranks`. \param is_pure whether the training's noise is pure
  TrainingDoors(Team& team, accounting::Reservation* reservation, mechanisms::BitsRef bits, std::vector<std::uint64_t> counts,
                bool is_pure = false)
      : team_{team}, reservation_{reservation}, bits_{bits}, counts_{std::move(counts)}, is_pure_{is_pure} {}

  /// In one process, at a door of somebody else's.
  TrainingDoors(Team& team, optimizers::Releaser& releaser, mechanisms::BitsRef bits)
      : team_{team}, reservation_{nullptr}, bits_{bits}, releaser_{&releaser} {}

  /// For what is drawn beside noise: what depends on it is used at the first rank alone.
  [[nodiscard]] mechanisms::BitsRef bits() const noexcept { return bits_; }

  /// learn(releaser) at the door.
  template <class Learn>
  [[nodiscard]] std::vector<double> learn(const Learn& learn) const {
    if (releaser_) return learn(*releaser_);
    const auto own = reservation_ == nullptr ? nullptr
                     : is_pure_              ? releasers().of_vector(*reservation_, bits_)
                                             : releasers().gaussian(*reservation_, bits_);
    if (team_.size() == 1) return learn(*own);
    RanksReleaser releaser{team_, std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0}), own.get()};
    return learn(releaser);
  }
  /// The same on batches of `sampler`. \pre on several ranks no batches of an epoch
  template <class Learn>
  [[nodiscard]] std::vector<double> learn(const optimizers::AnySampler& sampler, const Learn& learn) const {
    const auto own = reservation_ != nullptr ? releasers().sampling(*reservation_, bits_, sampler) : nullptr;
    if (team_.size() == 1) return learn(*own);
    RanksSamplingReleaser releaser{team_, counts_, own.get()};
    return learn(releaser);
  }

 private:
  Team& team_;
  accounting::Reservation* reservation_;
  mechanisms::BitsRef bits_;
  std::vector<std::uint64_t> counts_;
  bool is_pure_ = false;
  optimizers::Releaser* releaser_ = nullptr;
};

}  // namespace surety::jobs
