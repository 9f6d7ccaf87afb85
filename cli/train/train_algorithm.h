// The algorithms of surety train as the command sees them: their fields as options.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <surety/jobs/algorithms/algorithm.h>

#include "../algorithm_options.h"
#include "../files.h"
#include "train_options.h"

namespace surety::cli {

/// One algorithm, or `auto`, which stands for what it chooses of the others.
class TrainAlgorithm : public NamedAlgorithm<TrainOptions> {
 public:
  using NamedAlgorithm::NamedAlgorithm;

  /// nullptr for `auto`.
  [[nodiscard]] virtual const jobs::Algorithm* its() const { return nullptr; }
  /// Its own fields, as they were said. \pre its() != nullptr
  [[nodiscard]] virtual jobs::AlgorithmPlan own() const { return {}; }
};

/// All of them, in the order of the help, `auto` first.
[[nodiscard]] std::vector<std::unique_ptr<TrainAlgorithm>> all_train_algorithms();

}  // namespace surety::cli
