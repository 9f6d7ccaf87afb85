// The algorithms.
#pragma once

#include <memory>
#include <vector>

#include <surety/jobs/algorithms/algorithm.h>

namespace surety::jobs {

/// All of them, in the order of the help.
[[nodiscard]] std::vector<std::unique_ptr<Algorithm>> all_algorithms();
/// That of a plan.
[[nodiscard]] std::unique_ptr<Algorithm> algorithm_of(const TrainPlan& plan);

[[nodiscard]] std::unique_ptr<Algorithm> gradient_descent_algorithm();
[[nodiscard]] std::unique_ptr<Algorithm> accelerated_gradient_descent_algorithm();
[[nodiscard]] std::unique_ptr<Algorithm> shaped_descent_algorithm();
[[nodiscard]] std::unique_ptr<Algorithm> constant_algorithm();
[[nodiscard]] std::unique_ptr<Algorithm> sufficient_statistics_algorithm();
[[nodiscard]] std::unique_ptr<Algorithm> mirror_descent_algorithm();
[[nodiscard]] std::unique_ptr<Algorithm> dp_sgd_algorithm();
[[nodiscard]] std::unique_ptr<Algorithm> svrg_algorithm();
[[nodiscard]] std::unique_ptr<Algorithm> svrg_plus_plus_algorithm();
[[nodiscard]] std::unique_ptr<Algorithm> output_perturbation_algorithm();
[[nodiscard]] std::unique_ptr<Algorithm> objective_perturbation_algorithm();
[[nodiscard]] std::unique_ptr<Algorithm> online_frank_wolfe_algorithm();
[[nodiscard]] std::unique_ptr<Algorithm> polyhedral_frank_wolfe_algorithm();
[[nodiscard]] std::unique_ptr<Algorithm> online_to_batch_algorithm();
[[nodiscard]] std::unique_ptr<Algorithm> private_ftrl_algorithm();
[[nodiscard]] std::unique_ptr<Algorithm> one_pass_sgd_algorithm();
[[nodiscard]] std::unique_ptr<Algorithm> noisy_sgd_algorithm();
[[nodiscard]] std::unique_ptr<Algorithm> snowball_sgd_algorithm();
[[nodiscard]] std::unique_ptr<Algorithm> noisy_frank_wolfe_algorithm();
[[nodiscard]] std::unique_ptr<Algorithm> gossip_algorithm();

}  // namespace surety::jobs
