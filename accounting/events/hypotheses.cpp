#include <surety/accounting/events/hypotheses.h>

#include <algorithm>
#include <variant>
#include <vector>

#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/releases.h>

namespace surety::accounting {
namespace {

bool all_act_as_absent(const std::vector<Event>& parts) { return std::all_of(parts.begin(), parts.end(), zeroed_acts_as_absent); }

/// One answer for each kind, and no build without one: a new kind of event has to say what a zeroed record does in it.
struct ZeroedActsAsAbsent {
  bool operator()(const Event::Gaussian&) const { return true; }
  bool operator()(const Event::RecordSum&) const { return true; }
  bool operator()(const Event::Laplace&) const { return true; }
  bool operator()(const Event::DiscreteGaussian&) const { return true; }
  bool operator()(const Event::DiscreteLaplace&) const { return true; }
  bool operator()(const Event::LaplaceRecordSum&) const { return true; }
  bool operator()(const Event::Binomial&) const { return true; }
  bool operator()(const Event::Skellam&) const { return true; }
  bool operator()(const Event::GeneralizedGaussian&) const { return true; }
  bool operator()(const Event::KNorm&) const { return true; }
  /// A zeroed record answers, an absent one does not.
  bool operator()(const Event::RandomizedResponse&) const { return false; }
  // These bound what one record changes, whatever the release does with the others or with their number.
  bool operator()(const Event::Exponential&) const { return false; }
  bool operator()(const Event::Pure&) const { return false; }
  bool operator()(const Event::Approximate&) const { return false; }
  bool operator()(const Event::Concentrated&) const { return false; }
  bool operator()(const Event::Profile&) const { return false; }
  bool operator()(const Event::Law&) const { return false; }
  bool operator()(const Event::RenyiCurve&) const { return false; }
  bool operator()(const Event::Repeated& e) const { return zeroed_acts_as_absent(e.event); }
  bool operator()(const Event::Composed& e) const { return all_act_as_absent(e.events); }
  bool operator()(const Event::Parallel& e) const { return all_act_as_absent(e.events); }
  // A zeroed record keeps its place in the batches; no batch holds another one, so nothing asks.
  bool operator()(const Event::PoissonSampled&) const { return false; }
  bool operator()(const Event::SampledWithoutReplacement&) const { return false; }
  bool operator()(const Event::SampledWithReplacement&) const { return false; }
  bool operator()(const Event::Shuffled&) const { return false; }
  bool operator()(const Event::Deterministic&) const { return false; }
  bool operator()(const Event::Cyclic&) const { return false; }
  bool operator()(const Event::Allocated&) const { return false; }
  bool operator()(const Event::TruncatedPoisson&) const { return false; }
  bool operator()(const Event::Users&) const { return false; }
  bool operator()(const Event::Mixture&) const { return false; }
  bool operator()(const Event::BestOf&) const { return false; }
  bool operator()(const Event::ShuffledReports&) const { return false; }
  bool operator()(const Event::ShuffledResponses&) const { return false; }
  bool operator()(const Event::LastIterate&) const { return false; }
  bool operator()(const Event::LastIterateWithin&) const { return false; }
  bool operator()(const Event::LastIterateOfPasses&) const { return false; }
  bool operator()(const Event::LastIterateOfBatches&) const { return false; }
};

}  // namespace

bool zeroed_acts_as_absent(const Event& event) { return std::visit(ZeroedActsAsAbsent{}, event.node()); }

PoissonPair poisson_pair(const Event& inner) {
  switch (inner.adjacency()) {
    case Adjacency::add_or_remove_one: return PoissonPair::with_or_without;
    case Adjacency::replace_one: return PoissonPair::opposite;
    case Adjacency::zero_out: return zeroed_acts_as_absent(inner) ? PoissonPair::with_or_without : PoissonPair::revealed;
  }
  throw Error{ErrorCode::internal, "an adjacency without a pair for Poisson batches"};
}

bool splits_its_batch(const Event& inner) {
  return !every_leaf(inner, [](const Event& leaf) { return !std::holds_alternative<Event::Parallel>(leaf.node()); });
}

}  // namespace surety::accounting
