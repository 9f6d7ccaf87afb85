// An optimizer in a program of one's own: private logistic regression, charged to a ledger.
#include <surety/learning.h>

#include <cmath>
#include <cstdio>
#include <filesystem>

int main() {
  const auto data = surety::optimizers::Dataset::dense(2, {0.6, 0.8, -0.6, 0.8, 0.8, -0.6}, {1, -1, 1});
  const surety::optimizers::GradientDescentOptions options{.noise_multiplier = surety::NoiseMultiplier{40}};

  const std::filesystem::path path = "consumer.db";
  std::filesystem::remove(path);
  auto ledger = surety::accounting::Ledger::create(path, options.adjacency);
  auto run = ledger.reserve({.event = plan(options), .note = "consumer"});
  surety::mechanisms::SystemBits bits;
  surety::optimizers::NoisyReleaser releaser{run, bits};
  const auto weights =
      gradient_descent(data, surety::optimizers::LogisticLoss{}, surety::optimizers::WholeSpace{}, options, releaser).weights;
  run.settle(surety::accounting::Stopping::data_independent);
  std::printf("w = (%g, %g), spent %s\n", weights.at(0), weights.at(1), describe(ledger.event().value()).c_str());
  return std::isfinite(weights.at(0)) && ledger.runs().size() == 1 ? 0 : 1;
}
