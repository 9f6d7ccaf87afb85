#include <support/lattice.h>

#include <algorithm>
#include <array>
#include <boost/math/special_functions/erf.hpp>
#include <memory>
#include <numbers>
#include <vector>

#include <surety/mechanisms/bits/random_bits.h>

namespace surety::statistical {

LatticeLaw rounded_gaussian(double sigma) {
  return {.name = fmt::format("rounded Gaussian, sigma {}", sigma), .deviation = sigma, .at_least = [sigma](double j) {
            return boost::math::erfc((j - 0.5) / (sigma * std::numbers::sqrt2)) / 2;
          }};
}

LatticeLaw rounded_laplace(double scale) {
  return {.name = fmt::format("rounded Laplace, scale {}", scale), .deviation = scale * std::numbers::sqrt2, .at_least = [scale](double j) {
            return std::exp((0.5 - j) / scale) / 2;
          }};
}

LatticeLaw discrete_laplace(double scale) {
  return {.name = fmt::format("discrete Laplace, scale {}", scale),
          .deviation = scale * std::numbers::sqrt2,
          .at_least = [scale](double j) { return std::exp(-j / scale) / (1 + std::exp(-1 / scale)); }};
}

LatticeLaw geometric(double scale) {
  return {.name = fmt::format("geometric, scale {}", scale),
          .deviation = 1 / (2 * std::sinh(0.5 / scale)),
          .mean = 1 / std::expm1(1 / scale),
          .at_least = [scale](double j) { return std::exp(-j / scale); }};
}

LatticeLaw discrete_gaussian(double variance) {
  const double sigma = std::sqrt(variance);
  auto tails = std::make_shared<std::vector<double>>(static_cast<std::size_t>(38 * sigma) + 3);
  for (std::size_t j = tails->size() - 1; j > 0; --j) {
    const auto k = static_cast<double>(j);
    (*tails)[j] = (j + 1 < tails->size() ? (*tails)[j + 1] : 0) + std::exp(-k * k / (2 * variance));
  }
  const double total = 1 + 2 * (*tails)[1];
  for (auto& tail : *tails) tail /= total;
  return {.name = fmt::format("discrete Gaussian, variance {}", variance), .deviation = sigma, .at_least = [tails](double j) {
            return j < static_cast<double>(tails->size()) ? (*tails)[static_cast<std::size_t>(j)] : 0.0;
          }};
}

namespace {

/// From quotients P(k) / P(k - 1), k = 1, 2, ..., in long double: some 1e-19 each.
LatticeLaw by_quotients(std::string name, double deviation, const std::vector<long double>& quotients) {
  auto tails = std::make_shared<std::vector<double>>(quotients.size() + 1);
  std::vector<long double> weights{1};
  for (const auto quotient : quotients) weights.push_back(weights.back() * quotient);
  std::vector<long double> sums(weights.size() + 1);
  for (std::size_t k = weights.size(); k-- > 0;) sums[k] = sums[k + 1] + weights[k];
  for (std::size_t k = 1; k < weights.size(); ++k) (*tails)[k] = static_cast<double>(sums[k] / (1 + 2 * sums[1]));
  return {.name = std::move(name), .deviation = deviation, .at_least = [tails](double j) {
            return j < static_cast<double>(tails->size()) ? (*tails)[static_cast<std::size_t>(j)] : 0.0;
          }};
}

/// As a rounded Gaussian, from which P(K >= j) differs by less than a relative j^4 / variance^3.
LatticeLaw as_gaussian(std::string name, double deviation) {
  auto law = rounded_gaussian(deviation);
  law.name = std::move(name);
  return law;
}

}  // namespace

LatticeLaw binomial(std::uint64_t flips) {
  const auto n = static_cast<long double>(flips);
  const double deviation = static_cast<double>(std::sqrt(n) / 2);
  std::string name = fmt::format("binomial, {} flips", flips);
  if (flips >= std::uint64_t{1} << 50) return as_gaussian(std::move(name), deviation);
  std::vector<long double> quotients;
  for (long double k = 1; k <= n / 2 && k < 38 * deviation + 3; ++k) quotients.push_back((n / 2 - k + 1) / (n / 2 + k));
  return by_quotients(std::move(name), deviation, quotients);
}

LatticeLaw skellam(double mean) {
  const double deviation = std::sqrt(2 * mean);
  std::string name = fmt::format("Skellam, mean {}", mean);
  if (mean >= 0x1p48) return as_gaussian(std::move(name), deviation);
  // I_k / I_(k-1) of x = 1 / (2 k / x + I_(k+1) / I_k).
  const auto count = static_cast<std::size_t>(38 * deviation + 80);
  std::vector<long double> quotients(count);
  long double quotient = 0;
  for (std::size_t k = 2 * count; k >= 1; --k) {
    quotient = 1 / (static_cast<long double>(k) / mean + quotient);
    if (k <= count) quotients[k - 1] = quotient;
  }
  return by_quotients(std::move(name), deviation, quotients);
}

namespace {

class LatticeStatistics {
 public:
  LatticeStatistics(LatticeLaw law, std::int64_t expected_samples) : law_{std::move(law)} {
    while (std::ldexp(1.0, shift_ + 1) <= law_.deviation / 32) ++shift_;
    half_ = static_cast<std::int64_t>(std::ceil((law_.mean + 8.5 * law_.deviation) / std::ldexp(1.0, shift_))) + 1;
    const auto size = static_cast<std::size_t>(2 * half_);
    for (std::size_t i = 0; i < size; ++i) {
      const double lowest = first_of(i);
      const double highest = first_of(i + 1) - 1;
      cells_.probability.push_back(law_.probability(i == 0 ? -HUGE_VAL : lowest, i + 1 == size ? HUGE_VAL : highest));
      cells_.score.push_back(i == 0 ? highest : i + 1 == size ? lowest : (lowest + highest) / 2);
    }
    for (auto& score : cells_.score) score /= law_.deviation;
    cells_.count.resize(size);
    set_categories();
    set_blocks(expected_samples);
  }

  void add(std::span<const std::int64_t> samples) {
    for (const std::int64_t sample : samples) {
      const auto cell = static_cast<std::size_t>(std::clamp<std::int64_t>((sample >> shift_) + half_, 0, 2 * half_ - 1));
      ++cells_.count[cell];
      positive_ += sample > 0 ? 1 : 0;
      negative_ += sample < 0 ? 1 : 0;
      ++low_bytes_[static_cast<std::size_t>(sample & 255)];
      const std::size_t category = category_of_[cell];
      if (n_ > 0) ++pairs_[static_cast<std::size_t>(n_ & 1)][previous_ * categories + category];
      previous_ = category;
      ++n_;
      if (block_ > 0) fingerprint(sample);
    }
  }

  [[nodiscard]] Report judge() {
    Report report;
    judge_cells(report, "", cells_);
    judge_count(report, "positive", positive_, n_, law_.probability(1, HUGE_VAL));
    if (law_.mean == 0) judge_count(report, "negative", negative_, n_, law_.probability(-HUGE_VAL, -1));
    if (law_.mean > 0) judge_count(report, "negative", negative_, n_, 0);
    judge_count(report, "zero", n_ - positive_ - negative_, n_, law_.probability(0, 0));
    for (unsigned bit = 0; bit < 8; ++bit) judge_bit(report, bit);
    for (const double t : {3.0, 4.0, 5.0}) judge_tail(report, t);
    for (const std::size_t parity : {0U, 1U}) {
      auto counts = std::vector<std::int64_t>(categories_ * categories_);
      for (std::size_t i = 0; i < categories_; ++i) {
        for (std::size_t j = 0; j < categories_; ++j) counts[i * categories_ + j] = pairs_[parity][i * categories + j];
      }
      judge_pairs(report, parity == 1 ? "pairs" : "odd pairs", category_probability_, category_probability_, counts);
    }
    judge_repetitions(report);
    return report;
  }

 private:
  static constexpr std::size_t categories = 8;
  static constexpr std::uint64_t prime = (std::uint64_t{1} << 61) - 1;

  [[nodiscard]] double first_of(std::size_t cell) const {
    return std::ldexp(static_cast<double>(static_cast<std::int64_t>(cell) - half_), shift_);
  }

  void set_categories() {
    double mass = 0;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      category_of_.push_back(static_cast<std::uint8_t>(category_probability_.size()));
      mass += cells_.probability[i];
      if (mass >= 1.0 / categories && category_probability_.size() + 1 < categories && i + 1 < cells_.size()) {
        category_probability_.push_back(std::exchange(mass, 0));
      }
    }
    category_probability_.push_back(mass);
    categories_ = category_probability_.size();
  }

  [[nodiscard]] double repetition_p(double n) const {
    const double blocks = n / static_cast<double>(block_);
    const double mode = law_.probability(0, 0);
    const double same = std::pow(mode * (1 + 1e-9), static_cast<double>(block_));
    return blocks * blocks / 2 * (same + std::pow(static_cast<double>(block_) * 0x1p-61, 2));
  }

  void set_blocks(std::int64_t n) {
    for (block_ = 64; block_ <= 4096; block_ *= 2) {
      if (repetition_p(static_cast<double>(n)) <= alpha / 1e3) break;
    }
    if (block_ > 4096) {
      block_ = 0;  // too little is drawn: equal blocks are no surprise
      return;
    }
    auto bits = mechanisms::ReplayBits{seed}.substream("fingerprint");
    for (auto& point : points_) point = mechanisms::draw_word(bits) % prime;
    fingerprints_.reserve(static_cast<std::size_t>(n / block_ + 1));
  }

  static std::uint64_t times_plus(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b + c;
    const std::uint64_t folded = (static_cast<std::uint64_t>(product) & prime) + static_cast<std::uint64_t>(product >> 61);
    return folded >= prime ? folded - prime : folded;
  }

  void fingerprint(std::int64_t sample) {
    // Injective for |sample| < 2^60.
    const auto digit = static_cast<std::uint64_t>(sample < 0 ? sample + static_cast<std::int64_t>(prime) : sample);
    for (std::size_t i = 0; i < 2; ++i) polynomial_[i] = times_plus(polynomial_[i], points_[i], digit);
    if (++in_block_ < block_) return;
    fingerprints_.push_back(polynomial_);
    polynomial_ = {};
    in_block_ = 0;
  }

  void judge_bit(Report& report, unsigned bit) const {
    std::int64_t ones = 0;
    for (std::size_t byte = 0; byte < 256; ++byte) ones += (byte >> bit & 1) != 0 ? low_bytes_[byte] : 0;
    const double run = std::ldexp(1.0, static_cast<int>(bit));
    // Where the law is 2^13 times as wide as the runs of equal bits, 1/2 is off by less than 1e-8, the squared ratio over pi^3 / 2 (the
    // Fourier coefficients of a square wave meet the characteristic function, at most 1 / (b t)^2 for Laplace and far less for
    // Gaussians; one-sided laws have 1 / (b t), so they are summed up to a larger width).
    double p = 0.5;
    const double smooth = law_.mean > 0 ? 0x1p17 : 0x1p13;
    if (law_.deviation < smooth * run) {
      p = 0;
      const double reach = std::ceil(50 * law_.deviation / (2 * run)) + 2;
      for (double i = law_.mean > 0 ? 0 : -reach; i <= reach; ++i) p += law_.probability((2 * i + 1) * run, (2 * i + 2) * run - 1);
    }
    judge_count(report, fmt::format("bit {}", bit), ones, n_, p);
  }

  /// Beyond t standard deviations up to the next cell.
  void judge_tail(Report& report, double t) const {
    double p = 0;
    std::int64_t observed = 0;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      const bool above = first_of(i) - law_.mean > t * law_.deviation;
      const bool below = law_.mean - (first_of(i + 1) - 1) > t * law_.deviation;
      if (!above && !below) continue;
      p += cells_.probability[i];
      observed += cells_.count[i];
    }
    judge_count(report, fmt::format("beyond {:.0f} deviations", t), observed, n_, p);
  }

  void judge_repetitions(Report& report) {
    if (fingerprints_.size() < 2) return;
    std::sort(fingerprints_.begin(), fingerprints_.end());
    std::size_t repeated = 0;
    for (std::size_t i = 1; i < fingerprints_.size(); ++i) repeated += fingerprints_[i] == fingerprints_[i - 1] ? 1U : 0U;
    report.add("repetitions", repeated == 0 ? 1 : repetition_p(static_cast<double>(n_)),
               fmt::format("{} of {} blocks of {} samples repeat another", repeated, fingerprints_.size(), block_));
  }

  LatticeLaw law_;
  int shift_ = 0;
  std::int64_t half_ = 0;
  Cells cells_;
  std::vector<std::uint8_t> category_of_;
  std::vector<double> category_probability_;
  std::size_t categories_ = 0;
  std::int64_t n_ = 0;
  std::int64_t positive_ = 0;
  std::int64_t negative_ = 0;
  std::array<std::int64_t, 256> low_bytes_{};
  std::array<std::array<std::int64_t, categories * categories>, 2> pairs_{};
  std::size_t previous_ = 0;
  std::int64_t block_ = 0;
  std::int64_t in_block_ = 0;
  std::array<std::uint64_t, 2> points_{};
  std::array<std::uint64_t, 2> polynomial_{};
  std::vector<std::array<std::uint64_t, 2>> fingerprints_;
};

}  // namespace

Report judge(const LatticeLaw& law, const Fill& fill, std::int64_t n) {
  LatticeStatistics statistics{law, n};
  std::vector<std::int64_t> samples(std::size_t{1} << 14);
  for (std::int64_t left = n; left > 0;) {
    const auto part = std::span{samples}.first(static_cast<std::size_t>(std::min<std::int64_t>(left, std::ssize(samples))));
    fill(part);
    statistics.add(part);
    left -= std::ssize(part);
  }
  return statistics.judge();
}

Report judge(const LatticeLaw& law, std::span<const std::int64_t> samples) {
  LatticeStatistics statistics{law, std::ssize(samples)};
  statistics.add(samples);
  return statistics.judge();
}

}  // namespace surety::statistical
