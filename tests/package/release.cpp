// A mechanism in a program of one's own: a private sum.
#include <surety/accounting.h>
#include <surety/noise.h>

#include <cmath>
#include <cstdio>

int main() {
  const surety::NoiseMultiplier multiplier{4};
  const surety::L2Sensitivity sensitivity{1};
  const auto grid = surety::mechanisms::grid_for(sensitivity, multiplier);
  const surety::mechanisms::Gaussian mechanism{
      {.multiplier = multiplier, .sensitivity = sensitivity, .grid = grid, .adjacency = surety::Adjacency::replace_one}};
  surety::mechanisms::SystemBits bits;
  const auto noisy = mechanism.release({.grid = grid, .steps = {0, 0}}, bits);
  const auto cost = epsilon(surety::accounting::ClosedForm{}, mechanism.event(), surety::Delta{1e-5});
  std::printf("%g %g cost at most %g\n", noisy.at(0), noisy.at(1), cost.upper);
  return std::isfinite(noisy.at(0)) && noisy.at(0) != noisy.at(1) && cost.upper < 2 ? 0 : 1;
}
