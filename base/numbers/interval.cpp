#include <surety/base/numbers/interval.h>

#include <pthread.h>

#include <algorithm>
#include <limits>
#include <utility>

#include <surety/base/numbers/floating_point.h>

namespace surety {
namespace {

/// Frees what MPFR caches for a thread, constants and numbers, when the thread ends. A key of POSIX threads, whose destructor needs no memory to be noted
/// and fails with a code: C++ ends the process where it cannot note the destructor of a thread_local object.
class CacheOfThreads {
 public:
  CacheOfThreads() noexcept
      : is_made_{::pthread_key_create(&key_, [](void* /*unused*/) { mpfr_free_cache2(MPFR_FREE_LOCAL_CACHE); }) == 0} {}
  ~CacheOfThreads() {
    if (is_made_) ::pthread_key_delete(key_);
  }
  CacheOfThreads(const CacheOfThreads&) = delete;
  CacheOfThreads& operator=(const CacheOfThreads&) = delete;

  /// Of this thread. Without memory the caches stay until the process ends.
  void free_at_its_end() noexcept {
    if (is_made_) static_cast<void>(::pthread_setspecific(key_, this));
  }

 private:
  pthread_key_t key_{};
  bool is_made_;
};

constinit thread_local bool frees_caches = false;

void free_caches_at_the_end_of_this_thread() noexcept {
  if (frees_caches) [[likely]]
    return;
  static CacheOfThreads caches;
  caches.free_at_its_end();
  frees_caches = true;
}

}  // namespace

Interval::Interval(Uninitialised, mpfr_prec_t precision) {
  free_caches_at_the_end_of_this_thread();
  mpfr_init2(lower_, precision);
  mpfr_init2(upper_, precision);
}

Interval Interval::increasing(int (*function)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t), const Interval& a) {
  Interval result{Uninitialised{}, a.precision()};
  function(result.lower_, a.lower_, MPFR_RNDD);
  function(result.upper_, a.upper_, MPFR_RNDU);
  return result;
}

Interval Interval::increasing(int (*function)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t), const Interval& a, const Interval& b) {
  Interval result{Uninitialised{}, std::max(a.precision(), b.precision())};
  function(result.lower_, a.lower_, b.lower_, MPFR_RNDD);
  function(result.upper_, a.upper_, b.upper_, MPFR_RNDU);
  return result;
}

Interval::Interval(double value, mpfr_prec_t precision) : Interval{Uninitialised{}, precision} {
  // MPFR takes doubles apart by arithmetic, in which a flushed subnormal is 0.
  const StandardFloatingPoint environment;
  mpfr_set_d(lower_, value, MPFR_RNDD);
  mpfr_set_d(upper_, value, MPFR_RNDU);
}

Interval Interval::pi(mpfr_prec_t precision) {
  Interval result{Uninitialised{}, precision};
  mpfr_const_pi(result.lower_, MPFR_RNDD);
  mpfr_const_pi(result.upper_, MPFR_RNDU);
  return result;
}

Interval::Interval(const Interval& other) : Interval{Uninitialised{}, other.precision()} {
  mpfr_set(lower_, other.lower_, MPFR_RNDD);
  mpfr_set(upper_, other.upper_, MPFR_RNDU);
}

Interval::Interval(Interval&& other) noexcept : Interval{Uninitialised{}, MPFR_PREC_MIN} {
  mpfr_swap(lower_, other.lower_);
  mpfr_swap(upper_, other.upper_);
}

Interval& Interval::operator=(Interval other) noexcept {
  mpfr_swap(lower_, other.lower_);
  mpfr_swap(upper_, other.upper_);
  return *this;
}

Interval::~Interval() {
  mpfr_clear(lower_);
  mpfr_clear(upper_);
}

Enclosure Interval::enclosure() const {
  const StandardFloatingPoint environment;
  // A difference of 0 is -0 where it is rounded down; plus 0 it is 0.
  return {mpfr_get_d(lower_, MPFR_RNDD) + 0.0, mpfr_get_d(upper_, MPFR_RNDU) + 0.0};
}

bool Interval::agrees_to(int bits) const {
  if (mpfr_equal_p(lower_, upper_)) return true;
  if (mpfr_sgn(lower_) != mpfr_sgn(upper_) || !mpfr_number_p(lower_) || !mpfr_number_p(upper_)) return false;
  Interval gap{Uninitialised{}, precision()};
  mpfr_sub(gap.upper_, upper_, lower_, MPFR_RNDU);
  mpfr_mul_2si(gap.upper_, gap.upper_, bits, MPFR_RNDU);
  return mpfr_cmpabs(gap.upper_, mpfr_cmpabs(lower_, upper_) < 0 ? lower_ : upper_) <= 0;
}

int Interval::compare(double value) const {
  const StandardFloatingPoint environment;
  if (mpfr_cmp_d(upper_, value) <= 0) return -1;
  return mpfr_cmp_d(lower_, value) > 0 ? 1 : 0;
}

double Interval::approximate_log() const {
  const StandardFloatingPoint environment;
  Interval middle{Uninitialised{}, 64};
  mpfr_add(middle.upper_, lower_, upper_, MPFR_RNDN);
  mpfr_div_2ui(middle.upper_, middle.upper_, 1, MPFR_RNDN);
  if (mpfr_sgn(middle.upper_) <= 0) return -std::numeric_limits<double>::infinity();
  mpfr_log(middle.upper_, middle.upper_, MPFR_RNDN);
  return mpfr_get_d(middle.upper_, MPFR_RNDN);
}

Interval operator-(const Interval& a) {
  Interval result{Interval::Uninitialised{}, a.precision()};
  mpfr_neg(result.lower_, a.upper_, MPFR_RNDD);
  mpfr_neg(result.upper_, a.lower_, MPFR_RNDU);
  return result;
}

Interval operator+(const Interval& a, const Interval& b) { return Interval::increasing(mpfr_add, a, b); }

Interval operator-(const Interval& a, const Interval& b) {
  Interval result{Interval::Uninitialised{}, std::max(a.precision(), b.precision())};
  mpfr_sub(result.lower_, a.lower_, b.upper_, MPFR_RNDD);
  mpfr_sub(result.upper_, a.upper_, b.lower_, MPFR_RNDU);
  return result;
}

namespace {

/// The hull of the four products (or quotients) of ends; both operations are monotone in each argument, so it is the range.
/// 0 times infinity cannot be the product of two exact values and counts as 0.
template <class Operation>
void hull_of_ends(Operation operation, mpfr_ptr lower, mpfr_ptr upper, const Interval& a, const Interval& b) {
  mpfr_t candidate;
  mpfr_init2(candidate, mpfr_get_prec(lower));
  bool first = true;
  for (const mpfr_srcptr x : {mpfr_srcptr{a.lower()}, mpfr_srcptr{a.upper()}}) {
    for (const mpfr_srcptr y : {mpfr_srcptr{b.lower()}, mpfr_srcptr{b.upper()}}) {
      for (const auto direction : {MPFR_RNDD, MPFR_RNDU}) {
        operation(candidate, x, y, direction);
        if (mpfr_nan_p(candidate)) mpfr_set_zero(candidate, 1);
        const mpfr_ptr end = direction == MPFR_RNDD ? lower : upper;
        const bool better = direction == MPFR_RNDD ? mpfr_less_p(candidate, end) : mpfr_greater_p(candidate, end);
        if (first || better) mpfr_set(end, candidate, direction);
      }
      first = false;
    }
  }
  mpfr_clear(candidate);
}

}  // namespace

Interval operator*(const Interval& a, const Interval& b) {
  Interval result{Interval::Uninitialised{}, std::max(a.precision(), b.precision())};
  hull_of_ends(mpfr_mul, result.lower_, result.upper_, a, b);
  return result;
}

Interval operator/(const Interval& a, const Interval& b) {
  if (mpfr_sgn(b.lower_) * mpfr_sgn(b.upper_) <= 0) throw Error{ErrorCode::internal, "an interval is divided by one that contains 0"};
  Interval result{Interval::Uninitialised{}, std::max(a.precision(), b.precision())};
  hull_of_ends(mpfr_div, result.lower_, result.upper_, a, b);
  return result;
}

Interval sqrt(const Interval& a) { return Interval::increasing(mpfr_sqrt, a); }
Interval exp(const Interval& a) { return Interval::increasing(mpfr_exp, a); }
Interval expm1(const Interval& a) { return Interval::increasing(mpfr_expm1, a); }
Interval log(const Interval& a) { return Interval::increasing(mpfr_log, a); }
Interval log_gamma(const Interval& a) { return Interval::increasing(mpfr_lngamma, a); }
Interval log1p(const Interval& a) { return Interval::increasing(mpfr_log1p, a); }
Interval sin(const Interval& a) { return Interval::increasing(mpfr_sin, a); }

Interval erfc(const Interval& a) {
  Interval result{Interval::Uninitialised{}, a.precision()};
  mpfr_erfc(result.lower_, a.upper_, MPFR_RNDD);
  mpfr_erfc(result.upper_, a.lower_, MPFR_RNDU);
  return result;
}

Interval clamp(const Interval& a, double lowest, double highest) {
  const StandardFloatingPoint environment;
  Interval result{a};
  if (mpfr_cmp_d(result.lower_, lowest) < 0) mpfr_set_d(result.lower_, lowest, MPFR_RNDD);
  if (mpfr_cmp_d(result.upper_, highest) > 0) mpfr_set_d(result.upper_, highest, MPFR_RNDU);
  return result;
}

Interval maximum(const Interval& a, const Interval& b) { return Interval::increasing(mpfr_max, a, b); }

Interval hull(const Interval& a, const Interval& b) {
  Interval result{Interval::Uninitialised{}, std::max(a.precision(), b.precision())};
  mpfr_min(result.lower_, a.lower_, b.lower_, MPFR_RNDD);
  mpfr_max(result.upper_, a.upper_, b.upper_, MPFR_RNDU);
  return result;
}

Interval normal_cdf(const Interval& x) {
  const Interval half{0.5, x.precision()};
  const Interval two{2.0, x.precision()};
  return half * erfc(-x / sqrt(two));
}

Interval normal_density(const Interval& x) {
  const Interval two{2.0, x.precision()};
  return exp(-(x * x) / two) / sqrt(two * Interval::pi(x.precision()));
}

Interval mills_ratio(const Interval& x) {
  const auto depth = static_cast<int>(x.precision() / 8);
  // The tail of the fraction after `depth` levels lies between 0 and infinity, so its last denominator lies above x.
  Interval shallow = x;
  Interval deep = x + Interval{static_cast<double>(depth), x.precision()} / x;
  for (int k = depth - 1; k >= 1; --k) {
    const Interval numerator{static_cast<double>(k), x.precision()};
    shallow = x + numerator / shallow;
    deep = x + numerator / deep;
  }
  const Interval one{1.0, x.precision()};
  return hull(one / shallow, one / deep);
}

}  // namespace surety
