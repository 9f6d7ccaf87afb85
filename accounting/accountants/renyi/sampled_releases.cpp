#include <surety/accounting/accountants/renyi/sampled_releases.h>

#include <algorithm>
#include <cmath>

#include <surety/accounting/accountants/renyi/gaussian_batches.h>
#include <surety/accounting/accountants/renyi/release_curves.h>
#include <surety/base/numbers/checked_cast.h>
#include <surety/base/numbers/limit.h>

namespace surety::accounting::renyi {
namespace {

/// log(1 + sum over k >= 2 of Bin(a, q)(k) (e^((k-1) D_k) - 1)) at an integer order, rounded up.
double binomial_log_moment(double q, int order, const std::vector<double>& log_moments) {
  const Exact a{order};
  const Upper log_odds = log(Upper{Exact{q}}) - log1p(Lower{Exact{-q}});
  Upper log_weight = a * log1p(Upper{Exact{-q}});
  double scale = 0;
  Upper sum{0};
  for (int k = 1; k <= order; ++k) {
    log_weight += log(Upper{Exact{order - k + 1}} / Exact{k}) + log_odds;
    if (k < 2) continue;
    const Upper moment{Exact{log_moments[static_cast<std::size_t>(k)]}};
    const Upper log_term = log_weight + (moment.value() < 30 ? log(expm1(moment)) : moment);
    if (log_term.value() > scale + 600) {
      sum = sum * exp(Upper{Exact{scale}} - Exact{log_term.value()});
      scale = log_term.value();
    }
    sum += exp(log_term - Exact{scale});
  }
  sum += Exact{tiny};
  return (scale == 0 ? log1p(sum) : Exact{scale} + log(sum + exp(Upper{Exact{-scale}}))).value();
}

}  // namespace

OrderBound BinomialMoments::operator()(At at) {
  const OrderBound plain = inner_(at);
  const double bound = mixture_bound(q_, at.order, plain.divergence);
  constexpr double largest_order = 1024;
  if (at.order > largest_order) return {bound, false};
  const int below = checked_cast<int>(std::floor(at.order));
  const double fraction = at.order - below;
  Upper log_moment{0};
  if (fraction > 0) log_moment += Exact{fraction} * Upper{Exact{log_moment_at(below + 1)}};
  if (fraction < 1 && below > 1) log_moment += (1 - Lower{Exact{fraction}}) * Upper{Exact{log_moment_at(below)}};
  const double divergence = (log_moment / Exact{at.order - 1}).value();
  return {std::min(bound, divergence), fraction == 0 && plain.exact && divergence <= bound};
}

double BinomialMoments::log_moment_at(int order) {
  while (static_cast<int>(inner_moments_.size()) <= order) {
    poll_limit();
    const int k = static_cast<int>(inner_moments_.size());
    inner_moments_.push_back(k < 2 ? 0 : (Exact{k - 1} * Upper{Exact{inner_({static_cast<double>(k), fine}).divergence}}).value());
    answers_.push_back(-1);
  }
  double& answer = answers_[static_cast<std::size_t>(order)];
  if (answer < 0) answer = binomial_log_moment(q_, order, inner_moments_);
  return answer;
}

double sampled_two_point(double q, const Interval& epsilon, const Interval& mass, double order, bool poisson) {
  const Interval a = number(order);
  const Interval b = a - number(1);
  const Interval rate = number(q);
  const auto excess = [](const Interval& p, const Interval& t) {
    const Interval power = exp(p * log1p(t));
    return power - number(1) - p * t;
  };
  const Interval up = rate * expm1(epsilon);
  Interval sum = excess(a, up);
  if (poisson) {
    sum = sum + exp(epsilon) * excess(a, rate * expm1(-epsilon));
  } else {
    sum = sum + excess(-b, up);
  }
  const Interval total = mass * sum;
  if (!mpfr_number_p(total.upper())) return upper(epsilon);
  return std::min(upper(log1p(maximum(total, number(0))) / b), upper(epsilon));
}

}  // namespace surety::accounting::renyi
