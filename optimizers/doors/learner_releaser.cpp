#include <surety/optimizers/doors/learner_releaser.h>

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <surety/accounting/events/event_kinds.h>
#include <surety/base/text/error.h>

namespace surety::optimizers {
namespace {

double above(double value) { return std::nextafter(value, std::numeric_limits<double>::infinity()); }

}  // namespace

L1Sensitivity l1_sensitivity(L2Sensitivity sensitivity, std::size_t dimension) {
  return L1Sensitivity{above(above(std::sqrt(static_cast<double>(dimension))) * sensitivity.value())};
}

LearnerMechanism::LearnerMechanism(const Event& release, const Grid& grid, std::size_t dimension, L2Sensitivity sensitivity)
    : grid_{grid}, dimension_{dimension}, sensitivity_{sensitivity}, mechanism_{make(release, grid, dimension, sensitivity)} {}

LearnerMechanism::Mechanism LearnerMechanism::make(const Event& release, const Grid& grid, std::size_t dimension,
                                                   L2Sensitivity sensitivity) {
  const Adjacency adjacency = release.adjacency();
  if (const auto* laplace = std::get_if<Event::Laplace>(&release.node())) {
    return mechanisms::Laplace{
        {.scale = laplace->scale, .sensitivity = l1_sensitivity(sensitivity, dimension), .grid = grid, .adjacency = adjacency}};
  }
  if (const auto* k_norm = std::get_if<Event::KNorm>(&release.node());
      k_norm != nullptr && k_norm->norm == NormName::l2 && k_norm->dimension.value() == dimension) {
    return mechanisms::KNorm{
        {.scale = k_norm->scale, .sensitivity = sensitivity, .grid = grid, .dimension = k_norm->dimension, .adjacency = adjacency}};
  }
  if (const auto* gaussian = std::get_if<Event::Gaussian>(&release.node())) {
    return mechanisms::Gaussian{{.multiplier = gaussian->multiplier, .sensitivity = sensitivity, .grid = grid, .adjacency = adjacency}};
  }
  throw Error{ErrorCode::unsupported,
              fmt::format("no mechanism releases the event '{}' for {} coordinates of a learner", describe(release), dimension)};
}

std::vector<double> LearnerMechanism::release(const GridVector& query, mechanisms::BitsRef bits) const {
  return std::visit([&](const auto& mechanism) { return mechanism.release(query, bits); }, mechanism_);
}

void NoisyLearnerReleaser::begin(const GossipPass& pass) {
  if (pass_) throw Error{ErrorCode::internal, "a releaser of learners has begun a run, must be new for another"};
  pass_ = pass;
}

std::vector<double> NoisyLearnerReleaser::release(std::size_t learner, std::uint64_t round, const GridVector& query,
                                                  L2Sensitivity sensitivity) {
  home_.require_here("this releaser");
  if (!pass_) throw Error{ErrorCode::internal, "a releaser of learners has not begun, must be told the pass first"};
  if (!mechanism_ || !mechanism_->is_for(query, sensitivity)) {
    mechanism_.emplace(pass_->release, query.grid, query.steps.size(), sensitivity);
  }
  const auto [next, is_new] = next_round_.try_emplace(learner, 0);
  if (round < next->second) {
    throw Error{ErrorCode::internal, fmt::format("learner {} releases in round {}, must be in round {} or later: one release a round",
                                                 learner, round, next->second)};
  }
  while (reservation_ != nullptr && passes_ <= round / pass_->rounds) {
    reservation_->spend(pass_->pass);
    ++passes_;
  }
  next->second = round + 1;
  return mechanism_->release(query, bits_.of(learner));
}

}  // namespace surety::optimizers
