#include <surety/optimizers/problem/gradient_sum.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>

#include <surety/optimizers/problem/in_parts.h>
#include <surety/optimizers/problem/loss.h>

#include <support/plain_record_sum.h>

namespace surety::optimizers::gradient_sum_test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Mostly ordinary numbers; some zero, huge, tiny, or of any bits.
double drawn_number(std::mt19937_64& random, bool finite) {
  const double ordinary = std::uniform_real_distribution<double>{-1, 1}(random);
  switch (random() % 40) {
    case 0: return 0;
    case 1: return ordinary * 1e300;
    case 2: return ordinary * 1e-310;
    case 3: return finite ? -0.0 : infinity;
    case 4: {
      const double any = std::bit_cast<double>(random());
      return finite && !(std::abs(any) < infinity) ? 1e308 : any;
    }
    default: return ordinary;
  }
}

std::vector<double> drawn_numbers(std::size_t size, std::mt19937_64& random, bool finite) {
  std::vector<double> numbers(size);
  for (auto& number : numbers) number = drawn_number(random, finite);
  return numbers;
}

std::vector<double> drawn_labels(std::size_t size, std::mt19937_64& random) {
  std::vector<double> labels(size);
  for (auto& label : labels) label = random() % 2 == 0 ? 1 : -1;
  return labels;
}

Dataset drawn_dense(std::size_t size, std::size_t features, std::mt19937_64& random) {
  return Dataset::dense(features, drawn_numbers(size * features, random, true), drawn_labels(size, random));
}

/// Rows of 0 to all features.
Dataset drawn_sparse(std::size_t size, std::size_t features, std::mt19937_64& random) {
  std::vector<std::size_t> row_ends;
  std::vector<std::uint32_t> indices;
  for (std::size_t i = 0; i < size; ++i) {
    const std::uint64_t one_in = 1 + random() % 8;
    for (std::uint32_t j = 0; j < features; ++j) {
      if (i % 7 != 0 && random() % one_in == 0) indices.push_back(j);
    }
    row_ends.push_back(indices.size());
  }
  auto values = drawn_numbers(indices.size(), random, true);
  return Dataset::sparse(features, std::move(row_ends), std::move(indices), std::move(values), drawn_labels(size, random));
}

/// The definition: record by record, in 128-bit integers.
template <Objective O>
GridVector plain_gradients(const Dataset& data, const O& objective, std::span<const double> weights, std::span<const std::size_t> batch,
                           const mechanisms::RecordSum::Options& options) {
  reference::PlainRecordSum sum{options};
  for (const std::size_t i : batch) {
    const RowView row = data.row(i);
    const double factor = objective.derivative(row.dot(weights), data.label(i));
    if (row.is_sparse()) {
      sum.add_scaled(factor, row.indices, row.values, row.norm);
    } else if (!row.values.empty()) {
      sum.add_scaled(factor, row.values, row.norm);
    }
  }
  return sum.sum();
}

template <Objective O>
void expect_plain_sums(const Dataset& data, const O& objective, std::mt19937_64& random) {
  const auto weights = drawn_numbers(data.features(), random, random() % 3 != 0);
  const mechanisms::RecordSum::Options options{
      .clip = ClippingNorm{0.7}, .grid = {-static_cast<int>(1 + random() % 39)}, .dimension = data.features()};
  std::vector<std::size_t> all(data.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::vector<std::size_t> batch;
  for (std::size_t i = 0; i < data.size(); ++i) batch.push_back(random() % data.size());  // in any order, some twice
  const RecordRange range{.first = data.size() / 3, .end = data.size() - data.size() / 5};
  const auto of_all = plain_gradients(data, objective, weights, all, options);
  const auto of_batch = plain_gradients(data, objective, weights, batch, options);
  const auto of_range = plain_gradients(data, objective, weights, std::span{all}.subspan(range.first, range.end - range.first), options);
  for (const std::size_t threads : {0U, 1U, 2U, 5U}) {
    mechanisms::RecordSum sum{options};
    add_gradients(data, objective, weights, sum, threads);
    ASSERT_EQ(sum.sum(), of_all) << data.size() << ' ' << threads;
    sum.clear();
    add_gradients(data, objective, weights, batch, sum, threads);
    ASSERT_EQ(sum.sum(), of_batch) << data.size() << ' ' << threads;
    sum.clear();
    add_gradients(data, objective, weights, range, sum, threads);
    ASSERT_EQ(sum.sum(), of_range) << data.size() << ' ' << threads;
  }
}

TEST(GradientSum, IsThePlainSumBitForBit) {
  std::mt19937_64 random{7};
  const SquaredLoss squared{.label_bound = LabelBound{1}, .weight_radius = Radius{1}};
  for (const std::size_t size : {0U, 1U, 7U, 8U, 63U, 64U, 65U, 131U, 500U}) {
    for (const std::size_t features : {1U, 2U, 3U, 4U, 5U, 31U}) {
      for (const Dataset& data : {drawn_dense(size, features, random), drawn_sparse(size, features, random)}) {
        expect_plain_sums(data, LogisticLoss{}, random);
        expect_plain_sums(data, squared, random);
        expect_plain_sums(data, SmoothedHingeLoss{}, random);
      }
    }
  }
}

// Enough records for several threads: 2048 for each.
TEST(GradientSum, DoesNotDependOnThreads) {
  std::mt19937_64 random{8};
  for (const std::size_t size : {4095U, 4096U, 10'247U}) {
    expect_plain_sums(drawn_dense(size, 5, random), LogisticLoss{}, random);
    expect_plain_sums(drawn_sparse(size, 9, random), HingeLoss{}, random);
  }
}

// Parts must be all records, each once: a sum over four threads of what counts them.
TEST(GradientSum, EachRecordIsInOnePart) {
  for (const std::size_t count : {0U, 1U, 2047U, 4096U, 8191U, 8195U, 20'000U}) {
    for (const std::size_t threads : {0U, 1U, 3U, 4U, 7U}) {
      mechanisms::RecordSum sum{{.clip = ClippingNorm{1}, .grid = {0}, .dimension = 1}};
      std::vector<int> seen(count);
      detail::in_parts(count, threads, sum, [&](std::size_t begin, std::size_t end, mechanisms::RecordSum& part) {
        for (std::size_t i = begin; i < end; ++i) {
          ++seen[i];
          part.add(std::vector<double>{1});
        }
      });
      EXPECT_EQ(sum.sum().steps[0], static_cast<std::int64_t>(count));
      EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](int times) { return times == 1; })) << count << ' ' << threads;
    }
  }
}

TEST(GradientSum, AFailureInAnyThreadIsThrown) {
  mechanisms::RecordSum sum{{.clip = ClippingNorm{1}, .grid = {0}, .dimension = 1}};
  for (const std::size_t failing : {0U, 4000U, 8191U}) {
    EXPECT_THROW(detail::in_parts(8192, 4, sum,
                                  [&](std::size_t begin, std::size_t end, mechanisms::RecordSum&) {
                                    if (begin <= failing && failing < end) throw std::runtime_error{"planted"};
                                  }),
                 std::runtime_error);
  }
}

// Another program: each unit's mean gradient by hand, clipped as one record.
TEST(GradientSum, OfUnitsClipsTheMeanGradientOfEach) {
  std::mt19937_64 random{7};
  const LogisticLoss loss;
  for (int c = 0; c < 200; ++c) {
    const std::size_t features = 1 + random() % 4;
    std::vector<std::size_t> ends;
    for (std::size_t size = 0; ends.size() < 1 + random() % 6;) ends.push_back(size += 1 + random() % 4);
    std::vector<double> values(features * ends.back());
    for (auto& value : values) value = std::uniform_real_distribution<double>{-2, 2}(random);
    const Dataset records = Dataset::dense(features, values, drawn_labels(ends.back(), random));
    std::vector<double> weights(features);
    for (auto& weight : weights) weight = std::uniform_real_distribution<double>{-2, 2}(random);
    const mechanisms::RecordSum::Options settings{.clip = ClippingNorm{0.25}, .grid = {.log2_step = -30}, .dimension = features};
    mechanisms::RecordSum found{settings};
    add_unit_gradients(records, loss, weights, ends, found);
    std::vector<double> expected(features);
    double longest = 0;
    for (std::size_t unit = 0, row = 0; unit < ends.size(); ++unit) {
      std::vector<double> mean(features);
      const double count = static_cast<double>(ends[unit] - row);
      for (; row < ends[unit]; ++row) {
        double score = 0;
        for (std::size_t k = 0; k < features; ++k) score += weights[k] * values[row * features + k];
        for (std::size_t k = 0; k < features; ++k)
          mean[k] += loss.derivative(score, records.label(row)) * values[row * features + k] / count;
      }
      const double norm = mechanisms::l2_norm(mean);
      for (std::size_t k = 0; k < features; ++k) expected[k] += mean[k] * std::min(1.0, 0.25 / norm);
      mechanisms::RecordSum alone{settings};
      add_unit_gradients(records, loss, weights, ends, std::vector<std::size_t>{unit}, alone);
      longest = std::max(longest, mechanisms::l2_norm(alone.reals()));
    }
    for (std::size_t k = 0; k < features; ++k) EXPECT_NEAR(found.reals()[k], expected[k], 1e-8);
    EXPECT_LE(longest, 0.25);
    for (const std::size_t threads : {2, 5}) {
      mechanisms::RecordSum again{settings};
      add_unit_gradients(records, loss, weights, ends, again, threads);
      EXPECT_EQ(again.sum().steps, found.sum().steps);
    }
  }
}

// Another program: the K gradients of each record by hand, clipped as one vector; and what happens where each is clipped alone.
TEST(GradientSum, OfClassesClipsTheGradientsOfARecordAsOneVector) {
  std::mt19937_64 random{8};
  const LogisticLoss loss;
  constexpr double clip = 0.25;
  double longest_apart = 0;
  for (int c = 0; c < 200; ++c) {
    const std::size_t d = 1 + random() % 4;
    const std::size_t classes = 2 + random() % 3;
    const std::size_t size = 1 + random() % 5;
    const auto between = [&](double low, double high) { return std::uniform_real_distribution<double>{low, high}(random); };
    std::vector<double> values(d * size);
    for (auto& value : values) value = between(-2, 2);
    std::vector<double> labels(size);
    for (auto& label : labels) label = static_cast<double>(random() % (classes + 2)) - 1;  // also -1 and K, which are no class
    if (c % 5 == 0) labels[0] = 0.5;
    std::vector<double> weights(classes * d);
    for (auto& weight : weights) weight = between(-2, 2);
    std::vector<double> of_classes(classes);
    for (auto& weight : of_classes) weight = between(0.5, 2);
    const Dataset records = Dataset::dense(d, values, labels);
    const mechanisms::RecordSum::Options settings{.clip = ClippingNorm{clip}, .grid = {.log2_step = -30}, .dimension = classes * d};
    mechanisms::RecordSum found{settings};
    add_class_gradients(records, loss, weights, of_classes, found);
    std::vector<double> expected(classes * d);
    for (std::size_t i = 0; i < size; ++i) {
      std::vector<double> stacked(classes * d);
      double apart = 0;
      for (std::size_t k = 0; k < classes; ++k) {
        const bool is_class = labels[i] >= 0 && labels[i] < static_cast<double>(classes) && labels[i] == std::floor(labels[i]);
        if (!is_class) break;
        double score = 0;
        for (std::size_t j = 0; j < d; ++j) score += weights[k * d + j] * values[i * d + j];
        const double derivative =
            of_classes[static_cast<std::size_t>(labels[i])] * loss.derivative(score, labels[i] == static_cast<double>(k) ? 1 : -1);
        double norm = 0;
        for (std::size_t j = 0; j < d; ++j) norm = std::hypot(norm, stacked[k * d + j] = derivative * values[i * d + j]);
        apart = std::hypot(apart, std::min(norm, clip));
      }
      longest_apart = std::max(longest_apart, apart);
      const double norm = mechanisms::l2_norm(stacked);
      for (std::size_t j = 0; j < stacked.size(); ++j) expected[j] += stacked[j] * (norm > clip ? clip / norm : 1);
    }
    for (std::size_t j = 0; j < expected.size(); ++j) EXPECT_NEAR(found.reals()[j], expected[j], 1e-8);
    for (std::size_t i = 0; i < size; ++i) {
      mechanisms::RecordSum alone{settings};
      const std::span<const double> row = std::span{values}.subspan(i * d, d);
      add_class_gradients(Dataset::dense(d, {row.begin(), row.end()}, {labels[i]}), loss, weights, of_classes, alone);
      EXPECT_LE(mechanisms::l2_norm(alone.reals()), clip);
    }
    mechanisms::RecordSum again{settings};
    add_class_gradients(records, loss, weights, of_classes, again, 3);
    EXPECT_EQ(again.sum().steps, found.sum().steps);
  }
  EXPECT_GT(longest_apart, 1.5 * clip) << "clipping each class alone would not keep the sensitivity, and would be seen";
}

/// c_y -log p_y of one record, by softmax.
double softmax_loss(std::span<const double> row, std::size_t own, std::span<const double> weights, std::span<const double> of_classes) {
  const std::size_t d = row.size();
  std::vector<double> scores(of_classes.size());
  for (std::size_t k = 0; k < scores.size(); ++k) {
    for (std::size_t j = 0; j < d; ++j) scores[k] += weights[k * d + j] * row[j];
  }
  double sum = 0;
  for (const double score : scores) sum += std::exp(score);
  return of_classes[own] * (std::log(sum) - scores[own]);
}

TEST(GradientSum, BySoftmaxIsTheDerivativeOfTheLoss) {
  std::mt19937_64 random{11};
  std::uniform_real_distribution<double> draw{-2, 2};
  for (int c = 0; c < 100; ++c) {
    const std::size_t d = 1 + random() % 4;
    const std::size_t classes = 2 + random() % 4;
    std::vector<double> row(d);
    for (auto& value : row) value = draw(random);
    std::vector<double> weights(classes * d);
    for (auto& weight : weights) weight = draw(random);
    std::vector<double> of_classes(classes);
    for (auto& weight : of_classes) weight = 1.25 + draw(random) / 3;
    const std::size_t own = random() % classes;
    const mechanisms::RecordSum::Options settings{.clip = ClippingNorm{100}, .grid = {.log2_step = -33}, .dimension = classes * d};
    mechanisms::RecordSum found{settings};
    const Dataset record = Dataset::dense(d, row, {static_cast<double>(own)});
    add_class_gradients(record, LogisticLoss{}, weights, of_classes, found, 1, {}, ClassesBy::softmax);
    const auto gradient = found.reals();
    constexpr double step = 1e-5;
    for (std::size_t j = 0; j < weights.size(); ++j) {
      auto more = weights;
      auto less = weights;
      more[j] += step;
      less[j] -= step;
      const double slope = (softmax_loss(row, own, more, of_classes) - softmax_loss(row, own, less, of_classes)) / (2 * step);
      EXPECT_NEAR(gradient[j], slope, 1e-8);
    }
    EXPECT_LE(mechanisms::l2_norm(gradient), std::sqrt(2.0) * of_classes[own] * mechanisms::l2_norm(row) * (1 + 1e-12));
    for (std::size_t j = 0; j < d; ++j) {
      double common = 0;
      for (std::size_t k = 0; k < classes; ++k) common += gradient[k * d + j];
      EXPECT_NEAR(common, 0, 1e-8);
    }
  }
}

/// The square of how far apart two sums are, in steps of their grid: exact.
__extension__ using Wide = unsigned __int128;
Wide squared_distance(const GridVector& a, const GridVector& b) {
  Wide sum = 0;
  for (std::size_t j = 0; j < a.steps.size(); ++j) {
    const auto apart = static_cast<Wide>(a.steps[j] > b.steps[j] ? a.steps[j] - b.steps[j] : b.steps[j] - a.steps[j]);
    sum += apart * apart;
  }
  return sum;
}

/// What one record of a class, or of none, may be: ordinary, long, and zeros.
struct ClassRecord {
  std::vector<double> row;
  double label;
};
ClassRecord drawn_class_record(std::size_t d, std::size_t classes, std::mt19937_64& random) {
  constexpr std::array<double, 8> sizes{0, 1e-3, 0.5, 1, 30, 1e6, 1e200, 1e308};
  ClassRecord drawn{.row = std::vector<double>(d), .label = static_cast<double>(random() % (classes + 1)) - (random() % 7 == 0 ? 0.5 : 0)};
  const double size = sizes[random() % sizes.size()];
  for (auto& value : drawn.row) value = size * std::uniform_real_distribution<double>{-1, 1}(random);
  return drawn;
}

/// A clip of each class alone is what the claim does not hold for.
enum class Clipped { as_one, class_by_class };

GridVector sum_of_classes(const std::vector<ClassRecord>& records, std::size_t d, std::span<const double> weights,
                          std::span<const double> of_classes, const mechanisms::RecordSum::Options& settings, Clipped how) {
  mechanisms::RecordSum sum{settings};
  for (const auto& [row, label] : records) {
    const Dataset one = Dataset::dense(d, row, {label});
    if (how == Clipped::as_one) {
      add_class_gradients(one, LogisticLoss{}, weights, of_classes, sum, 1, {}, ClassesBy::softmax);
      continue;
    }
    auto wide = settings;
    wide.clip = ClippingNorm{1e3};
    wide.grid = {.log2_step = -25};
    mechanisms::RecordSum whole{wide};
    add_class_gradients(one, LogisticLoss{}, weights, of_classes, whole, 1, {}, ClassesBy::softmax);
    const auto gradient = whole.reals();
    for (std::size_t k = 0; k < of_classes.size(); ++k) {
      std::vector<double> alone(gradient.size());
      std::copy_n(gradient.begin() + static_cast<std::ptrdiff_t>(k * d), d, alone.begin() + static_cast<std::ptrdiff_t>(k * d));
      sum.add(alone);
    }
  }
  return sum.sum();
}

/// The largest distance of sums of neighbours over the sensitivity that is claimed, of drawn data sets under one adjacency; at most 1 exactly where
/// `is_kept`.
struct Moved {
  double ratio = 0;
  bool is_kept = true;
};
Moved moved_by_one_record(Adjacency adjacency, Clipped how) {
  std::mt19937_64 random{17};
  Moved worst;
  for (int c = 0; c < 3000; ++c) {
    const std::size_t d = 1 + random() % 3;
    const std::size_t classes = 2 + random() % 3;
    const auto steps = static_cast<Wide>(1) << (4 + random() % 20);  // of the clip
    const mechanisms::RecordSum::Options settings{.clip = ClippingNorm{0.25},
                                                  .grid = {.log2_step = -2 - static_cast<int>(std::log2(static_cast<double>(steps)))},
                                                  .dimension = classes * d};
    std::vector<double> weights(classes * d);
    const double size = std::array<double, 4>{0, 1, 100, 1e300}[random() % 4];
    for (auto& weight : weights) weight = size * std::uniform_real_distribution<double>{-1, 1}(random);
    const std::vector<double> of_classes(classes, 1.5);
    std::vector<ClassRecord> records;
    for (std::size_t i = 0; i < 1 + random() % 3; ++i) records.push_back(drawn_class_record(d, classes, random));
    auto others = records;
    if (adjacency == Adjacency::add_or_remove_one) others.push_back(drawn_class_record(d, classes, random));
    if (adjacency == Adjacency::zero_out) others.back().row.assign(d, 0);
    if (adjacency == Adjacency::replace_one) {
      others.back() = drawn_class_record(d, classes, random);
      // As far as one can be: the same class on the other side.
      if (random() % 3 == 0) {
        others.back() = records.back();
        for (auto& value : others.back().row) value = -value;
      }
    }
    const auto moved = squared_distance(sum_of_classes(records, d, weights, of_classes, settings, how),
                                        sum_of_classes(others, d, weights, of_classes, settings, how));
    const Wide claimed = adjacency == Adjacency::replace_one ? 2 * steps : steps;
    EXPECT_EQ(mechanisms::RecordSum{settings}.sensitivity(adjacency).value() / settings.grid.step(), static_cast<double>(claimed));
    worst.is_kept = worst.is_kept && moved <= claimed * claimed;
    worst.ratio = std::max(worst.ratio, std::sqrt(static_cast<double>(moved)) / static_cast<double>(claimed));
  }
  return worst;
}

// In integers, so after all rounding: a record moves a sum by no more than is claimed, and by nearly that.
TEST(GradientSum, BySoftmaxMovesByTheClipOfOneRecord) {
  for (const Adjacency adjacency : {Adjacency::add_or_remove_one, Adjacency::zero_out, Adjacency::replace_one}) {
    const auto found = moved_by_one_record(adjacency, Clipped::as_one);
    EXPECT_TRUE(found.is_kept) << name(adjacency);
    EXPECT_GT(found.ratio, 0.99) << name(adjacency);
    EXPECT_FALSE(moved_by_one_record(adjacency, Clipped::class_by_class).is_kept) << name(adjacency);
  }
}

}  // namespace
}  // namespace surety::optimizers::gradient_sum_test
