#include <surety/jobs/algorithms/rank_exchange.h>

#include <utility>

namespace surety::jobs {

using namespace optimizers;

RankExchange::RankExchange(Team& team, std::size_t learners)
    : team_{team}, learners_{learners}, local_{part_of_node(learners, team.size(), team.rank())} {}

std::span<const double> RankExchange::vector_of(std::size_t learner, std::span<const double> parameters) const {
  const std::size_t dimension = parameters.size() / local_.count();
  return parameters.subspan((learner - local_.first) * dimension, dimension);
}

void RankExchange::receive_all(std::uint64_t round, std::span<const std::size_t> awaited, std::size_t dimension) {
  if (!inbox_) inbox_.emplace(learners_, local_, dimension);
  inbox_->open(round);
  const auto deadline = Clock::now() + team_.timeout();
  while (const auto missing = inbox_->missing(awaited)) {
    const auto frames = team_.receive_frames(deadline);
    if (!frames) refuse_to_wait(round, *missing, team_.timeout());
    optimizers::receive_frames(*frames, *inbox_);
  }
}

void RankExchange::exchange(std::uint64_t round, const MixingMatrix& matrix, std::span<const double> parameters, std::span<double> mixed) {
  require_exchangeable(matrix, learners_, local_, parameters, mixed);
  for (std::size_t rank = 0; rank < team_.size(); ++rank) {
    if (rank == team_.rank()) continue;
    Words frames;
    for (const std::size_t learner : awaited_learners(matrix, part_of_node(learners_, team_.size(), rank))) {
      if (local_.contains(learner)) append_frame(round, learner, vector_of(learner, parameters), frames);
    }
    if (!frames.empty()) team_.send_frames(rank, std::move(frames));
  }
  receive_all(round, awaited_learners(matrix, local_), parameters.size() / local_.count());
  mix_rows(matrix, local_, parameters, *inbox_, mixed);
}

std::vector<double> RankExchange::gather(std::span<const double> parameters) {
  const std::size_t dimension = parameters.size() / local_.count();
  const std::uint64_t round = gather_++;
  if (!team_.is_first()) {
    Words frames;
    for (std::size_t i = local_.first; i < local_.last; ++i) append_frame(round, i, vector_of(i, parameters), frames);
    team_.send_frames(0, std::move(frames));
    return {};
  }
  std::vector<std::size_t> others;
  for (std::size_t i = local_.last; i < learners_; ++i) others.push_back(i);
  receive_all(round, others, dimension);
  std::vector<double> all{parameters.begin(), parameters.end()};
  for (const std::size_t i : others) {
    const auto values = inbox_->values(i).value();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

}  // namespace surety::jobs
