// What shaped descent, sufficient statistics and shares really cost, where a record or an owner of several rows comes, goes, or gives way to another: by the
// likelihood ratio of all that they release, which is the strongest attack that there is.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <surety/accounting/answers/best.h>
#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/releases.h>
#include <surety/optimizers/doors/run.h>
#include <surety/optimizers/empirical_risk/column_ranges.h>
#include <surety/optimizers/empirical_risk/constant_learner.h>
#include <surety/optimizers/empirical_risk/shaped_descent.h>
#include <surety/optimizers/empirical_risk/sufficient_statistics.h>
#include <surety/optimizers/problem/loss.h>
#include <surety/testing/releaser.h>

#include <support/empirical_epsilon.h>

namespace surety::optimizers::shaped_descent_attack_test {
namespace {

constexpr std::uint64_t runs = 1000;  ///< on each side
constexpr double delta = 0.01;

/// Owners of two rows each: a few who stay, and the one who is attacked, if any.
struct Table {
  std::vector<double> values{0.6, 0.8, 0, 0.8, -0.6, 0, 0, 1, 0, 0, 0.8, 0.6};
  std::vector<double> labels{1, 0, 1, 0};
  std::vector<std::size_t> ends{2, 4};

  void add(std::vector<double> row, double label) {
    for (int k = 0; k < 2; ++k) {
      values.insert(values.end(), row.begin(), row.end());
      labels.push_back(label);
    }
    ends.push_back(labels.size());
  }
  /// \param lowest the label that 0 stands for: 0 of classes, else -1
  [[nodiscard]] Dataset data(double lowest) const {
    auto found = labels;
    for (double& label : found) label = label == 0 ? lowest : label;
    return Dataset::dense(3, values, std::move(found));
  }
};
/// In what who is replaced differs from who comes: each is where one of the releases moves furthest.
enum class Differs { in_row, in_label };

Table with_canary() {
  Table table;
  table.add({1, 0, 0}, 1);
  return table;
}
Table without(Adjacency adjacency, Differs differs) {
  Table table;
  if (adjacency == Adjacency::replace_one)
    table.add(differs == Differs::in_row ? std::vector<double>{0, 1, 0} : std::vector<double>{1, 0, 0}, 0);
  if (adjacency == Adjacency::zero_out) table.add({0, 0, 0}, 0);
  return table;
}

struct Learner {
  std::string name;
  std::function<void(const Table& table, Adjacency adjacency, Releaser& releaser)> learn;
  std::function<Event(Adjacency adjacency)> plan;
  Differs differs = Differs::in_row;
  bool is_attacked = false;  ///< by runs: each kind of release once, of owners, for those of records are of owners of one row
};

std::vector<Learner> learners() {
  // Nearly all of mu^2 for the release that moves furthest.
  const auto options = [](Adjacency adjacency, Differs differs) {
    return ShapedDescentOptions{.noise_multiplier = NoiseMultiplier{differs == Differs::in_row ? std::sqrt(20.0) : std::sqrt(2 / 0.9)},
                                .adjacency = adjacency,
                                .steps = Count{2},
                                .matrix_share = MatrixShare{differs == Differs::in_row ? 0.9 : 0.1},
                                .clip_share = 0.05,
                                .public_count = Count{5}};
  };
  std::vector<Learner> found;
  for (const bool has_owners : {false, true}) {
    const auto with_ends = [has_owners](auto its, const Table& table) {
      // Without owners the last row alone is attacked: of its copy nothing stays.
      if (has_owners) its.unit_ends = table.ends;
      return its;
    };
    const auto rows_of = [has_owners](const Table& table, double lowest) {
      if (has_owners) return table.data(lowest);
      Table single = table;
      if (single.labels.size() > 4) {
        single.labels.pop_back();
        single.values.resize(single.values.size() - 3);
      }
      return single.data(lowest);
    };
    const std::string of = has_owners ? ", owners" : ", records";
    for (const Differs differs : {Differs::in_row, Differs::in_label}) {
      const std::string what = of + (differs == Differs::in_row ? ", other row" : ", other label");
      found.push_back({"shaped descent" + what,
                       [=](const Table& table, Adjacency adjacency, Releaser& releaser) {
                         static_cast<void>(
                             shaped_descent(rows_of(table, -1), LogisticLoss{}, with_ends(options(adjacency, differs), table), releaser));
                       },
                       [=](Adjacency adjacency) { return plan(options(adjacency, differs)); }, differs, has_owners});
      for (const ClassesBy by : {ClassesBy::softmax, ClassesBy::one_against_the_rest}) {
        const auto of_classes = [=](Adjacency adjacency) {
          auto its = options(adjacency, differs);
          its.class_weights = {1, 1};
          its.classes_by = by;
          return its;
        };
        found.push_back({"shaped descent of classes by " + std::string{name(by)} + what,
                         [=](const Table& table, Adjacency adjacency, Releaser& releaser) {
                           static_cast<void>(
                               shaped_descent(rows_of(table, 0), LogisticLoss{}, with_ends(of_classes(adjacency), table), releaser));
                         },
                         [=](Adjacency adjacency) { return plan(of_classes(adjacency)); }, differs,
                         has_owners && by == ClassesBy::softmax && differs == Differs::in_label});
      }
    }
    const auto from_the_share = [=](Adjacency adjacency) {
      auto its = options(adjacency, Differs::in_label);
      its.starts_at_class_share = true;
      return its;
    };
    found.push_back({"shaped descent from the share of a class" + of,
                     [=](const Table& table, Adjacency adjacency, Releaser& releaser) {
                       static_cast<void>(
                           shaped_descent(rows_of(table, -1), LogisticLoss{}, with_ends(from_the_share(adjacency), table), releaser));
                     },
                     [=](Adjacency adjacency) { return plan(from_the_share(adjacency)); }, Differs::in_label, has_owners});
    const auto squares = [](Adjacency adjacency) {
      return SufficientStatisticsOptions{.noise_multiplier = NoiseMultiplier{1}, .label_bound = LabelBound{1}, .adjacency = adjacency};
    };
    found.push_back({"sufficient statistics" + of,
                     [=](const Table& table, Adjacency adjacency, Releaser& releaser) {
                       static_cast<void>(release_moments(rows_of(table, -1), with_ends(squares(adjacency), table), releaser));
                     },
                     [=](Adjacency adjacency) { return plan(squares(adjacency)); }, Differs::in_row, has_owners});
    const auto shares = [](Adjacency adjacency) {
      return ConstantLearnerOptions{.noise_multiplier = NoiseMultiplier{1}, .adjacency = adjacency, .public_count = Count{5}};
    };
    found.push_back({"shares of classes" + of,
                     [=](const Table& table, Adjacency adjacency, Releaser& releaser) {
                       static_cast<void>(constant_class_shares(rows_of(table, 0), 2, with_ends(shares(adjacency), table), releaser));
                     },
                     [=](Adjacency adjacency) { return plan(shares(adjacency)); }, Differs::in_row, has_owners});
  }
  // Of records with weights: those who stay have any, and the canary and who takes its place the largest one.
  const auto weighted = [](Table table, double lowest) {
    if (table.labels.size() > 4) {
      table.labels.pop_back();
      table.values.resize(table.values.size() - 3);
    }
    std::vector<double> weights{0.3, 1, 0, 0.7};
    weights.resize(table.labels.size(), 1);
    return table.data(lowest).with_weights(std::move(weights));
  };
  for (const Differs differs : {Differs::in_row, Differs::in_label}) {
    found.push_back({"shaped descent, records with weights" + std::string{differs == Differs::in_row ? ", other row" : ", other label"},
                     [=](const Table& table, Adjacency adjacency, Releaser& releaser) {
                       static_cast<void>(shaped_descent(weighted(table, -1), LogisticLoss{}, options(adjacency, differs), releaser));
                     },
                     [=](Adjacency adjacency) { return plan(options(adjacency, differs)); }, differs, true});
  }
  const auto squares_of_weights = [](Adjacency adjacency) {
    return SufficientStatisticsOptions{.noise_multiplier = NoiseMultiplier{1}, .label_bound = LabelBound{1}, .adjacency = adjacency};
  };
  found.push_back({"sufficient statistics, records with weights",
                   [=](const Table& table, Adjacency adjacency, Releaser& releaser) {
                     static_cast<void>(release_moments(weighted(table, -1), squares_of_weights(adjacency), releaser));
                   },
                   [=](Adjacency adjacency) { return plan(squares_of_weights(adjacency)); }, Differs::in_row, true});
  const auto constant_of_weights = [](Adjacency adjacency) {
    return ConstantLearnerOptions{
        .noise_multiplier = NoiseMultiplier{1}, .adjacency = adjacency, .label_bound = LabelBound{1}, .public_count = Count{5}};
  };
  found.push_back({"mean label, records with weights",
                   [=](const Table& table, Adjacency adjacency, Releaser& releaser) {
                     static_cast<void>(constant_learner(weighted(table, -1), constant_of_weights(adjacency), releaser));
                   },
                   [=](Adjacency adjacency) { return plan(constant_of_weights(adjacency)); }, Differs::in_label, true});
  // Two columns in which the canary is far above all others, and who takes its place far below.
  const auto ranged = [](const Table& table) {
    std::vector<double> values;
    for (std::size_t i = 0; i < table.labels.size(); ++i) {
      if (i + 1 == table.labels.size() && i >= 4) break;  // the copy
      const double* const row = &table.values[3 * i];
      const bool is_damaged = row[0] == 0 && row[1] == 0 && row[2] == 0;
      const double far = i == 4 ? 0x1p900 * (row[0] - row[1]) : row[0];
      values.insert(values.end(), {far, far, is_damaged ? 0.0 : 1.0});
    }
    return Dataset::dense(3, values, std::vector<double>(values.size() / 3, 0.0));
  };
  found.push_back(
      {"ranges of columns, records",
       [=](const Table& table, Adjacency adjacency, Releaser& releaser) {
         static_cast<void>(release_ranges(
             ranged(table), {.columns = {0, 1}, .adjacency = adjacency, .noise_multiplier = NoiseMultiplier{4}, .count = 5}, releaser));
       },
       [=](Adjacency adjacency) { return ranges_event(NoiseMultiplier{4}, adjacency); }, Differs::in_row, true});
  return found;
}

/// Of those whose noise can be pure, each kind of release once.
std::vector<Learner> pure_learners() {
  const auto options = [](Adjacency adjacency, Differs differs) {
    return ShapedDescentOptions{.noise_multiplier = NoiseMultiplier{differs == Differs::in_row ? 20.0 : 1.0},
                                .adjacency = adjacency,
                                .is_pure = true,
                                .steps = Count{2},
                                .matrix_share = MatrixShare{differs == Differs::in_row ? 0.9 : 0.1},
                                .clip_share = 0.05,
                                .public_count = Count{5}};
  };
  const auto constant = [](Adjacency adjacency) {
    return ConstantLearnerOptions{
        .noise_multiplier = NoiseMultiplier{1}, .adjacency = adjacency, .is_pure = true, .public_count = Count{5}};
  };
  std::vector<Learner> found;
  for (const Differs differs : {Differs::in_row, Differs::in_label}) {
    found.push_back({"pure shaped descent",
                     [=](const Table& table, Adjacency adjacency, Releaser& releaser) {
                       auto its = options(adjacency, differs);
                       its.unit_ends = table.ends;
                       static_cast<void>(shaped_descent(table.data(-1), LogisticLoss{}, its, releaser));
                     },
                     [=](Adjacency adjacency) { return plan(options(adjacency, differs)); }, differs});
  }
  found.push_back({"pure constant",
                   [=](const Table& table, Adjacency adjacency, Releaser& releaser) {
                     auto its = constant(adjacency);
                     its.unit_ends = table.ends;
                     static_cast<void>(constant_learner(table.data(-1), its, releaser));
                   },
                   [=](Adjacency adjacency) { return plan(constant(adjacency)); }, Differs::in_label});
  return found;
}

/// Draws the noise that is asked for, by another generator than the library's, and keeps all of it.
struct Kept final : Releaser {
  explicit Kept(std::mt19937_64& its) : random{its} {}
  std::mt19937_64& random;
  std::vector<std::vector<double>> released = {};
  std::vector<double> sigma = {};
  std::vector<Event> asked = {};
  std::vector<double> release(const GridVector& query, L2Sensitivity sensitivity, const Event& event) override {
    asked.push_back(event);
    sigma.push_back(sensitivity.value() * std::get<Event::Gaussian>(event.node()).multiplier.value());
    std::normal_distribution<double> noise{0, sigma.back()};
    released.push_back(mechanisms::to_reals(query));
    for (double& value : released.back()) value += noise(random);
    return released.back();
  }
};

struct Evidence {
  double logarithm = 0;   ///< of the likelihood ratio of what was released, with the canary over without
  double squared_mu = 0;  ///< by how many deviations both differ, squared, given what was released before
};

/// \param event what is charged
Evidence attack(const Learner& learner, Adjacency adjacency, bool has_canary, const Event& event, std::mt19937_64& random) {
  const Table tables[] = {with_canary(), without(adjacency, learner.differs)};
  Kept kept{random};
  learner.learn(tables[has_canary ? 0 : 1], adjacency, kept);
  EXPECT_EQ(accounting::Releases::of(compose(kept.asked)), accounting::Releases::of(event));
  testing::ScriptedReleaser scripts[] = {testing::ScriptedReleaser{kept.released}, testing::ScriptedReleaser{kept.released}};
  for (int k = 0; k < 2; ++k) learner.learn(tables[k], adjacency, scripts[k]);
  Evidence found;
  for (std::size_t t = 0; t < kept.released.size(); ++t) {
    const auto a = mechanisms::to_reals(scripts[0].log()[t].query);
    const auto b = mechanisms::to_reals(scripts[1].log()[t].query);
    const double variance = kept.sigma[t] * kept.sigma[t];
    for (std::size_t j = 0; j < a.size(); ++j) {
      const double x = kept.released[t][j];
      found.logarithm += ((x - b[j]) * (x - b[j]) - (x - a[j]) * (x - a[j])) / (2 * variance);
      found.squared_mu += (a[j] - b[j]) * (a[j] - b[j]) / variance;
    }
  }
  return found;
}

double squared_mu_of(const Event& event) {
  double sum = 0;
  for (const auto& [leaf, count] : accounting::Releases::of(event).entries()) {
    sum += static_cast<double>(count.value()) / std::pow(std::get<Event::Gaussian>(leaf.node()).multiplier.value(), 2);
  }
  return sum;
}

TEST(ShapedDescentAudit, CostsNoMoreThanIsChargedAndAtLeastAThird) {
  for (const auto& learner : learners()) {
    if (!learner.is_attacked) continue;
    SCOPED_TRACE(learner.name);
    const Event charged = learner.plan(Adjacency::replace_one);
    const double promised = accounting::epsilon(accounting::Best{}, charged, Delta{delta}).upper;
    std::mt19937_64 random{5};
    reference::Hits with{0, runs};
    reference::Hits others{0, runs};
    for (std::uint64_t k = 0; k < runs; ++k) {
      // Chosen before the runs: where the ratio is e.
      with.hits += attack(learner, Adjacency::replace_one, true, charged, random).logarithm > 1 ? 1 : 0;
      others.hits += attack(learner, Adjacency::replace_one, false, charged, random).logarithm > 1 ? 1 : 0;
    }
    const double lower = reference::empirical_epsilon(with, others, delta, 1e-3);
    std::printf("%s: %.3f of %.3f\n", learner.name.c_str(), lower, promised);
    EXPECT_LE(lower, promised);
    EXPECT_GE(lower, promised / 3);
  }
}

// Of both queries, given what was released before: by no more deviations than are charged, under each adjacency, and by nearly as many.
TEST(ShapedDescentAudit, MovesByNoMoreThanIsCharged) {
  for (const auto& learner : learners()) {
    for (const Adjacency adjacency : {Adjacency::replace_one, Adjacency::zero_out, Adjacency::add_or_remove_one}) {
      SCOPED_TRACE(learner.name);
      const Event charged = learner.plan(adjacency);
      std::mt19937_64 random{7};
      double largest = 0;
      for (int k = 0; k < 50; ++k) largest = std::max(largest, attack(learner, adjacency, k % 2 == 0, charged, random).squared_mu);
      std::printf("%s, adjacency %d: %.4f\n", learner.name.c_str(), static_cast<int>(adjacency), largest / squared_mu_of(charged));
      EXPECT_LE(largest, squared_mu_of(charged) * (1 + 1e-9));
      EXPECT_GE(largest, squared_mu_of(charged) * 0.85);
    }
  }
}

/// Draws noise of density exp(-||x||_2 / (b s)) for pure(1/b), by another generator than the library's, and keeps all of it.
struct KeptPure final : Releaser {
  explicit KeptPure(std::mt19937_64& its) : random{its} {}
  std::mt19937_64& random;
  std::vector<std::vector<double>> released = {};
  std::vector<double> scale = {};  ///< b s
  std::vector<Event> asked = {};
  std::vector<double> release(const GridVector& query, L2Sensitivity sensitivity, const Event& event) override {
    asked.push_back(event);
    scale.push_back(sensitivity.value() / std::get<Event::Pure>(event.node()).epsilon.value());
    std::vector<double> direction(query.steps.size());
    std::normal_distribution<double> normal;
    double square = 0;
    for (double& value : direction) {
      value = normal(random);
      square += value * value;
    }
    const double radius = std::gamma_distribution<double>{static_cast<double>(direction.size()), scale.back()}(random);
    released.push_back(mechanisms::to_reals(query));
    for (std::size_t j = 0; j < direction.size(); ++j) released.back()[j] += radius * direction[j] / std::sqrt(square);
    return released.back();
  }
};

// Over all that is released the logarithm of the likelihood ratio is at most what is charged at delta = 0, and comes close to it.
TEST(PureDescentAudit, LosesNoMoreThanIsChargedAndNearlyAsMuch) {
  for (auto learner : pure_learners()) {
    for (const Adjacency adjacency : {Adjacency::replace_one, Adjacency::zero_out, Adjacency::add_or_remove_one}) {
      SCOPED_TRACE(learner.name);
      const Event charged = learner.plan(adjacency);
      const double promised = accounting::epsilon(accounting::Best{}, charged, Delta{0}).upper;
      std::mt19937_64 random{9};
      double largest = 0;
      const Table tables[] = {with_canary(), without(adjacency, learner.differs)};
      for (int k = 0; k < 400; ++k) {
        KeptPure kept{random};
        learner.learn(tables[k % 2], adjacency, kept);
        EXPECT_EQ(accounting::Releases::of(compose(kept.asked)), accounting::Releases::of(charged));
        testing::ScriptedReleaser scripts[] = {testing::ScriptedReleaser{kept.released}, testing::ScriptedReleaser{kept.released}};
        for (int side = 0; side < 2; ++side) learner.learn(tables[side], adjacency, scripts[side]);
        double logarithm = 0;
        for (std::size_t t = 0; t < kept.released.size(); ++t) {
          double lengths[] = {0, 0};
          for (int side = 0; side < 2; ++side) {
            const auto query = mechanisms::to_reals(scripts[side].log()[t].query);
            for (std::size_t j = 0; j < query.size(); ++j) lengths[side] += std::pow(kept.released[t][j] - query[j], 2);
          }
          logarithm += (std::sqrt(lengths[1]) - std::sqrt(lengths[0])) / kept.scale[t];
        }
        largest = std::max(largest, std::abs(logarithm));
      }
      std::printf("%s, adjacency %d: %.3f of %.3f\n", learner.name.c_str(), static_cast<int>(adjacency), largest, promised);
      EXPECT_LE(largest, promised * (1 + 1e-9));
      EXPECT_GE(largest, promised * 0.3);
    }
  }
}

}  // namespace
}  // namespace surety::optimizers::shaped_descent_attack_test
