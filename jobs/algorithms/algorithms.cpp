#include <surety/jobs/algorithms/algorithms.h>

#include <algorithm>
#include <utility>

namespace surety::jobs {

std::vector<std::unique_ptr<Algorithm>> all_algorithms() {
  std::vector<std::unique_ptr<Algorithm>> all;
  for (const auto make : {shaped_descent_algorithm,
                          gradient_descent_algorithm,
                          accelerated_gradient_descent_algorithm,
                          mirror_descent_algorithm,
                          dp_sgd_algorithm,
                          svrg_algorithm,
                          svrg_plus_plus_algorithm,
                          output_perturbation_algorithm,
                          objective_perturbation_algorithm,
                          online_frank_wolfe_algorithm,
                          polyhedral_frank_wolfe_algorithm,
                          online_to_batch_algorithm,
                          private_ftrl_algorithm,
                          one_pass_sgd_algorithm,
                          noisy_sgd_algorithm,
                          snowball_sgd_algorithm,
                          noisy_frank_wolfe_algorithm,
                          gossip_algorithm,
                          sufficient_statistics_algorithm,
                          constant_algorithm}) {
    all.push_back(make());
  }
  return all;
}

std::unique_ptr<Algorithm> algorithm_of(const TrainPlan& plan) {
  auto all = all_algorithms();
  return std::move(*std::find_if(all.begin(), all.end(), [&](const auto& one) { return one->name() == plan.algorithm_name(); }));
}

}  // namespace surety::jobs
