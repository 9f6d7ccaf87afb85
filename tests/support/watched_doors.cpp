#include <support/watched_doors.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <utility>
#include <variant>

#include <surety/accounting/events/event.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/jobs/doors/releasers.h>

namespace surety_test {

using namespace surety;
using namespace surety::optimizers;
using mechanisms::BitsRef;

namespace {

WatchedDoors* watching = nullptr;

std::string shape_of(const GridVector& query) {
  return fmt::format("{} coordinates on 2^{}", query.steps.size(), query.grid.log2_step.value());
}
constexpr std::string_view in_search = "in a search: ";
std::string text_of(const Event& event) { return fmt::format("{} ({})", describe(event), static_cast<int>(event.adjacency())); }

}  // namespace

WatchedDoors::WatchedDoors() {
  if (watching != nullptr) throw std::logic_error{"doors are watched already"};
  watching = this;
}

WatchedDoors::WatchedDoors(const WatchedDoors& recorded)
    : is_replay_{true},
      released_{recorded.released_},
      selected_{recorded.selected_},
      batches_{recorded.batches_},
      records_{recorded.records_} {
  if (watching == &recorded) watching = nullptr;
  if (watching != nullptr) throw std::logic_error{"doors are watched already"};
  watching = this;
}

WatchedDoors::~WatchedDoors() {
  if (watching == this) watching = nullptr;
}

struct Watch {
  /// Keeps the question that `release` answered. A script that is over, or does not fit, is seen when logs are compared.
  template <class Release>
  static std::vector<double> vector(std::string asked, const GridVector& query, double sensitivity, const Release& release,
                                    DoorEntry::Kind kind = DoorEntry::Kind::vector) {
    auto released = release();
    if (watching == nullptr) return released;
    WatchedDoors& doors = *watching;
    doors.log_.push_back({kind, std::move(asked), mechanisms::to_reals(query), sensitivity});
    if (!doors.is_replay_) {
      doors.released_.push_back(released);
      return released;
    }
    const std::size_t next = doors.next_released_++;
    return next < doors.released_.size() && doors.released_[next].size() == released.size() ? doors.released_[next] : released;
  }

  static std::size_t scores(std::string asked, std::span<const double> scores, double range, std::size_t selected) {
    if (watching == nullptr) return selected;
    WatchedDoors& doors = *watching;
    doors.log_.push_back({DoorEntry::Kind::scores, std::move(asked), {scores.begin(), scores.end()}, range});
    if (!doors.is_replay_) {
      doors.selected_.push_back(selected);
      return selected;
    }
    const std::size_t next = doors.next_selected_++;
    return next < doors.selected_.size() && doors.selected_[next] < scores.size() ? doors.selected_[next] : selected;
  }

  static std::vector<std::size_t> batch(std::size_t records, std::span<const std::size_t> drawn) {
    std::vector<std::size_t> batch{drawn.begin(), drawn.end()};
    if (watching == nullptr) return batch;
    WatchedDoors& doors = *watching;
    if (!doors.is_replay_) {
      doors.batches_.push_back(batch);
      doors.records_.push_back(records);
      return batch;
    }
    const std::size_t next = doors.next_batch_++;
    if (next >= doors.batches_.size()) return batch;
    batch = doors.batches_[next];
    while (!batch.empty() && batch.back() >= records) batch.pop_back();
    if (records > doors.records_[next] && next % 2 == 0) batch.push_back(records - 1);
    return batch;
  }

  static void charge(const Event& event) {
    if (watching != nullptr) watching->log_.push_back({DoorEntry::Kind::charge, text_of(event), {}, 0});
  }
  /// Of a run of a search: its share of what is charged for all runs.
  static void charge_in_search(const Event& event) {
    if (watching != nullptr) watching->log_.push_back({DoorEntry::Kind::charge, std::string{in_search} + text_of(event), {}, 0});
  }
};

namespace {

double largest_change(const DoorEntry& a, const DoorEntry& b) {
  if (a.kind == DoorEntry::Kind::scores) {
    double least = std::numeric_limits<double>::infinity();
    double largest = -least;
    for (std::size_t i = 0; i < a.content.size(); ++i) {
      least = std::min(least, a.content[i] - b.content[i]);
      largest = std::max(largest, a.content[i] - b.content[i]);
    }
    return largest - least;
  }
  long double sum = 0;
  for (std::size_t j = 0; j < a.content.size(); ++j) {
    const auto difference = static_cast<long double>(a.content[j]) - static_cast<long double>(b.content[j]);
    sum += difference * difference;
  }
  return static_cast<double>(std::sqrt(sum));
}

}  // namespace

DoorDifference compare(const DoorLog& a, const DoorLog& b) {
  double ratio = 0;
  std::size_t all_moved = 0;
  const auto differs = [&](const std::string& what) { return DoorDifference{::testing::AssertionFailure() << what, ratio, all_moved}; };
  std::size_t moved = 0;  // since the last charge
  bool is_charged = false;
  bool is_of_secret = false;
  for (std::size_t k = 0; k < std::min(a.size(), b.size()); ++k) {
    if (a[k].kind != b[k].kind || a[k].asked != b[k].asked) {
      return differs(fmt::format("what is asked depends on a record:\n  {}\n  {}", a[k].asked, b[k].asked));
    }
    if (a[k].kind == DoorEntry::Kind::charge) {
      moved = 0;
      is_charged = true;
      continue;
    }
    if (!is_charged) return differs(fmt::format("a release comes before the first charge: {}", a[k].asked));
    const bool is_free = is_of_secret;
    is_of_secret = a[k].kind == DoorEntry::Kind::secret;
    if (a[k].content == b[k].content) continue;
    ++all_moved;
    // The minimum of an objective with secret noise in it is covered by that noise, not by a bound on how far it moves.
    if (is_free) continue;
    if (++moved > 1) return differs(fmt::format("a second release under one charge depends on one record, entry {}: {}", k, a[k].asked));
    const double change = largest_change(a[k], b[k]) / a[k].sensitivity;
    ratio = std::max(ratio, change);
    // Scores are doubles, which round.
    if (!(change <= (a[k].kind == DoorEntry::Kind::scores ? 1 + 1e-9 : 1 + 1e-13))) {
      return differs(fmt::format("one record moves a release {} times as far as was said: {}", change, a[k].asked));
    }
  }
  if (a.size() != b.size()) return differs(fmt::format("the number of releases depends on a record: {} and {}", a.size(), b.size()));
  return {::testing::AssertionSuccess(), ratio, all_moved};
}

::testing::AssertionResult every_charge_has_a_release(const DoorLog& log) {
  for (std::size_t k = 0; k < log.size(); ++k) {
    if (log[k].kind != DoorEntry::Kind::charge) continue;
    // A search is charged before its runs.
    const bool is_of_search = k + 1 < log.size() && !log[k].asked.starts_with(in_search) && log[k + 1].asked.starts_with(in_search);
    if (!is_of_search && (k + 1 == log.size() || log[k + 1].kind == DoorEntry::Kind::charge)) {
      return ::testing::AssertionFailure()
             << "'" << log[k].asked << "' is charged, and nothing is released for it through a door of tests/support/watched_doors.cpp";
    }
  }
  return ::testing::AssertionSuccess();
}

}  // namespace surety_test

// ---- The doors between a door and who asks it ---------------------------------------------------------------------------------------------

namespace surety_test {
namespace {

std::string what(std::string_view door, const Event& event, const GridVector& query, L2Sensitivity sensitivity) {
  return fmt::format("{} {} of {}, sensitivity {}", door, text_of(event), shape_of(query), sensitivity.value());
}

/// Each holds the door that was made for the run, and lets it do all that it does.
class WatchedReleaser final : public Releaser {
 public:
  WatchedReleaser(std::string_view name, std::unique_ptr<Releaser> inner) : name_{name}, inner_{std::move(inner)} {}
  std::vector<double> release(const GridVector& query, L2Sensitivity sensitivity, const Event& event) override {
    return Watch::vector(what(name_, event, query, sensitivity), query, sensitivity.value(),
                         [&] { return inner_->release(query, sensitivity, event); });
  }

 private:
  std::string_view name_;
  std::unique_ptr<Releaser> inner_;
};

class WatchedRunReleaser final : public Releaser {
 public:
  explicit WatchedRunReleaser(std::unique_ptr<Releaser> inner) : inner_{"run", std::move(inner)} {}
  std::vector<double> release(const GridVector& query, L2Sensitivity sensitivity, const Event& event) override {
    Watch::charge_in_search(event);
    return inner_.release(query, sensitivity, event);
  }

 private:
  WatchedReleaser inner_;
};

class WatchedSamplingReleaser final : public SamplingReleaser {
 public:
  /// \param deals rounds of an epoch, which are not replayed: the same bits deal the same ones
  WatchedSamplingReleaser(std::unique_ptr<SamplingReleaser> inner, bool deals) : inner_{std::move(inner)}, deals_{deals} {}
  std::span<const std::size_t> draw_batch(std::size_t records) override {
    const auto drawn = inner_->draw_batch(records);
    if (deals_) return drawn;
    batch_ = Watch::batch(records, drawn);
    return batch_;
  }
  std::vector<double> release_sampled(const GridVector& query, L2Sensitivity sensitivity, const Event& event) override {
    return Watch::vector(what(deals_ ? "round" : "sampled", event, query, sensitivity), query, sensitivity.value(),
                         [&] { return inner_->release_sampled(query, sensitivity, event); });
  }
  std::vector<double> release(const GridVector& query, L2Sensitivity sensitivity, const Event& event) override {
    return Watch::vector(what("all", event, query, sensitivity), query, sensitivity.value(),
                         [&] { return inner_->release(query, sensitivity, event); });
  }

 private:
  std::unique_ptr<SamplingReleaser> inner_;
  bool deals_;
  std::vector<std::size_t> batch_;
};

class WatchedPerturbingReleaser final : public PerturbingReleaser {
 public:
  explicit WatchedPerturbingReleaser(std::unique_ptr<PerturbingReleaser> inner) : inner_{std::move(inner)} {}
  std::vector<double> perturb(std::size_t dimension, L2Sensitivity sigma, const Event& event) override {
    const GridVector nothing{.grid = {.log2_step = 0}, .steps = {}};
    return Watch::vector(
        fmt::format("perturb {} of {} coordinates, sigma {}", text_of(event), dimension, sigma.value()), nothing, sigma.value(),
        [&] { return inner_->perturb(dimension, sigma, event); }, DoorEntry::Kind::secret);
  }
  std::vector<double> release(const GridVector& query, L2Sensitivity sensitivity, const Event& event) override {
    return Watch::vector(what("release", event, query, sensitivity), query, sensitivity.value(),
                         [&] { return inner_->release(query, sensitivity, event); });
  }

 private:
  std::unique_ptr<PerturbingReleaser> inner_;
};

/// Nothing of the steps is seen outside. A replay has the same noise, and with it the last iterates of neighbours are at most as far apart as the steps that
/// use the record may move them.
class WatchedLastIterateReleaser final : public LastIterateReleaser {
 public:
  explicit WatchedLastIterateReleaser(std::unique_ptr<LastIterateReleaser> inner) : inner_{std::move(inner)} {}
  std::vector<double> release(const Dataset& data, ConvexObjectiveRef objective, const LastIterateDescent& descent) override {
    auto weights = inner_->release(data, objective, descent);
    const GridVector content = mechanisms::round_to_nearest(weights, {.log2_step = -50});
    return Watch::vector(
        fmt::format("last iterate of {} on {} records of {} features", text_of(plan(descent, objective)), data.size(), data.features()),
        content, farthest(data, descent), [&] { return weights; });
  }

 private:
  static double farthest(const Dataset& data, const LastIterateDescent& descent) {
    const double of_one =
        descent.step_size.value() * mechanisms::sensitivity_of_clipped_sum(descent.clip, descent.adjacency).value() * (1 + 0x1p-10);
    if (const auto* all = std::get_if<AllRecords>(&descent.batches)) {
      return of_one * static_cast<double>(all->steps.value()) / static_cast<double>(data.size());
    }
    if (const auto* some = std::get_if<PublicBatches>(&descent.batches)) {
      return of_one * static_cast<double>(some->passes.value()) / static_cast<double>(std::min(some->size, some->records).value());
    }
    return of_one / std::get<GrowingBatches>(descent.batches).sizes.all().front().second;
  }

  std::unique_ptr<LastIterateReleaser> inner_;
};

class WatchedLearnerReleaser final : public LearnerReleaser {
 public:
  explicit WatchedLearnerReleaser(std::unique_ptr<LearnerReleaser> inner) : inner_{std::move(inner)} {}
  void begin(const GossipPass& pass) override { inner_->begin(pass); }
  std::vector<double> release(std::size_t learner, std::uint64_t round, const GridVector& query, L2Sensitivity sensitivity) override {
    return Watch::vector(fmt::format("learner {} in round {} of {}, sensitivity {}", learner, round, shape_of(query), sensitivity.value()),
                         query, sensitivity.value(), [&] { return inner_->release(learner, round, query, sensitivity); });
  }

 private:
  std::unique_ptr<LearnerReleaser> inner_;
};

class WatchedSelector final : public Selector {
 public:
  explicit WatchedSelector(std::unique_ptr<Selector> inner) : inner_{std::move(inner)} {}
  std::size_t select(std::span<const double> scores, ScoreSensitivity sensitivity, ScoreChange change, const Event& event) override {
    const double range = (change == ScoreChange::either_way ? 2 : 1) * sensitivity.value();
    const std::size_t selected = inner_->select(scores, sensitivity, change, event);
    return Watch::scores(fmt::format("select {} of {}, range {}", text_of(event), scores.size(), range), scores, range, selected);
  }

 private:
  std::unique_ptr<Selector> inner_;
};

class WatchedStream final : public StreamReleaser<> {
 public:
  /// \param calibrated the sensitivity that the noise of the sum is for
  WatchedStream(std::unique_ptr<StreamReleaser<>> inner, L2Sensitivity calibrated) : inner_{std::move(inner)}, calibrated_{calibrated} {}
  std::vector<double> push(const GridVector& contribution, L2Sensitivity sensitivity) override {
    return Watch::vector(fmt::format("push of {}, sensitivity {} of {}", shape_of(contribution), sensitivity.value(), calibrated_.value()),
                         contribution, calibrated_.value(), [&] { return inner_->push(contribution, sensitivity); });
  }
  Grid grid() const override { return inner_->grid(); }

 private:
  std::unique_ptr<StreamReleaser<>> inner_;
  L2Sensitivity calibrated_;
};

/// Stands in the place of the maker that jobs ask, and asks that one.
class WatchedReleasers final : public jobs::ReleaserMaker {
 public:
  explicit WatchedReleasers(jobs::ReleaserMaker& made) : made_{made} {}

  std::unique_ptr<Releaser> gaussian(accounting::Reservation& reservation, BitsRef bits) override {
    return watched("release", made_.gaussian(reservation, bits));
  }
  std::unique_ptr<Releaser> of_vector(accounting::Reservation& reservation, BitsRef bits) override {
    return watched("vector", made_.of_vector(reservation, bits));
  }
  std::unique_ptr<Releaser> of_batches(accounting::Reservation& reservation, BitsRef bits, const BatchPass& pass) override {
    return watched("batch", made_.of_batches(reservation, bits, pass));
  }
  std::unique_ptr<Releaser> of_run(NoiseMultiplier run, Adjacency adjacency, BitsRef bits) override {
    return std::make_unique<WatchedRunReleaser>(made_.of_run(run, adjacency, bits));
  }
  std::unique_ptr<Releaser> of_score(const accounting::Reservation& training, BitsRef bits) override {
    return watched("score", made_.of_score(training, bits));
  }
  std::unique_ptr<SamplingReleaser> sampling(accounting::Reservation& reservation, BitsRef bits, const AnySampler& sampler) override {
    return std::make_unique<WatchedSamplingReleaser>(made_.sampling(reservation, bits, sampler),
                                                     std::holds_alternative<mechanisms::Allocation>(sampler));
  }
  std::unique_ptr<PerturbingReleaser> perturbing(accounting::Reservation& reservation, BitsRef bits) override {
    return std::make_unique<WatchedPerturbingReleaser>(made_.perturbing(reservation, bits));
  }
  std::unique_ptr<LastIterateReleaser> of_last_iterate(accounting::Reservation& reservation, BitsRef bits) override {
    return std::make_unique<WatchedLastIterateReleaser>(made_.of_last_iterate(reservation, bits));
  }
  std::unique_ptr<LearnerReleaser> of_learners(accounting::Reservation& reservation, LearnerBits& bits) override {
    return std::make_unique<WatchedLearnerReleaser>(made_.of_learners(reservation, bits));
  }
  std::unique_ptr<LearnerReleaser> of_learners(ChargedByFirstNode owner, LearnerBits& bits) override {
    return std::make_unique<WatchedLearnerReleaser>(made_.of_learners(owner, bits));
  }
  std::unique_ptr<Selector> selector(accounting::Reservation& reservation, BitsRef bits) override {
    return std::make_unique<WatchedSelector>(made_.selector(reservation, bits));
  }
  std::unique_ptr<StreamReleaser<>> of_stream(accounting::Reservation& reservation, BitsRef bits, mechanisms::GaussianContinualSum sum,
                                              L2Sensitivity sensitivity) override {
    const L2Sensitivity calibrated = sum.options().sensitivity;
    return std::make_unique<WatchedStream>(made_.of_stream(reservation, bits, std::move(sum), sensitivity), calibrated);
  }

 private:
  static std::unique_ptr<Releaser> watched(std::string_view name, std::unique_ptr<Releaser> inner) {
    return std::make_unique<WatchedReleaser>(name, std::move(inner));
  }

  jobs::ReleaserMaker& made_;
};

}  // namespace
}  // namespace surety_test

// ---- Where they are put in ---------------------------------------------------------------------------------------------------------------
//
// The linker's --wrap=NAME sends calls of NAME from other objects to __wrap_NAME, and those of __real_NAME to NAME. Two names are enough: the
// maker of all doors, and the charge itself, so that a door that was made elsewhere is seen by its charge, which then has no release. Names are
// as the Itanium ABI makes them, in which a member function is one whose first parameter is `this`. tests/CMakeLists.txt reads them out of the
// lines that begin with SURETY_WATCHED.

using namespace surety;

// NOLINTBEGIN(bugprone-reserved-identifier)
#define SURETY_WATCHED(result, name, symbol, ...)        \
  result real_##name(__VA_ARGS__) asm("__real_" symbol); \
  result wrap_##name(__VA_ARGS__) asm("__wrap_" symbol); \
  result wrap_##name(__VA_ARGS__)
// NOLINTEND(bugprone-reserved-identifier)

// clang-format off
SURETY_WATCHED(void, spend, "_ZN6surety10accounting11Reservation5spendERKNS_5EventE", accounting::Reservation* self, const Event& event) {
  surety_test::Watch::charge(event);
  real_spend(self, event);
}

SURETY_WATCHED(jobs::ReleaserMaker&, releasers, "_ZN6surety4jobs9releasersEv") {
  static surety_test::WatchedReleasers watched{real_releasers()};
  return watched;
}
// clang-format on
