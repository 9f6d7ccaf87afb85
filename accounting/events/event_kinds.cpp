#include <surety/accounting/events/event_kinds.h>

#include <algorithm>
#include <atomic>
#include <initializer_list>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include <surety/accounting/events/kept_with_event.h>

namespace surety {

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
  // Of several Laplace sums of one batch no worst records are known.
  if (std::holds_alternative<Event::LaplaceRecordSum>(event.node())) return;
  const auto* unbounded = without_bound_per_record(event);
  if (unbounded == nullptr) return;
  if (std::holds_alternative<Event::LaplaceRecordSum>(unbounded->node())) {
    throw Error{ErrorCode::invalid_argument,
                fmt::format("{} under replace-one holds {} beside other releases, must hold it alone: a batch for each of them", batch,
                            describe(*unbounded))};
  }
  throw Error{
      ErrorCode::invalid_argument,
      fmt::format(
          "adjacency is replace-one, must be add-or-remove-one or zero-out for {} of {}, which does not say what one record can contribute; record_sum(z), with z the noise over the bound C on one record, does, and laplace_record_sum(b)",
          batch, describe(*unbounded))};
}

/// The first of some parts that `find` finds something in; null where there is none.
template <class Find>
const Event* first_in(const std::vector<Event>& parts, const Find& find) {
  for (const auto& part : parts) {
    if (const Event* const found = find(part)) return found;
  }
  return nullptr;
}

/// The first part that is no Gaussian release; null where all are.
const Event* not_gaussian(const Event& event) {
  const auto& node = event.node();
  if (std::holds_alternative<Event::Gaussian>(node) || std::holds_alternative<Event::RecordSum>(node)) return nullptr;
  if (const auto* e = std::get_if<Event::Repeated>(&node)) return not_gaussian(e->event);
  if (const auto* e = std::get_if<Event::Composed>(&node)) return first_in(e->events, not_gaussian);
  return &event;
}

void require_gaussian(const Event& event, std::string_view what) {
  const auto* other = not_gaussian(event);
  if (other == nullptr) return;
  throw Error{ErrorCode::invalid_argument, fmt::format("{} holds {}, must hold gaussian and record_sum releases", what, describe(*other))};
}

/// The first part of which no bound is known for several records of one user; null where there is none.
struct UnknownOfUsers {
  const Event& event;

  static const Event* of(const Event& part) { return std::visit(UnknownOfUsers{part}, part.node()); }
  const Event* operator()(const Event::Repeated& e) const { return of(e.event); }
  const Event* operator()(const Event::Composed& e) const { return first_in(e.events, of); }
  const Event* operator()(const Event::BestOf& e) const { return of(e.event); }
  const Event* operator()(const Event::Parallel& e) const { return first_in(e.events, not_gaussian) == nullptr ? nullptr : &event; }
  const Event* operator()(const Event::PoissonSampled& e) const { return not_gaussian(e.event) == nullptr ? nullptr : &event; }
  const Event* operator()(const Event::Cyclic& e) const { return not_gaussian(e.event) == nullptr ? nullptr : &event; }
  const Event* operator()(const Event::Allocated& e) const { return not_gaussian(e.event) == nullptr ? nullptr : &event; }
  const Event* operator()(const Event::Law&) const { return &event; }
  const Event* operator()(const Event::RenyiCurve&) const { return &event; }
  const Event* operator()(const Event::SampledWithoutReplacement&) const { return &event; }
  const Event* operator()(const Event::SampledWithReplacement&) const { return &event; }
  const Event* operator()(const Event::Shuffled&) const { return &event; }
  const Event* operator()(const Event::Deterministic&) const { return &event; }
  const Event* operator()(const Event::TruncatedPoisson&) const { return &event; }
  const Event* operator()(const Event::Mixture&) const { return &event; }
  const Event* operator()(const Event::Users&) const { return &event; }
  const Event* operator()(const Event::ShuffledReports&) const { return &event; }
  const Event* operator()(const Event::ShuffledResponses&) const { return &event; }
  const Event* operator()(const Event::LastIterateWithin&) const { return &event; }
  const Event* operator()(const Event::LastIterateOfBatches&) const { return &event; }
  /// Single releases of every other kind: event_of_group.h has a bound for each.
  template <class Release>
  const Event* operator()(const Release&) const {
    return nullptr;
  }
};

void require_known_of_users(const Event& event, std::string_view what) {
  const auto* unknown = UnknownOfUsers::of(event);
  if (unknown == nullptr) return;
  throw Error{
      ErrorCode::invalid_argument,
      fmt::format(
          "{} holds {}, must hold single releases but law, renyi, shuffled reports, last_iterate_within and last_iterate_of_batches, or repeat, "
          "compose and best_of of them; batches (poisson, cyclic, allocated) and parallel only of gaussian and record_sum releases",
          what, describe(*unknown))};
}

/// The first part that is a batch, a search, users or a shuffle of reports, which a batch may not hold. \pre there is one
const Event& first_sampling(const Event& event) {
  const auto first_of = [](const std::vector<Event>& parts) -> const Event& {
    return first_sampling(*std::find_if(parts.begin(), parts.end(), [](const Event& part) { return part.has_sampling(); }));
  };
  if (const auto* repeated = std::get_if<Event::Repeated>(&event.node())) return first_sampling(repeated->event);
  if (const auto* composed = std::get_if<Event::Composed>(&event.node())) return first_of(composed->events);
  if (const auto* parallel = std::get_if<Event::Parallel>(&event.node())) return first_of(parallel->events);
  return event;
}

void require_no_batch(const Event& event, std::string_view what) {
  if (!event.has_sampling()) return;
  throw Error{ErrorCode::invalid_argument,
              fmt::format("{} holds {}, must hold single releases such as gaussian(1), and repeat, compose and parallel of them", what,
                          describe(first_sampling(event)))};
}

void require_adjacency(Adjacency adjacency, std::initializer_list<Adjacency> allowed, std::string_view what) {
  if (std::find(allowed.begin(), allowed.end(), adjacency) != allowed.end()) return;
  std::string names;
  for (const auto one : allowed) names += fmt::format("{}{}", names.empty() ? "" : " or ", name(one));
  throw Error{ErrorCode::invalid_argument, fmt::format("adjacency is {}, must be {} for {}", name(adjacency), names, what)};
}

/// What a kind is called in messages, with its article.
template <class Kind>
constexpr std::string_view called = Kind::word;
template <>
constexpr std::string_view called<Event::Composed> = "a composition";
template <>
constexpr std::string_view called<Event::Parallel> = "a parallel composition";

/// What must hold of an event of each kind, beyond what its members are; of most, nothing.
struct Require {
  Adjacency adjacency;

  void operator()(const Event::RecordSum& sum) const {
    const double multiplier = sum.multiplier.value();
    if (2 * (0.5 * multiplier) == multiplier) return;
    throw Error{ErrorCode::invalid_argument, fmt::format("noise multiplier is {}, must be such that its half is a double", multiplier)};
  }
  void operator()(const Event::LaplaceRecordSum& sum) const {
    const double scale = sum.scale.value();
    if (2 * (0.5 * scale) == scale) return;
    throw Error{ErrorCode::invalid_argument, fmt::format("scale is {}, must be such that its half is a double", scale)};
  }
  void operator()(const Event::RandomizedResponse& response) const {
    require_adjacency(adjacency, {Adjacency::replace_one, Adjacency::zero_out}, response.word);
    if (response.categories < Count{2}) throw Error{ErrorCode::invalid_argument, "categories is 1, must be at least 2"};
  }
  void operator()(const Event::Composed& e) const { some(e); }
  void operator()(const Event::Parallel& e) const { some(e); }
  void operator()(const Event::PoissonSampled& e) const { batch(e); }
  void operator()(const Event::SampledWithoutReplacement& e) const {
    require_no_batch(e.event, e.word);
    require_adjacency(adjacency, {Adjacency::replace_one}, e.word);
  }
  void operator()(const Event::SampledWithReplacement& e) const {
    require_no_batch(e.event, e.word);
    require_adjacency(adjacency, {Adjacency::replace_one}, e.word);
  }
  void operator()(const Event::Shuffled& e) const { order(e); }
  void operator()(const Event::Deterministic& e) const { order(e); }
  void operator()(const Event::Cyclic& e) const { batch(e); }
  void operator()(const Event::Allocated& e) const {
    if (e.participations > e.rounds) {
      throw Error{ErrorCode::invalid_argument,
                  fmt::format("participations is {}, must be at most the {} rounds", e.participations.value(), e.rounds.value())};
    }
    require_gaussian(e.event, e.word);
    batch(e);
  }
  void operator()(const Event::TruncatedPoisson& e) const {
    if (e.batches.size() == e.batches.records()) {
      throw Error{ErrorCode::invalid_argument, fmt::format("largest batch is {}, must be less than the {} records: poisson drops none",
                                                           e.batches.size().value(), e.batches.records().value())};
    }
    require_gaussian(e.event, e.word);
    batch(e);
  }
  void operator()(const Event::Users& e) const { require_known_of_users(e.event, e.word); }
  void operator()(const Event::Mixture& e) const {
    require_gaussian(e.event, e.word);
    batch(e);
  }
  void operator()(const Event::ShuffledReports& e) const { reports(e.word); }
  void operator()(const Event::ShuffledResponses& e) const {
    reports(e.word);
    if (e.categories < Count{2}) throw Error{ErrorCode::invalid_argument, "categories is 1, must be at least 2"};
  }
  void operator()(const Event::LastIterate& e) const { last_iterate(e); }
  void operator()(const Event::LastIterateWithin& e) const { last_iterate(e); }
  void operator()(const Event::LastIterateOfPasses& e) const {
    constexpr std::uint64_t largest = std::uint64_t{1} << 53;
    if (e.passes.value() > largest / e.batches.value()) {
      throw Error{ErrorCode::invalid_argument, fmt::format("{} passes over {} batches are more than 2^53 steps, must be at most 2^53",
                                                           e.passes.value(), e.batches.value())};
    }
    last_iterate(e);
  }
  void operator()(const Event::LastIterateOfBatches& e) const { last_iterate(e); }
  template <class Kind>
  void operator()(const Kind&) const {}

 private:
  /// Maps of Lipschitz constants and sensitivities that are public, and one Gaussian release for each step.
  template <class Kind>
  void last_iterate(const Kind& e) const {
    if (adjacency == Adjacency::add_or_remove_one) {
      throw Error{
          ErrorCode::invalid_argument,
          fmt::format(
              "adjacency is add-or-remove-one, must be replace-one or zero-out for {}: where the number of records is private, a step has no public Lipschitz constant",
              e.word)};
    }
    if (!std::holds_alternative<Event::Gaussian>(e.event.node()) && !std::holds_alternative<Event::RecordSum>(e.event.node())) {
      throw Error{ErrorCode::invalid_argument,
                  fmt::format("{} holds {}, must hold one gaussian or record_sum: the noise of a step", e.word, describe(e.event))};
    }
    // The multiplier of a last iterate is less by a factor of at most 2^27, or more by one of at most 2^80.
    const double multiplier = pairwise_multiplier(e.event)->value();
    if (!(multiplier >= 0x1p-900 && multiplier <= 0x1p900)) {
      throw Error{ErrorCode::invalid_argument,
                  fmt::format("noise multiplier is {}, must be from 2^-900 to 2^900 in {}", multiplier, e.word)};
    }
  }
  template <class Kind>
  static void some(const Kind& e) {
    if (!e.events.empty()) return;
    throw Error{ErrorCode::invalid_argument, fmt::format("{} of no events is empty, must have at least one", called<Kind>)};
  }
  /// A batch that a record joins by chance, under any adjacency.
  template <class Kind>
  static void batch(const Kind& e) {
    require_bound_per_record(e.event, e.word);
    require_no_batch(e.event, e.word);
  }
  /// One of each record.
  void reports(std::string_view word) const {
    if (adjacency == Adjacency::replace_one) return;
    throw Error{
        ErrorCode::invalid_argument,
        fmt::format(
            "adjacency is {}, must be replace-one for {}: each record sends one report, so the number of reports shows how many records there are",
            name(adjacency), word)};
  }
  /// Batches of an order of the records.
  template <class Kind>
  void order(const Kind& e) const {
    require_no_batch(e.event, e.word);
    require_adjacency(adjacency, {Adjacency::replace_one, Adjacency::zero_out}, e.word);
  }
};

}  // namespace

/// Counted here, since <memory> is a third of what a program that includes this library's headers would wait for.
struct Event::Shared {
  Node node;
  Adjacency adjacency;
  int depth = 1;
  bool has_sampling = false;
  std::size_t nodes = 1;  // of the written form: a part that is shared counts each time
  mutable std::atomic<std::size_t> owners{1};
  // Null until they are first needed. Two threads may compute the same value at once: the first to finish stores it, and the other discards its own.
  mutable std::atomic<const std::string*> text{nullptr};
  mutable std::atomic<const Shared*> plainest{nullptr};  // an owner of that event, but for `this` itself, which would never be freed

  ~Shared() {
    delete text.load(std::memory_order_acquire);
    if (const auto* const plain = plainest.load(std::memory_order_acquire); plain != nullptr && plain != this) give_up(plain);
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  /// Removes one owner. The last owner frees the object, after all accesses of the others (acq_rel).
  static void give_up(const Shared* shared) noexcept {
    if (shared->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete shared;
  }

  Shared(Node what, Adjacency neighbours) : node{std::move(what)}, adjacency{neighbours} {
    std::visit([&](const auto& kind) { look_inside(kind); }, node);
    if (depth > max_depth) {
      throw Error{ErrorCode::invalid_argument, fmt::format("event is nested {} deep, must be at most {}", depth, max_depth)};
    }
    if (nodes > max_nodes) {
      throw Error{ErrorCode::invalid_argument, fmt::format("event has {} parts, must have at most {}", nodes, max_nodes)};
    }
  }

 private:
  template <class Kind>
  void look_inside(const Kind& kind) {
    std::apply([&](const auto&... said) { (..., add(kind.*said.member, called<Kind>)); }, Kind::arguments());
    Require{adjacency}(kind);
    // What holds an event is no part of a batch, but for what only says how often; nor is what depends on all records.
    constexpr bool says_how_often = std::is_same_v<Kind, Repeated> || std::is_same_v<Kind, Composed> || std::is_same_v<Kind, Parallel>;
    constexpr bool is_shuffle = std::is_same_v<Kind, ShuffledReports> || std::is_same_v<Kind, ShuffledResponses>;
    if (is_shuffle || (depth > 1 && !says_how_often)) has_sampling = true;
  }
  void add(const Event& event, std::string_view what) {
    if (event.adjacency() != adjacency) {
      throw Error{ErrorCode::invalid_argument,
                  fmt::format("{} mixes adjacency {} and {}, must have one", what, name(adjacency), name(event.adjacency()))};
    }
    depth = std::max(depth, event.depth() + 1);
    has_sampling = has_sampling || event.has_sampling();
    nodes += event.shared_->nodes;
  }
  void add(const std::vector<Event>& events, std::string_view what) {
    for (const auto& event : events) add(event, what);
  }
  template <class Parameter>
  static void add(const Parameter& /*parameter*/, std::string_view /*what*/) {}
};

Event::Event(Node node, Adjacency adjacency) : shared_{new Shared{std::move(node), adjacency}} {}
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
  if (shared_ != nullptr) Shared::give_up(shared_);
}

const std::string* KeptWithEvent::text_if_kept(const Event& event) noexcept { return event.shared_->text.load(std::memory_order_acquire); }

const std::string& KeptWithEvent::text(const Event& event) {
  auto& kept = event.shared_->text;
  if (const auto* const found = kept.load(std::memory_order_acquire)) return *found;
  auto made = std::make_unique<const std::string>(describe(event));
  const std::string* before = nullptr;
  return *(kept.compare_exchange_strong(before, made.get(), std::memory_order_acq_rel) ? made.release() : before);
}

Event KeptWithEvent::plainest(const Event& event, Event (*make)(const Event& event)) {
  const auto* const shared = event.shared_;
  const auto as_event = [&](const Event::Shared* plain) {
    Event result{event};
    if (plain == shared) return result;
    plain->owners.fetch_add(1, std::memory_order_relaxed);
    Event::Shared::give_up(std::exchange(result.shared_, plain));
    return result;
  };
  if (const auto* const found = shared->plainest.load(std::memory_order_acquire)) return as_event(found);
  computed_normal_forms.fetch_add(1, std::memory_order_relaxed);
  Event made = make(event);
  const bool is_another = made.shared_ != shared;
  if (is_another) made.shared_->owners.fetch_add(1, std::memory_order_relaxed);
  const Event::Shared* before = nullptr;
  if (shared->plainest.compare_exchange_strong(before, made.shared_, std::memory_order_acq_rel)) return made;
  if (is_another) made.shared_->owners.fetch_sub(1, std::memory_order_relaxed);  // `made` is another owner
  return as_event(before);
}

const Event::Node& Event::node() const noexcept { return shared_->node; }
Adjacency Event::adjacency() const noexcept { return shared_->adjacency; }
int Event::depth() const noexcept { return shared_->depth; }
bool Event::has_sampling() const noexcept { return shared_->has_sampling; }

bool operator==(const Event& a, const Event& b) {
  return a.shared_ == b.shared_ || (a.adjacency() == b.adjacency() && a.depth() == b.depth() && a.node() == b.node());
}

std::optional<NoiseMultiplier> pairwise_multiplier(const Event& event) {
  if (const auto* gaussian = std::get_if<Event::Gaussian>(&event.node())) return gaussian->multiplier;
  const auto* sum = std::get_if<Event::RecordSum>(&event.node());
  if (sum == nullptr) return std::nullopt;
  return event.adjacency() == Adjacency::replace_one ? NoiseMultiplier{0.5 * sum->multiplier.value()} : sum->multiplier;
}

std::optional<NoiseScale> pairwise_scale(const Event& event) {
  if (const auto* laplace = std::get_if<Event::Laplace>(&event.node())) return laplace->scale;
  const auto* sum = std::get_if<Event::LaplaceRecordSum>(&event.node());
  if (sum == nullptr) return std::nullopt;
  return event.adjacency() == Adjacency::replace_one ? NoiseScale{0.5 * sum->scale.value()} : sum->scale;
}

namespace {

/// A kind of event around one, with its parameters.
template <class Kind, class... Parameters>
Event around(Event event, const Parameters&... parameters) {
  const auto adjacency = event.adjacency();
  return {Kind{parameters..., std::move(event)}, adjacency};
}

/// A kind of event around several; of none it is refused under every adjacency.
template <class Kind>
Event around(std::vector<Event> events) {
  const auto adjacency = events.empty() ? Adjacency::replace_one : events.front().adjacency();
  return {Kind{std::move(events)}, adjacency};
}

}  // namespace

Event repeat(Count count, Event event) { return around<Event::Repeated>(std::move(event), count); }
Event compose(std::vector<Event> events) { return around<Event::Composed>(std::move(events)); }
Event parallel(std::vector<Event> events) { return around<Event::Parallel>(std::move(events)); }

Event poisson(SamplingRate rate, Event event) { return around<Event::PoissonSampled>(std::move(event), rate); }
Event without_replacement(Count records, Count batch_size, Event event) {
  return around<Event::SampledWithoutReplacement>(std::move(event), Batches{records, batch_size});
}
Event with_replacement(Count records, Count batch_size, Event event) {
  return around<Event::SampledWithReplacement>(std::move(event), records, batch_size);
}
Event shuffled(Count records, Count batch_size, Event event) {
  return around<Event::Shuffled>(std::move(event), Batches{records, batch_size});
}
Event deterministic(Count records, Count batch_size, Event event) {
  return around<Event::Deterministic>(std::move(event), Batches{records, batch_size});
}
Event cyclic(Count groups, Count rounds, SamplingRate rate, Event event) {
  return around<Event::Cyclic>(std::move(event), groups, rounds, rate);
}
Event allocated(Count rounds, Count participations, Event event) {
  return around<Event::Allocated>(std::move(event), rounds, participations);
}
Event truncated_poisson(SamplingRate rate, Count largest, Count records, Event event) {
  return around<Event::TruncatedPoisson>(std::move(event), rate, Batches{records, largest});
}
Event mixture(MixtureParts components, Event event) { return around<Event::Mixture>(std::move(event), components); }
Event users(Count records, Event event) { return around<Event::Users>(std::move(event), records); }
Event shuffled_reports(Count reports, Epsilon epsilon0, Adjacency adjacency) {
  return {Event::ShuffledReports{reports, epsilon0}, adjacency};
}
Event shuffled_responses(Count reports, Probability truth, Count categories, Adjacency adjacency) {
  return {Event::ShuffledResponses{reports, truth, categories}, adjacency};
}

Event last_iterate(Count steps, LipschitzConstant constant, Event event) {
  return around<Event::LastIterate>(std::move(event), steps, constant);
}
Event last_iterate_within(Diameter diameter, Count steps, LipschitzConstant constant, Event event) {
  return around<Event::LastIterateWithin>(std::move(event), diameter, steps, constant);
}
Event last_iterate_of_passes(Count passes, Count batches, LipschitzConstant constant, Event event) {
  return around<Event::LastIterateOfPasses>(std::move(event), passes, batches, constant);
}
Event last_iterate_of_batches(BatchSizes sizes, Event event) { return around<Event::LastIterateOfBatches>(std::move(event), sizes); }

Event best_of(const Runs& runs, Event event) { return around<Event::BestOf>(std::move(event), runs); }
Event best_of(RunsLaw law, double mean, Event event) { return best_of(Runs{law, mean}, std::move(event)); }
Event best_of(RunsLaw law, double mean, double shape, Event event) {
  if (law != RunsLaw::negative_binomial) invalid(fmt::format("best_of: {} have no shape", name(law)));
  return best_of(Runs::negative_binomial(mean, shape), std::move(event));
}
Event best_of(RunsLaw law, double mean, Count cap, Event event) {
  if (law != RunsLaw::capped_geometric) invalid(fmt::format("best_of: {} have no cap", name(law)));
  return best_of(Runs::capped_geometric(mean, cap), std::move(event));
}

// Here, and not in the header: whoever makes an event in place compiles what a variant of all releases does at its end.

Event gaussian(NoiseMultiplier multiplier, Adjacency adjacency) { return {Event::Gaussian{multiplier}, adjacency}; }
Event record_sum(NoiseMultiplier multiplier, Adjacency adjacency) { return {Event::RecordSum{multiplier}, adjacency}; }
Event laplace(NoiseScale scale, Adjacency adjacency) { return {Event::Laplace{scale}, adjacency}; }
Event laplace_record_sum(NoiseScale scale, Adjacency adjacency) { return {Event::LaplaceRecordSum{scale}, adjacency}; }
Event discrete_gaussian(NoiseScale sigma, Count sensitivity, Adjacency adjacency) {
  return {Event::DiscreteGaussian{sigma, sensitivity}, adjacency};
}
Event discrete_laplace(NoiseScale scale, Count sensitivity, Adjacency adjacency) {
  return {Event::DiscreteLaplace{scale, sensitivity}, adjacency};
}
Event binomial(Count flips, Count sensitivity, Adjacency adjacency) { return {Event::Binomial{flips, sensitivity}, adjacency}; }
Event skellam(PoissonMean mean, Count sensitivity, Adjacency adjacency) { return {Event::Skellam{mean, sensitivity}, adjacency}; }
Event randomized_response(Probability truth, Count categories, Adjacency adjacency) {
  return {Event::RandomizedResponse{truth, categories}, adjacency};
}
Event exponential(Epsilon epsilon, Adjacency adjacency) { return {Event::Exponential{epsilon}, adjacency}; }
Event pure(Epsilon epsilon, Adjacency adjacency) { return {Event::Pure{epsilon}, adjacency}; }
Event approx(Epsilon epsilon, Delta delta, Adjacency adjacency) { return {Event::Approximate{epsilon, delta}, adjacency}; }
Event zcdp(Rho rho, Adjacency adjacency) { return {Event::Concentrated{rho}, adjacency}; }
Event zcdp(Epsilon xi, Rho rho, Adjacency adjacency) { return {Event::Concentrated{xi, rho}, adjacency}; }
Event curve(CurvePoints points, Adjacency adjacency) { return {Event::Profile{std::move(points)}, adjacency}; }
Event law(LawAtoms atoms, Adjacency adjacency) { return {Event::Law{std::move(atoms)}, adjacency}; }
Event renyi(RenyiBounds bounds, Adjacency adjacency) { return {Event::RenyiCurve{std::move(bounds)}, adjacency}; }
Event generalized_gaussian(NormExponent r, Count dimension, NoiseMultiplier multiplier, Adjacency adjacency) {
  return {Event::GeneralizedGaussian{r, dimension, multiplier}, adjacency};
}
Event k_norm(NormName norm, Count dimension, NoiseScale scale, Adjacency adjacency) {
  return {Event::KNorm{norm, dimension, scale}, adjacency};
}
Event allocated(Count rounds, Event event) { return allocated(rounds, Count{1}, std::move(event)); }
Event without_replacement(Batches batches, Event event) { return without_replacement(batches.records(), batches.size(), std::move(event)); }
Event shuffled(Batches batches, Event event) { return shuffled(batches.records(), batches.size(), std::move(event)); }
Event deterministic(Batches batches, Event event) { return deterministic(batches.records(), batches.size(), std::move(event)); }
Event truncated_poisson(SamplingRate rate, Batches batches, Event event) {
  return truncated_poisson(rate, batches.size(), batches.records(), std::move(event));
}

}  // namespace surety
