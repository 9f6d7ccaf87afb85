// `--algorithm auto`, the default: what the rule of jobs/automatic chooses is run as if its options had been said: plan, ledger, model and report name
// the algorithm and its options.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <surety/jobs/automatic/automatic.h>

#include "../options.h"
#include "train_algorithm.h"
#include "train_options.h"

namespace surety::cli {

/// Stands for the others in the help; it is never prepared.
[[nodiscard]] std::unique_ptr<TrainAlgorithm> automatic_algorithm();

/// The fields that a search would try, where one is asked for.
[[nodiscard]] std::vector<std::string> tuned_fields(const jobs::SearchPlan& search, const jobs::Algorithm& algorithm);

/// Reads the header, and where --records is not said and their number is public, counts the records.
/// \param automatic what `automatic_algorithm` made. \param given of the command
/// \param algorithms that know all options that were given but those that all know: where there is one alone it is chosen
/// \throws Error{invalid_argument} without --records where the number of records is private or each of several ranks has a file of its own, for standard
///         input, and where no choice of the rule knows all options that were given.
[[nodiscard]] jobs::Choice choose_for(const TrainAlgorithm& automatic, const TrainOptions& options, const OptionTable& given,
                                      const Arguments& algorithms);

}  // namespace surety::cli
