#include <surety/accounting/events/event.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include <fmt/format.h>

namespace surety {

/// Counted here, since <memory> is a third of what a program that includes this library's headers would wait for.
struct Event::Shared {
  Node node;
  Adjacency adjacency;
  int depth;
  bool has_sampling;
  std::size_t nodes;  // of the written form: a part that is shared counts each time
  mutable std::atomic<std::size_t> owners{1};
};

/// The one place where events are made.
struct Event::Factory {
  static Event make(Node node, Adjacency adjacency, int depth, bool has_sampling, std::size_t inside) {
    if (depth > max_depth) {
      throw Error{ErrorCode::invalid_argument, fmt::format("event is nested {} deep, must be at most {}", depth, max_depth)};
    }
    if (inside >= max_nodes) {
      throw Error{ErrorCode::invalid_argument, fmt::format("event has {} parts, must have at most {}", inside + 1, max_nodes)};
    }
    return Event{new Shared{std::move(node), adjacency, depth, has_sampling, inside + 1}};
  }

  template <class Leaf>
  static Event leaf(const Leaf& leaf, Adjacency adjacency) {
    return make(leaf, adjacency, 1, false, 0);
  }

  /// A structure around several events. `what` names it in messages, with its article.
  template <class Structure>
  static Event around(std::vector<Event> events, std::string_view what) {
    if (events.empty()) throw Error{ErrorCode::invalid_argument, fmt::format("{} of no events is empty, must have at least one", what)};
    const auto adjacency = events.front().adjacency();
    int depth = 0;
    bool has_sampling = false;
    std::size_t inside = 0;
    for (const auto& event : events) {
      if (event.adjacency() != adjacency) {
        throw Error{ErrorCode::invalid_argument,
                    fmt::format("{} mixes adjacency {} and {}, must have one", what, name(adjacency), name(event.adjacency()))};
      }
      depth = std::max(depth, event.depth());
      has_sampling = has_sampling || event.has_sampling();
      inside += event.shared_->nodes;
    }
    return make(Structure{std::move(events)}, adjacency, depth + 1, has_sampling, inside);
  }

  static Event repeat(Count count, Event event) {
    const auto adjacency = event.adjacency();
    const int depth = event.depth() + 1;
    const bool has_sampling = event.has_sampling();
    const std::size_t inside = event.shared_->nodes;
    return make(Repeated{count, std::move(event)}, adjacency, depth, has_sampling, inside);
  }

  /// A batch around one event, allowed under some adjacencies.
  template <class Batch, class... Parameters>
  static Event batch(Event event, std::string_view what, std::initializer_list<Adjacency> allowed, const Parameters&... parameters) {
    const auto adjacency = event.adjacency();
    if (event.has_sampling()) throw Error{ErrorCode::invalid_argument, fmt::format("{} holds another batch, must hold none", what)};
    if (std::find(allowed.begin(), allowed.end(), adjacency) == allowed.end()) {
      std::string names;
      for (const auto one : allowed) names += fmt::format("{}{}", names.empty() ? "" : " or ", name(one));
      throw Error{ErrorCode::invalid_argument, fmt::format("adjacency is {}, must be {} for {}", name(adjacency), names, what)};
    }
    const int depth = event.depth() + 1;
    const std::size_t inside = event.shared_->nodes;
    return make(Batch{parameters..., std::move(event)}, adjacency, depth, true, inside);
  }

  /// A structure around one event that no batch of records holds: what is said of users, or of runs.
  template <class Structure, class Parameter>
  static Event unbatched(const Parameter& parameter, Event event) {
    const auto adjacency = event.adjacency();
    const int depth = event.depth() + 1;
    const std::size_t inside = event.shared_->nodes;
    return make(Structure{parameter, std::move(event)}, adjacency, depth, true, inside);
  }
};

Event::Event(const Event& other) noexcept : shared_{other.shared_} {
  if (shared_ != nullptr) shared_->owners.fetch_add(1, std::memory_order_relaxed);
}
Event::Event(Event&& other) noexcept : shared_{std::exchange(other.shared_, nullptr)} {}
Event& Event::operator=(const Event& other) noexcept { return *this = Event{other}; }
Event& Event::operator=(Event&& other) noexcept {
  std::swap(shared_, other.shared_);
  return *this;
}
Event::~Event() {
  // Whoever is last sees all that the others did with it.
  if (shared_ != nullptr && shared_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete shared_;
}

const Event::Node& Event::node() const noexcept { return shared_->node; }
Adjacency Event::adjacency() const noexcept { return shared_->adjacency; }
int Event::depth() const noexcept { return shared_->depth; }
bool Event::has_sampling() const noexcept { return shared_->has_sampling; }

bool operator==(const Event& a, const Event& b) {
  return a.shared_ == b.shared_ || (a.adjacency() == b.adjacency() && a.depth() == b.depth() && a.node() == b.node());
}

Batches::Batches(Count records, Count size) : records_{records}, size_{size} {
  if (size > records) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("batch size is {}, must be at most the {} records", size.value(), records.value())};
  }
}

Event release(const Event::Gaussian& gaussian, Adjacency adjacency) { return Event::Factory::leaf(gaussian, adjacency); }
Event release(const Event::RecordSum& sum, Adjacency adjacency) {
  const double multiplier = sum.multiplier.value();
  if (2 * (0.5 * multiplier) != multiplier) {
    throw Error{ErrorCode::invalid_argument, fmt::format("noise multiplier is {}, must be such that its half is a double", multiplier)};
  }
  return Event::Factory::leaf(sum, adjacency);
}

Event release(const Event::Laplace& laplace, Adjacency adjacency) { return Event::Factory::leaf(laplace, adjacency); }
Event release(const Event::DiscreteGaussian& gaussian, Adjacency adjacency) { return Event::Factory::leaf(gaussian, adjacency); }
Event release(const Event::DiscreteLaplace& laplace, Adjacency adjacency) { return Event::Factory::leaf(laplace, adjacency); }

Event release(const Event::RandomizedResponse& response, Adjacency adjacency) {
  if (adjacency == Adjacency::add_or_remove_one) {
    throw Error{ErrorCode::invalid_argument, "adjacency is add-or-remove-one, must be replace-one or zero-out for randomized_response"};
  }
  if (response.categories < Count{2}) throw Error{ErrorCode::invalid_argument, "categories is 1, must be at least 2"};
  return Event::Factory::leaf(response, adjacency);
}

Event release(const Event::Exponential& exponential, Adjacency adjacency) { return Event::Factory::leaf(exponential, adjacency); }
Event release(const Event::Pure& pure, Adjacency adjacency) { return Event::Factory::leaf(pure, adjacency); }
Event release(const Event::Approximate& approximate, Adjacency adjacency) { return Event::Factory::leaf(approximate, adjacency); }
Event release(const Event::Concentrated& concentrated, Adjacency adjacency) { return Event::Factory::leaf(concentrated, adjacency); }
Event release(const Event::GeneralizedGaussian& gaussian, Adjacency adjacency) { return Event::Factory::leaf(gaussian, adjacency); }
Event release(const Event::KNorm& noise, Adjacency adjacency) { return Event::Factory::leaf(noise, adjacency); }

std::optional<NoiseMultiplier> pairwise_multiplier(const Event& event) {
  if (const auto* gaussian = std::get_if<Event::Gaussian>(&event.node())) return gaussian->multiplier;
  const auto* sum = std::get_if<Event::RecordSum>(&event.node());
  if (sum == nullptr) return std::nullopt;
  return event.adjacency() == Adjacency::replace_one ? NoiseMultiplier{0.5 * sum->multiplier.value()} : sum->multiplier;
}

Event repeat(Count count, Event event) { return Event::Factory::repeat(count, std::move(event)); }

Event compose(std::vector<Event> events) { return Event::Factory::around<Event::Composed>(std::move(events), "a composition"); }
Event parallel(std::vector<Event> events) { return Event::Factory::around<Event::Parallel>(std::move(events), "a parallel composition"); }

namespace {

/// The first release that does not say what one record can contribute to it; none in a tree of record sums.
const Event* without_bound_per_record(const Event& event) {
  if (const auto* repeated = std::get_if<Event::Repeated>(&event.node())) return without_bound_per_record(repeated->event);
  const auto* composed = std::get_if<Event::Composed>(&event.node());
  const auto* parallel = std::get_if<Event::Parallel>(&event.node());
  if (composed == nullptr && parallel == nullptr) return std::holds_alternative<Event::RecordSum>(event.node()) ? nullptr : &event;
  for (const auto& part : composed != nullptr ? composed->events : parallel->events) {
    if (const auto* found = without_bound_per_record(part)) return found;
  }
  return nullptr;
}

/// Under replace-one two vectors of a Poisson batch may be opposite, so their own bound has to be known.
void require_bound_per_record(const Event& event, std::string_view batch) {
  if (event.adjacency() != Adjacency::replace_one || event.has_sampling()) return;
  const auto* unbounded = without_bound_per_record(event);
  if (unbounded == nullptr) return;
  throw Error{ErrorCode::invalid_argument,
              fmt::format("adjacency is replace-one, must be add-or-remove-one or zero-out for {} of {}, which does not say what one "
                          "record can contribute; record_sum(z), with z the noise over the bound C on one record, does",
                          batch, describe(*unbounded))};
}

constexpr std::initializer_list<Adjacency> any_adjacency = {Adjacency::add_or_remove_one, Adjacency::replace_one, Adjacency::zero_out};

/// The first part that is neither a Gaussian release nor, where they are allowed, a batch of such; null where all are.
const Event* not_gaussian(const Event& event, bool allows_batches) {
  const auto& node = event.node();
  if (std::holds_alternative<Event::Gaussian>(node) || std::holds_alternative<Event::RecordSum>(node)) return nullptr;
  if (const auto* e = std::get_if<Event::Repeated>(&node)) return not_gaussian(e->event, allows_batches);
  if (const auto* e = std::get_if<Event::Composed>(&node)) {
    for (const auto& part : e->events) {
      if (const auto* found = not_gaussian(part, allows_batches)) return found;
    }
    return nullptr;
  }
  if (allows_batches) {
    if (const auto* e = std::get_if<Event::PoissonSampled>(&node)) return not_gaussian(e->event, false);
    if (const auto* e = std::get_if<Event::Cyclic>(&node)) return not_gaussian(e->event, false);
    if (const auto* e = std::get_if<Event::Allocated>(&node)) return not_gaussian(e->event, false);
  }
  return &event;
}

void require_gaussian(const Event& event, std::string_view what, bool allows_batches) {
  const auto* other = not_gaussian(event, allows_batches);
  if (other == nullptr) return;
  throw Error{ErrorCode::invalid_argument, fmt::format("{} holds {}, must hold gaussian and record_sum releases{}", what, describe(*other),
                                                       allows_batches ? ", and poisson, cyclic and allocated batches of them" : "")};
}

}  // namespace

Event poisson(SamplingRate rate, Event event) {
  require_bound_per_record(event, "poisson");
  return Event::Factory::batch<Event::PoissonSampled>(std::move(event), "poisson", any_adjacency, rate);
}
Event without_replacement(Batches batches, Event event) {
  return Event::Factory::batch<Event::SampledWithoutReplacement>(std::move(event), "without_replacement", {Adjacency::replace_one},
                                                                 batches);
}
Event shuffled(Batches batches, Event event) {
  return Event::Factory::batch<Event::Shuffled>(std::move(event), "shuffled", {Adjacency::replace_one, Adjacency::zero_out}, batches);
}
Event deterministic(Batches batches, Event event) {
  return Event::Factory::batch<Event::Deterministic>(std::move(event), "deterministic", {Adjacency::replace_one, Adjacency::zero_out},
                                                     batches);
}

Event cyclic(Count groups, Count rounds, SamplingRate rate, Event event) {
  require_bound_per_record(event, "cyclic");
  return Event::Factory::batch<Event::Cyclic>(std::move(event), "cyclic", any_adjacency, groups, rounds, rate);
}
Event allocated(Count rounds, Count participations, Event event) {
  if (participations > rounds) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("participations is {}, must be at most the {} rounds", participations.value(), rounds.value())};
  }
  require_gaussian(event, "allocated", false);
  require_bound_per_record(event, "allocated");
  return Event::Factory::batch<Event::Allocated>(std::move(event), "allocated", any_adjacency, rounds, participations);
}
Event truncated_poisson(SamplingRate rate, Batches batches, Event event) {
  if (batches.size() == batches.records()) {
    throw Error{ErrorCode::invalid_argument, fmt::format("largest batch is {}, must be less than the {} records: poisson drops none",
                                                         batches.size().value(), batches.records().value())};
  }
  require_gaussian(event, "truncated_poisson", false);
  require_bound_per_record(event, "truncated_poisson");
  return Event::Factory::batch<Event::TruncatedPoisson>(std::move(event), "truncated_poisson", any_adjacency, rate, batches);
}
Event users(Count records, Event event) {
  require_gaussian(event, "users", true);
  return Event::Factory::unbatched<Event::Users>(records, std::move(event));
}

Event best_of(const Runs& runs, Event event) { return Event::Factory::unbatched<Event::BestOf>(runs, std::move(event)); }

}  // namespace surety
