#include <surety/base/numbers/convolution.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace surety::accounting::convolution_test {
namespace {

std::vector<double> random_weights(std::mt19937_64& words, std::size_t size) {
  std::vector<double> weights(size);
  double sum = 0;
  for (double& w : weights) sum += w = static_cast<double>(words() >> 11);
  for (double& w : weights) w /= sum;
  return weights;
}

/// The circular convolution power from its definition, in long double.
std::vector<long double> direct_power(const std::vector<double>& weights, std::size_t size, unsigned count) {
  std::vector<long double> result(size, 0.0L);
  result[0] = 1;
  for (unsigned t = 0; t < count; ++t) {
    std::vector<long double> next(size, 0.0L);
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t j = 0; j < weights.size(); ++j) next[(i + j) % size] += result[i] * static_cast<long double>(weights[j]);
    }
    result = std::move(next);
  }
  return result;
}

TEST(CircularProduct, IsWithinItsBound) {
  std::mt19937_64 words{5};
  for (const std::size_t size : {4U, 8U, 16U, 64U, 256U}) {
    for (const unsigned count : {1U, 2U, 7U, 30U}) {
      const auto first = random_weights(words, size / 2 + 1);
      const auto second = random_weights(words, size + 3);  // longer than the circle
      CircularProduct product{size};
      product.multiply({first, second}, count);
      const auto result = std::move(product).result();
      const auto a = direct_power(first, size, count);
      const auto b = direct_power(second, size, count);
      double worst = 0;
      for (std::size_t i = 0; i < size; ++i) {
        worst = std::max(
            {worst, std::abs(static_cast<double>(result.first[i] - a[i])), std::abs(static_cast<double>(result.second[i] - b[i]))});
      }
      EXPECT_LE(worst, result.error) << size << ' ' << count;
      EXPECT_LT(result.error, 1e-11 * count);
      // Without the rounding term the claim would be wrong.
      if (size >= 16 && count >= 7) {
        EXPECT_GT(worst, 0) << size << ' ' << count;
      }
    }
  }
}

// A law of one outcome goes round the circle, and nothing else happens but rounding, which so many products make large.
TEST(CircularProduct, OfManyFactorsCountsTheirRounding) {
  const std::size_t size = 64;
  for (const std::uint64_t count : {1000003ULL, 1000000000039ULL, 1ULL << 46}) {
    CircularProduct product{size};
    product.multiply({{0, 0, 0, 0, 0, 1}, {0, 1}}, count);
    const auto result = std::move(product).result();
    double worst = 0;
    for (std::size_t i = 0; i < size; ++i) {
      worst = std::max(
          {worst, std::abs(result.first[i] - (i == 5 * count % size ? 1 : 0)), std::abs(result.second[i] - (i == count % size ? 1 : 0))});
    }
    EXPECT_GT(worst, 1e-18 * static_cast<double>(count)) << count;
    EXPECT_LE(worst, result.error) << count;
  }
}

TEST(CircularProduct, MultipliesDifferentFactors) {
  std::mt19937_64 words{6};
  const std::size_t size = 32;
  const auto x = random_weights(words, 9);
  const auto y = random_weights(words, 13);
  CircularProduct product{size};
  product.multiply({x, y}, 1);
  product.multiply({y, x}, 1);
  const auto result = std::move(product).result();
  std::vector<long double> both(size, 0.0L);
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t j = 0; j < y.size(); ++j) both[(i + j) % size] += static_cast<long double>(x[i]) * static_cast<long double>(y[j]);
  }
  for (std::size_t i = 0; i < size; ++i) {
    EXPECT_LE(std::abs(static_cast<double>(result.first[i] - both[i])), result.error);
    EXPECT_LE(std::abs(static_cast<double>(result.second[i] - both[i])), result.error);
  }
}

TEST(Transform, UndoesItself) {
  std::mt19937_64 words{7};
  const std::size_t size = 4096;
  auto re = random_weights(words, size);
  auto im = random_weights(words, size);
  const auto re_before = re;
  const auto im_before = im;
  transform::forward(re, im);
  transform::backward(re, im);
  for (std::size_t i = 0; i < size; ++i) {
    EXPECT_NEAR(re[i] / static_cast<double>(size), re_before[i], 1e-16);
    EXPECT_NEAR(im[i] / static_cast<double>(size), im_before[i], 1e-16);
  }
}

}  // namespace
}  // namespace surety::accounting::convolution_test
