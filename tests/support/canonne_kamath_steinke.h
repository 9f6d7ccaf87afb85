// The samplers of Canonne, Kamath, Steinke: The discrete Gaussian for differential privacy, 2020, Algorithms 1 to 3, in exact integers and
// rationals of any size. Slow, and sharing nothing with the library's samplers but random words: an oracle for them.
#pragma once

#include <gmpxx.h>

#include <cstdint>

#include <surety/mechanisms/bits/random_bits.h>

namespace surety::reference {

template <mechanisms::BitSource Bits>
class CanonneKamathSteinke {
 public:
  explicit CanonneKamathSteinke(Bits& bits) : bits_{bits} {}

  /// Uniform on 0, ..., n - 1: as many bits as n - 1 has, until they are below n.
  mpz_class uniform_below(const mpz_class& n) {
    const mpz_class last = n - 1;
    const std::size_t size = last == 0 ? 0 : mpz_sizeinbase(last.get_mpz_t(), 2);
    for (;;) {
      mpz_class drawn = 0;
      for (std::size_t i = 0; i < size; ++i) drawn = 2 * drawn + (next_bit() ? 1 : 0);
      if (drawn < n) return drawn;
    }
  }

  /// True with probability p in [0, 1].
  bool bernoulli(const mpq_class& p) { return uniform_below(p.get_den()) < p.get_num(); }

  /// True with probability exp(-x), x >= 0. Algorithm 1: of coins with probabilities x / 1, x / 2, x / 3, ..., the first to fail has an odd
  /// number; what is above 1 is divided into parts.
  bool bernoulli_exp_minus(mpq_class x) {
    for (; x > 1; x -= 1) {
      if (!bernoulli_exp_minus(1)) return false;
    }
    mpz_class k = 1;
    while (bernoulli(x / k)) ++k;
    return mpz_odd_p(k.get_mpz_t()) != 0;
  }

  /// P(k) proportional to exp(-|k| / scale). Algorithm 2, for scale = t / s.
  mpz_class discrete_laplace(const mpq_class& scale) {
    const mpz_class& t = scale.get_num();
    const mpz_class& s = scale.get_den();
    for (;;) {
      const mpz_class below_t = uniform_below(t);
      mpq_class fraction{below_t, t};
      fraction.canonicalize();
      if (!bernoulli_exp_minus(fraction)) continue;
      mpz_class periods = 0;
      while (bernoulli_exp_minus(1)) ++periods;
      const mpz_class magnitude = (below_t + t * periods) / s;
      const bool negative = next_bit();
      if (negative && magnitude == 0) continue;  // one zero, not two
      return negative ? mpz_class{-magnitude} : magnitude;
    }
  }

  /// P(k) proportional to exp(-k^2 / (2 variance)). Algorithm 3: a discrete Laplace of scale floor(sigma) + 1, kept with the probability
  /// that bends its law.
  mpz_class discrete_gaussian(const mpq_class& variance) {
    const mpz_class whole = variance.get_num() / variance.get_den();
    const mpz_class t = sqrt(whole) + 1;
    for (;;) {
      const mpz_class proposal = discrete_laplace(t);
      const mpq_class distance = abs(proposal) - variance / t;
      if (bernoulli_exp_minus(distance * distance / (2 * variance))) return proposal;
    }
  }

 private:
  bool next_bit() {
    if (left_ == 0) {
      word_ = mechanisms::draw_word(bits_);
      left_ = 64;
    }
    const bool bit = (word_ & 1) != 0;
    word_ >>= 1;
    --left_;
    return bit;
  }

  Bits& bits_;
  std::uint64_t word_ = 0;
  int left_ = 0;
};

}  // namespace surety::reference
