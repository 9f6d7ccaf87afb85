// Learners spread over the ranks of a team.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <surety/jobs/run/team.h>
#include <surety/optimizers/gossip/exchange.h>

namespace surety::jobs {

/// The engine that spreads learners over a team, as optimizers::Exchange. Only what it is given is sent: released parameters, the same
/// bytes to every neighbour, each at most once to a rank.
class RankExchange final : public optimizers::Exchange {
 public:
  /// \throws Error{invalid_argument} for more ranks than learners.
  RankExchange(Team& team, std::size_t learners);

  [[nodiscard]] std::size_t learners() const noexcept override { return learners_; }
  [[nodiscard]] optimizers::LearnerRange local() const noexcept override { return local_; }
  void exchange(std::uint64_t round, const optimizers::MixingMatrix& matrix, std::span<const double> parameters,
                std::span<double> mixed) override;
  [[nodiscard]] std::vector<double> gather(std::span<const double> parameters) override;

 private:
  [[nodiscard]] std::span<const double> vector_of(std::size_t learner, std::span<const double> parameters) const;
  /// Waits for the messages of all `awaited` learners. \throws Error{environment} when one does not come in time.
  void receive_all(std::uint64_t round, std::span<const std::size_t> awaited, std::size_t dimension);

  Team& team_;
  std::size_t learners_;
  std::uint64_t gather_ = optimizers::gather_round;  ///< the round of the next `gather`
  optimizers::LearnerRange local_;
  std::optional<optimizers::Inbox> inbox_;  ///< made when the dimension is known
};

}  // namespace surety::jobs
