#include <support/watched_doors.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include <surety/accounting/events/event.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/mechanisms/choices/batch_sampler.h>
#include <surety/mechanisms/prefix_sums/gaussian_continual_sum.h>
#include <surety/optimizers/doors/batch_releaser.h>
#include <surety/optimizers/doors/epoch_releaser.h>
#include <surety/optimizers/doors/learner_releaser.h>
#include <surety/optimizers/doors/perturbing_releaser.h>
#include <surety/optimizers/doors/run.h>
#include <surety/optimizers/doors/run_releaser.h>
#include <surety/optimizers/doors/sampled_releaser.h>
#include <surety/optimizers/doors/score_releaser.h>
#include <surety/optimizers/doors/selector.h>
#include <surety/optimizers/doors/vector_releaser.h>

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
  /// Lets `release` run, and keeps the outermost door's question. A script that is over, or does not fit, is seen when logs are compared.
  template <class Release>
  static std::vector<double> vector(std::string asked, const GridVector& query, double sensitivity, const Release& release,
                                    DoorEntry::Kind kind = DoorEntry::Kind::vector) {
    if (watching == nullptr || watching->depth_ > 0) return release();
    auto released = inside(release);
    WatchedDoors& doors = *watching;
    doors.log_.push_back({kind, std::move(asked), mechanisms::to_reals(query), sensitivity});
    if (!doors.is_replay_) {
      doors.released_.push_back(released);
      return released;
    }
    const std::size_t next = doors.next_released_++;
    return next < doors.released_.size() && doors.released_[next].size() == released.size() ? doors.released_[next] : released;
  }

  template <class Select>
  static std::size_t scores(std::string asked, std::span<const double> scores, double range, const Select& select) {
    if (watching == nullptr || watching->depth_ > 0) return select();
    std::size_t selected = inside(select);
    WatchedDoors& doors = *watching;
    doors.log_.push_back({DoorEntry::Kind::scores, std::move(asked), {scores.begin(), scores.end()}, range});
    if (!doors.is_replay_) {
      doors.selected_.push_back(selected);
      return selected;
    }
    const std::size_t next = doors.next_selected_++;
    return next < doors.selected_.size() && doors.selected_[next] < scores.size() ? doors.selected_[next] : selected;
  }

  template <class Draw>
  static std::vector<std::size_t> batch(std::size_t records, const Draw& draw) {
    if (watching == nullptr) return draw();
    WatchedDoors& doors = *watching;
    if (!doors.is_replay_) {
      auto drawn = draw();
      doors.batches_.push_back(drawn);
      doors.records_.push_back(records);
      return drawn;
    }
    const std::size_t next = doors.next_batch_++;
    if (next >= doors.batches_.size()) return draw();
    auto batch = doors.batches_[next];
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

 private:
  template <class Call>
  static auto inside(const Call& call) {
    struct Depth {
      Depth() { ++watching->depth_; }
      ~Depth() { --watching->depth_; }
    };
    const Depth depth;
    return call();
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

// ---- The functions between a door and who calls it ---------------------------------------------------------------------------------------
//
// The linker's --wrap=NAME sends calls of NAME from other objects to __wrap_NAME, and those of __real_NAME to NAME. Names are as the Itanium
// ABI makes them, in which a member function is one whose first parameter is `this`. tests/CMakeLists.txt reads the names out of the lines
// that begin with SURETY_WATCHED; one that no longer exists is seen by the test, in which a charge then has no release.

using surety_test::DoorEntry;
using surety_test::Watch;
using namespace surety;
using namespace surety::optimizers;
using mechanisms::BitsRef;

// NOLINTBEGIN(bugprone-reserved-identifier)
#define SURETY_WATCHED(result, name, symbol, ...)        \
  result real_##name(__VA_ARGS__) asm("__real_" symbol); \
  result wrap_##name(__VA_ARGS__) asm("__wrap_" symbol); \
  result wrap_##name(__VA_ARGS__)
// NOLINTEND(bugprone-reserved-identifier)

// clang-format off
SURETY_WATCHED(void, spend, "_ZN6surety10accounting11Reservation5spendERKNS_5EventE", accounting::Reservation* self, const Event& event) {
  Watch::charge(event);
  real_spend(self, event);
}

SURETY_WATCHED(std::vector<double>, release, "_ZN6surety10optimizers13NoisyReleaser7releaseERKNS_10GridVectorENS_8QuantityINS_17L2SensitivityRuleEEERKNS_5EventE", NoisyReleaser* self, const GridVector& query, L2Sensitivity sensitivity, const Event& event) {
  return Watch::vector(fmt::format("release {} of {}, sensitivity {}", surety_test::text_of(event), surety_test::shape_of(query), sensitivity.value()), query,
                       sensitivity.value(), [&] { return real_release(self, query, sensitivity, event); });
}

SURETY_WATCHED(std::vector<double>, run_release, "_ZN6surety10optimizers11RunReleaser7releaseERKNS_10GridVectorENS_8QuantityINS_17L2SensitivityRuleEEERKNS_5EventE", RunReleaser* self, const GridVector& query, L2Sensitivity sensitivity, const Event& event) {
  Watch::charge_in_search(event);
  return Watch::vector(fmt::format("run {} of {}, sensitivity {}", surety_test::text_of(event), surety_test::shape_of(query), sensitivity.value()), query,
                       sensitivity.value(), [&] { return real_run_release(self, query, sensitivity, event); });
}

SURETY_WATCHED(std::vector<double>, score_release, "_ZN6surety10optimizers13ScoreReleaser7releaseERKNS_10GridVectorENS_8QuantityINS_17L2SensitivityRuleEEERKNS_5EventE", ScoreReleaser* self, const GridVector& query, L2Sensitivity sensitivity, const Event& event) {
  return Watch::vector(fmt::format("score {} of {}, sensitivity {}", surety_test::text_of(event), surety_test::shape_of(query), sensitivity.value()), query,
                       sensitivity.value(), [&] { return real_score_release(self, query, sensitivity, event); });
}

SURETY_WATCHED(std::vector<double>, vector_release, "_ZN6surety10optimizers19NoisyVectorReleaser7releaseERKNS_10GridVectorENS_8QuantityINS_17L2SensitivityRuleEEERKNS_5EventE", NoisyVectorReleaser* self, const GridVector& query, L2Sensitivity sensitivity, const Event& event) {
  return Watch::vector(fmt::format("vector {} of {}, sensitivity {}", surety_test::text_of(event), surety_test::shape_of(query), sensitivity.value()), query,
                       sensitivity.value(), [&] { return real_vector_release(self, query, sensitivity, event); });
}

SURETY_WATCHED(std::vector<double>, batch_release, "_ZN6surety10optimizers18NoisyBatchReleaser7releaseERKNS_10GridVectorENS_8QuantityINS_17L2SensitivityRuleEEERKNS_5EventE", NoisyBatchReleaser* self, const GridVector& query, L2Sensitivity sensitivity, const Event& event) {
  return Watch::vector(fmt::format("batch {} of {}, sensitivity {}", surety_test::text_of(event), surety_test::shape_of(query), sensitivity.value()), query,
                       sensitivity.value(), [&] { return real_batch_release(self, query, sensitivity, event); });
}

SURETY_WATCHED(std::vector<double>, epoch_release_sampled, "_ZN6surety10optimizers18NoisyEpochReleaser15release_sampledERKNS_10GridVectorENS_8QuantityINS_17L2SensitivityRuleEEERKNS_5EventE", NoisyEpochReleaser* self, const GridVector& query, L2Sensitivity sensitivity, const Event& event) {
  return Watch::vector(fmt::format("round {} of {}, sensitivity {}", surety_test::text_of(event), surety_test::shape_of(query), sensitivity.value()), query,
                       sensitivity.value(), [&] { return real_epoch_release_sampled(self, query, sensitivity, event); });
}

SURETY_WATCHED(std::vector<double>, epoch_release, "_ZN6surety10optimizers18NoisyEpochReleaser7releaseERKNS_10GridVectorENS_8QuantityINS_17L2SensitivityRuleEEERKNS_5EventE", NoisyEpochReleaser* self, const GridVector& query, L2Sensitivity sensitivity, const Event& event) {
  return Watch::vector(fmt::format("all {} of {}, sensitivity {}", surety_test::text_of(event), surety_test::shape_of(query), sensitivity.value()), query,
                       sensitivity.value(), [&] { return real_epoch_release(self, query, sensitivity, event); });
}

SURETY_WATCHED(std::vector<double>, sampled_release, "_ZN6surety10optimizers6detail17spend_and_releaseERNS_10accounting11ReservationENS_10mechanisms7BitsRefERKNS_10GridVectorENS_8QuantityINS_17L2SensitivityRuleEEERKNS_5EventESF_PNS0_11SecretBatchE", accounting::Reservation& reservation, BitsRef bits, const GridVector& query, L2Sensitivity sensitivity, const Event& event, const Event& charged, SecretBatch* batch) {
  return Watch::vector(fmt::format("{} {} charged {} of {}, sensitivity {}", batch == nullptr ? "all" : "sampled", surety_test::text_of(event),
                                   surety_test::text_of(charged), surety_test::shape_of(query), sensitivity.value()),
                       query, sensitivity.value(), [&] { return real_sampled_release(reservation, bits, query, sensitivity, event, charged, batch); });
}

SURETY_WATCHED(std::vector<double>, learner_release, "_ZN6surety10optimizers20NoisyLearnerReleaser7releaseEmmRKNS_10GridVectorENS_8QuantityINS_17L2SensitivityRuleEEE", NoisyLearnerReleaser* self, std::size_t learner, std::uint64_t round, const GridVector& query, L2Sensitivity sensitivity) {
  return Watch::vector(fmt::format("learner {} in round {} of {}, sensitivity {}", learner, round, surety_test::shape_of(query), sensitivity.value()), query,
                       sensitivity.value(), [&] { return real_learner_release(self, learner, round, query, sensitivity); });
}

SURETY_WATCHED(std::vector<double>, perturb, "_ZN6surety10optimizers23NoisyPerturbingReleaser7perturbEmNS_8QuantityINS_17L2SensitivityRuleEEERKNS_5EventE", NoisyPerturbingReleaser* self, std::size_t dimension, L2Sensitivity sigma, const Event& event) {
  const GridVector nothing{.grid = {.log2_step = 0}, .steps = {}};
  return Watch::vector(fmt::format("perturb {} of {} coordinates, sigma {}", surety_test::text_of(event), dimension, sigma.value()), nothing, sigma.value(),
                       [&] { return real_perturb(self, dimension, sigma, event); }, DoorEntry::Kind::secret);
}

SURETY_WATCHED(std::size_t, select, "_ZN6surety10optimizers13NoisySelector6selectESt4spanIKdLm18446744073709551615EENS_8QuantityINS_20ScoreSensitivityRuleEEENS_11ScoreChangeERKNS_5EventE", NoisySelector* self, std::span<const double> scores, ScoreSensitivity sensitivity, ScoreChange change, const Event& event) {
  const double range = (change == ScoreChange::either_way ? 2 : 1) * sensitivity.value();
  return Watch::scores(fmt::format("select {} of {}, range {}", surety_test::text_of(event), scores.size(), range), scores, range,
                       [&] { return real_select(self, scores, sensitivity, change, event); });
}

SURETY_WATCHED(std::size_t, shared_select, "_ZN6surety10optimizers14SharedSelector6selectESt4spanIKdLm18446744073709551615EENS_8QuantityINS_20ScoreSensitivityRuleEEENS_11ScoreChangeERKNS_5EventE", SharedSelector* self, std::span<const double> scores, ScoreSensitivity sensitivity, ScoreChange change, const Event& event) {
  const double range = (change == ScoreChange::either_way ? 2 : 1) * sensitivity.value();
  return Watch::scores(fmt::format("select {} of {}, range {}", surety_test::text_of(event), scores.size(), range), scores, range,
                       [&] { return real_shared_select(self, scores, sensitivity, change, event); });
}

SURETY_WATCHED(std::vector<double>, push, "_ZN6surety10mechanisms20GaussianContinualSum4pushERKNS_10GridVectorENS0_7BitsRefE", mechanisms::GaussianContinualSum* self, const GridVector& contribution, BitsRef bits) {
  const double sensitivity = self->options().sensitivity.value();
  return Watch::vector(fmt::format("push of {}, sensitivity {}", surety_test::shape_of(contribution), sensitivity), contribution, sensitivity,
                       [&] { return real_push(self, contribution, bits); });
}

SURETY_WATCHED(std::vector<std::size_t>, poisson, "_ZNK6surety10mechanisms14PoissonBatches4drawEmNS0_7BitsRefE", const mechanisms::PoissonBatches* self, std::size_t records, BitsRef bits) {
  return Watch::batch(records, [&] { return real_poisson(self, records, bits); });
}

SURETY_WATCHED(std::vector<std::size_t>, fixed, "_ZNK6surety10mechanisms16FixedSizeBatches4drawEmNS0_7BitsRefE", const mechanisms::FixedSizeBatches* self, std::size_t records, BitsRef bits) {
  return Watch::batch(records, [&] { return real_fixed(self, records, bits); });
}

SURETY_WATCHED(std::vector<std::size_t>, truncated, "_ZNK6surety10mechanisms16TruncatedBatches4drawEmNS0_7BitsRefE", const mechanisms::TruncatedBatches* self, std::size_t records, BitsRef bits) {
  return Watch::batch(records, [&] { return real_truncated(self, records, bits); });
}
// clang-format on
