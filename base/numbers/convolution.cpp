#include <surety/base/numbers/convolution.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <numbers>

#include <fmt/format.h>

#include <surety/base/numbers/bound.h>
#include <surety/base/numbers/limit.h>
#include <surety/base/numbers/rounding.h>
#include <surety/base/text/error.h>

namespace surety {
namespace {

struct Twiddles {
  std::vector<double> re;
  std::vector<double> im;
};

/// e^(-2 pi i j / n) for j < n / 2, each within 3 u: the argument is reduced to the first octant, where 1.5 roundings of an angle
/// below pi / 4 and an error of one ulp in sine and cosine stay below that.
Twiddles make_twiddles(std::size_t n) {
  Twiddles table{std::vector<double>(n / 2), std::vector<double>(n / 2)};
  const std::size_t quarter = n / 4;
  const std::size_t eighth = n / 8;
  for (std::size_t j = 0; j < n / 2; ++j) {
    const std::size_t k = j < quarter || n < 4 ? j : j - quarter;
    double cosine = 1;
    double sine = 0;
    if (n >= 8 && k > eighth) {
      const double angle = std::numbers::pi * (2 * static_cast<double>(quarter - k) / static_cast<double>(n));
      cosine = std::sin(angle);
      sine = std::cos(angle);
    } else {
      const double angle = std::numbers::pi * (2 * static_cast<double>(k) / static_cast<double>(n));
      cosine = std::cos(angle);
      sine = std::sin(angle);
    }
    if (k == j) {
      table.re[j] = cosine;
      table.im[j] = -sine;
    } else {
      // e^(-i (angle + pi / 2)) = -i e^(-i angle)
      table.re[j] = -sine;
      table.im[j] = -cosine;
    }
  }
  return table;
}

/// Made once for each size and kept.
const Twiddles& twiddles(std::size_t n) {
  static std::array<std::once_flag, 64> once;
  static auto& tables = *new std::array<std::unique_ptr<const Twiddles>, 64>;  // never destroyed: a thread may ask while the process ends
  const auto level = static_cast<std::size_t>(std::countr_zero(n));
  std::call_once(once[level], [&] { tables[level] = std::make_unique<const Twiddles>(make_twiddles(n)); });
  return *tables[level];
}

/// Four points; the twiddles 1 and -i are exact.
void forward_four(double* re, double* im) {
  const double a0r = re[0] + re[2];
  const double a0i = im[0] + im[2];
  const double a1r = re[1] + re[3];
  const double a1i = im[1] + im[3];
  const double b0r = re[0] - re[2];
  const double b0i = im[0] - im[2];
  const double b1r = im[1] - im[3];
  const double b1i = re[3] - re[1];
  re[0] = a0r + a1r;
  im[0] = a0i + a1i;
  re[1] = a0r - a1r;
  im[1] = a0i - a1i;
  re[2] = b0r + b1r;
  im[2] = b0i + b1i;
  re[3] = b0r - b1r;
  im[3] = b0i - b1i;
}
void backward_four(double* re, double* im) {
  const double a0r = re[0] + re[1];
  const double a0i = im[0] + im[1];
  const double a1r = re[0] - re[1];
  const double a1i = im[0] - im[1];
  const double b0r = re[2] + re[3];
  const double b0i = im[2] + im[3];
  const double b1r = im[3] - im[2];
  const double b1i = re[2] - re[3];
  re[0] = a0r + b0r;
  im[0] = a0i + b0i;
  re[1] = a1r + b1r;
  im[1] = a1i + b1i;
  re[2] = a0r - b0r;
  im[2] = a0i - b0i;
  re[3] = a1r - b1r;
  im[3] = a1i - b1i;
}

/// A block of so many points takes milliseconds.
constexpr std::size_t long_block = std::size_t{1} << 16;

void forward_blocks(double* re, double* im, std::size_t n) {
  if (n == 4) return forward_four(re, im);
  if (n >= long_block) poll_limit();
  const std::size_t half = n / 2;
  const Twiddles& w = twiddles(n);
  const double* wr = w.re.data();
  const double* wi = w.im.data();
  for (std::size_t j = 0; j < half; ++j) {
    const double ar = re[j];
    const double ai = im[j];
    const double br = re[j + half];
    const double bi = im[j + half];
    const double dr = ar - br;
    const double di = ai - bi;
    re[j] = ar + br;
    im[j] = ai + bi;
    re[j + half] = dr * wr[j] - di * wi[j];
    im[j + half] = dr * wi[j] + di * wr[j];
  }
  forward_blocks(re, im, half);
  forward_blocks(re + half, im + half, half);
}

void backward_blocks(double* re, double* im, std::size_t n) {
  if (n == 4) return backward_four(re, im);
  const std::size_t half = n / 2;
  backward_blocks(re, im, half);
  backward_blocks(re + half, im + half, half);
  if (n >= long_block) poll_limit();
  const Twiddles& w = twiddles(n);
  const double* wr = w.re.data();
  const double* wi = w.im.data();
  for (std::size_t j = 0; j < half; ++j) {
    const double ar = re[j];
    const double ai = im[j];
    const double br = re[j + half] * wr[j] + im[j + half] * wi[j];
    const double bi = im[j + half] * wr[j] - re[j + half] * wi[j];
    re[j] = ar + br;
    im[j] = ai + bi;
    re[j + half] = ar - br;
    im[j + half] = ai - bi;
  }
}

struct Complex {
  double re;
  double im;
};

Complex product(const Complex& a, const Complex& b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }

/// z^count by repeated squaring, within a relative 3 u count.
Complex power(Complex z, std::uint64_t count) {
  Complex result{1, 0};
  for (;; z = product(z, z)) {
    if ((count & 1) != 0) result = product(result, z);
    count >>= 1;
    if (count == 0) return result;
  }
}

/// Calls visit(number, at, mirror, single) for every pair of bins k and N - k, of which `at` and `mirror` are the bit-reversed positions:
/// within each block 2^m .. 2^(m+1) - 1 of these, negation reverses the order. Bins 0 and N / 2 are their own mirrors.
template <class Visit>
void for_each_bin(std::size_t size, Visit visit) {
  visit(std::size_t{0}, std::size_t{0}, std::size_t{0}, true);
  visit(std::size_t{1}, std::size_t{1}, std::size_t{1}, true);
  std::size_t number = 2;
  PollNowAndThen poll;
  for (std::size_t block = 2; block < size; block *= 2) {
    for (std::size_t j = 0; j < block / 2; ++j) {
      poll();
      visit(number++, block + j, 2 * block - 1 - j, false);
    }
  }
}

/// The transforms know no others.
void check_size(std::size_t size) {
  if (size < 4 || !std::has_single_bit(size)) throw Error{ErrorCode::internal, fmt::format("a transform has {} points", size)};
}

/// Below this a product adds nothing but its bound.
constexpr double negligible = -100;

}  // namespace

namespace transform {

void forward(std::span<double> re, std::span<double> im) { forward_blocks(re.data(), im.data(), re.size()); }
void backward(std::span<double> re, std::span<double> im) { backward_blocks(re.data(), im.data(), re.size()); }

double relative_error(std::size_t size) {
  // Higham's eta = mu + gamma_4 (sqrt(2) + mu) with mu = 3 u is below 9 u, and (1 + eta)^levels at most e^(levels eta).
  constexpr double eta = share_of_units(4.5);
  return expm1(Upper{Exact{eta}} * Exact{static_cast<double>(std::countr_zero(size))}).value();
}

}  // namespace transform

namespace {

/// One factor of a product of spectra: what it does to one bin.
class Factor {
 public:
  Factor(double error, std::uint64_t count) : error_{error}, count_{count}, times_{static_cast<double>(count)} {
    // A product of complex numbers is within sqrt(2) gamma_2 < 3 u of itself.
    own_error_ = expm1((Upper{Exact{times_}} + 1) * Exact{share_of_units(1.5)}).value();
    // Nothing of a modulus below this is left after so many factors.
    faint_ = std::exp(2 * negligible / times_);
    const double rest = faint_ * (1 - rounding_of_faint) - error - 1e-150;
    faint_square_ = rest > 0 ? rest * rest * (1 - rounding_of_faint) : 0;
  }

  template <class Bin>
  void apply(Bin& bin, const Complex& z) const {
    const double square = z.re * z.re + z.im * z.im;
    if (square < faint_square_ && bin.log_bound <= 0) {
      // The bound is faint^count = e^(2 negligible), up to the rounding of `faint`.
      bin = {0, 0, bin.log_bound + 1.9 * negligible, std::max(bin.error, 1.0)};
      return;
    }
    const double modulus = std::sqrt(square) * (1 + rounding_of_modulus) + error_ + 1e-150;
    const double log_modulus = std::log(modulus);
    const double before = bin.log_bound;
    // Rounded up; the sum may have either sign.
    const double sum = before + times_ * log_modulus;
    bin.log_bound = sum + rounding_of_log * (std::abs(before) + times_ * (std::abs(log_modulus) + 1));
    // |prod x - prod y| <= prod bound * (sum of the factors' relative errors), as every modulus is at most its bound; the products' own rounding is
    // a share of what was computed, which may be so much larger.
    bin.error += (times_ * (error_ / modulus) + own_error_ * (1 + bin.error)) * (1 + rounding_of_error);
    if (bin.log_bound < negligible) {
      // Dropped: off by at most its whole bound, from here on.
      bin.re = 0;
      bin.im = 0;
      bin.error = std::max(bin.error, 1.0);
      return;
    }
    const Complex grown = product({bin.re, bin.im}, power(z, count_));
    bin.re = grown.re;
    bin.im = grown.im;
  }

 private:
  double error_;
  std::uint64_t count_;
  double times_;
  double own_error_;
  double faint_;
  double faint_square_;

  // In units: of the exponential and the product; of a sum of squares and its root; of the logarithm, its product and their sum; of six operations
  // on numbers that are not negative, and the sum that they are added to.
  static constexpr double rounding_of_faint = share_of_units(4.0);
  static constexpr double rounding_of_modulus = share_of_units(2.0);
  static constexpr double rounding_of_log = share_of_units(LibraryError<double>::log + 1.5);
  static constexpr double rounding_of_error = share_of_units(4.0);
};

/// The transform of both sequences as one, folded modulo the size, and the error of each bin of either spectrum.
double transform_pair(const SequencePair& factor, std::vector<double>& re, std::vector<double>& im) {
  const std::size_t size = re.size();
  const auto fold = [&](const std::vector<double>& from, std::vector<double>& to) {
    for (std::size_t begin = 0; begin < from.size(); begin += size) {
      const std::size_t length = std::min(size, from.size() - begin);
      for (std::size_t j = 0; j < length; ++j) to[j] += from[begin + j];
    }
  };
  poll_limit();
  fold(factor.first, re);
  fold(factor.second, im);
  poll_limit();
  double squares = 0;
  for (std::size_t j = 0; j < size; ++j) squares += re[j] * re[j] + im[j] * im[j];
  const double folds = static_cast<double>(std::max(factor.first.size(), factor.second.size()) / size + 1);
  const auto points = static_cast<double>(size);
  const Upper norm = sqrt(Upper{Exact{points}}) * sqrt(Upper::of_sum(squares, points + 4));
  transform::forward(re, im);
  // Of each bin of either spectrum: the transform, the folding, and the sums and halvings that separate the two spectra.
  return ((Upper{Exact{transform::relative_error(size)}} + Exact{share_of_units((folds + 2) / 2)}) * norm).value();
}

/// Of a bin's bound: the exponential and a product.
constexpr double rounding_of_bound = share_of_units(LibraryError<double>::exp + 1);

/// Gathers the two spectra as that of one complex sequence, transforms it back and bounds the error of every entry.
class Inverse {
 public:
  template <class Bin>
  void put(std::span<double> re, std::span<double> im, std::size_t at, std::size_t mirror, bool single, const Bin& u, const Bin& v) {
    double error = 0;
    for (const Bin* bin : {&u, &v}) {
      // e^negligible is far above what a faint bin leaves, and far below rounding.
      const double bound = bin->log_bound < negligible ? 4e-44 : std::exp(bin->log_bound) * (1 + rounding_of_bound);
      error = std::max(error, bound * bin->error);
    }
    spectrum_error_ += single ? error : 2 * error;
    re[at] = single ? u.re : u.re - v.im;
    im[at] = single ? v.re : u.im + v.re;
    if (!single) {
      re[mirror] = u.re + v.im;
      im[mirror] = v.re - u.im;
    }
    squares_ += 2 * (u.re * u.re + u.im * u.im + v.re * v.re + v.im * v.im);
  }

  [[nodiscard]] double finish(std::vector<double>& re, std::vector<double>& im) const {
    const std::size_t size = re.size();
    transform::backward(re, im);
    const double scale = 1 / static_cast<double>(size);
    for (std::size_t j = 0; j < size; ++j) {
      re[j] *= scale;
      im[j] *= scale;
    }
    // An entry of the inverse is off by the 1-norm of the spectrum's error over N (first, as U and V are real sequences), and by the
    // 2-norm of the inverse transform's own rounding, (relative error + 2 u) sqrt(N) |Z|_2 / N.
    const auto points = static_cast<double>(size);
    const Upper relative = Upper{Exact{transform::relative_error(size)}} + Exact{share_of_units(2.0)};
    const Upper own = relative * sqrt(Upper{Exact{points}}) * sqrt(Upper::of_sum(squares_, points + 8));
    return ((Upper::of_sum(spectrum_error_, points + 4) + own) * Exact{scale}).value();
  }

 private:
  double spectrum_error_ = 0;
  double squares_ = 0;
};

}  // namespace

CircularProduct::Result CircularProduct::power(SequencePair factor, std::uint64_t count, std::size_t size) {
  check_size(size);
  Result result{std::vector<double>(size), std::vector<double>(size), 0};
  auto& re = result.first;
  auto& im = result.second;
  const Factor raised{transform_pair(factor, re, im), count};
  factor = {};
  Inverse inverse;
  for_each_bin(size, [&](std::size_t, std::size_t at, std::size_t mirror, bool single) {
    Bin u{1, 0, 0, 0};
    Bin v{1, 0, 0, 0};
    raised.apply(u, {0.5 * (re[at] + re[mirror]), 0.5 * (im[at] - im[mirror])});
    raised.apply(v, {0.5 * (im[at] + im[mirror]), 0.5 * (re[mirror] - re[at])});
    inverse.put(re, im, at, mirror, single, u, v);
  });
  result.error = inverse.finish(re, im);
  return result;
}

CircularProduct::CircularProduct(std::size_t size)
    : size_{size}, first_(size / 2 + 1, Bin{1, 0, 0, 0}), second_(size / 2 + 1, Bin{1, 0, 0, 0}) {
  check_size(size);
}

void CircularProduct::multiply(const SequencePair& factor, std::uint64_t count) {
  std::vector<double> re(size_, 0.0);
  std::vector<double> im(size_, 0.0);
  const Factor raised{transform_pair(factor, re, im), count};
  for_each_bin(size_, [&](std::size_t k, std::size_t at, std::size_t mirror, bool) {
    raised.apply(first_[k], {0.5 * (re[at] + re[mirror]), 0.5 * (im[at] - im[mirror])});
    raised.apply(second_[k], {0.5 * (im[at] + im[mirror]), 0.5 * (re[mirror] - re[at])});
  });
}

CircularProduct::Result CircularProduct::result() && {
  Result result{std::vector<double>(size_), std::vector<double>(size_), 0};
  Inverse inverse;
  for_each_bin(size_, [&](std::size_t k, std::size_t at, std::size_t mirror, bool single) {
    inverse.put(result.first, result.second, at, mirror, single, first_[k], second_[k]);
  });
  first_ = {};
  second_ = {};
  result.error = inverse.finish(result.first, result.second);
  return result;
}

}  // namespace surety
