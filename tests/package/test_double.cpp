// A test of a program that trains: what gradient descent asks of its door, and that it gives back what the door answers.
#include <surety/learning.h>
#include <surety/testing.h>

#include <vector>

int main() {
  const auto data = surety::optimizers::Dataset::dense(2, {0.6, 0.8, -0.6, 0.8, 0.8, -0.6}, {1, -1, 1});
  const surety::optimizers::GradientDescentOptions options{.noise_multiplier = surety::NoiseMultiplier{40}};

  surety::testing::ScriptedReleaser releaser{std::vector(options.steps.value(), std::vector<double>{0, 0})};
  const auto weights =
      gradient_descent(data, surety::optimizers::LogisticLoss{}, surety::optimizers::WholeSpace{}, options, releaser).weights;
  std::vector<surety::Event> asked;
  for (const auto& request : releaser.log()) asked.push_back(request.event);
  const bool asks_for_its_plan =
      surety::accounting::Releases::of(surety::compose(asked)) == surety::accounting::Releases::of(plan(options));
  return asks_for_its_plan && weights == std::vector<double>{0, 0} ? 0 : 1;
}
