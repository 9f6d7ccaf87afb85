#include <support/empirical_epsilon.h>

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>

namespace surety::reference {

double lower_probability(Hits found, double alpha) {
  return boost::math::binomial_distribution<double>::find_lower_bound_on_p(static_cast<double>(found.runs), static_cast<double>(found.hits),
                                                                           alpha);
}

double upper_probability(Hits found, double alpha) {
  return boost::math::binomial_distribution<double>::find_upper_bound_on_p(static_cast<double>(found.runs), static_cast<double>(found.hits),
                                                                           alpha);
}

double empirical_epsilon(Hits on_first, Hits on_second, double delta, double alpha) {
  const double gained = lower_probability(on_first, alpha / 2) - delta;
  return gained <= 0 ? 0 : std::max(0.0, std::log(gained / upper_probability(on_second, alpha / 2)));
}

}  // namespace surety::reference
