#include "automatic.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <surety/accounting/calibration/calibrate.h>
#include <surety/accounting/events/format.h>
#include <surety/accounting/numbers/error.h>
#include <surety/data/text_reader.h>
#include <surety/optimizers/empirical_risk/shaped_descent.h>
#include <surety/optimizers/problem/loss.h>

#include "../ranks.h"
#include "algorithms.h"
#include "tuning.h"

namespace surety::cli {
namespace {

using namespace optimizers;

// Fitted on the sets of docs/results/learners.md: there noise drowns the features from the first on, many steps pay up to the second where
// features are many and the third where the budget is, and few where features are few.
constexpr double nothing_learned = 10;
constexpr double little_noise = 0.04;
constexpr double much_noise = 2;
constexpr double large_budget = 0.2;
constexpr std::size_t few_features = 15;

int steps_for(double nu, double mu, std::size_t features) {
  if (features <= few_features || nu > much_noise) return 10;
  return nu <= little_noise || mu >= large_budget ? 30 : 20;
}

std::string option_text(double value) { return fmt::format("{:.4g}", value); }

// Fitted on the sets of docs/results/regression.md. Noise of second moments multiplies the weights, so one release of them is for few features and
// little noise; large derivatives are those of a beginning, and clipping them is what keeps noise small.
constexpr double hardly_any_noise = 0.01;
constexpr double low_noise = 0.02;
constexpr double high_noise = 0.4;

// Rows of one scale, likewise: many columns make all of them short.
constexpr std::size_t most_scaled_features = 25;
constexpr double some_noise = 0.04;
constexpr double least_noise = 0.005;

std::vector<Choice> choices_for_squares(double nu, std::size_t features, double label_bound, RowLength rows, const std::string& facts) {
  std::vector<Choice> found;
  const bool are_few = features <= few_features;
  const bool are_scaled = rows == RowLength::scaled || (rows == RowLength::either && features <= most_scaled_features);
  if (are_few && nu <= (are_scaled ? least_noise : hardly_any_noise))
    found.push_back({.algorithm = "sufficient-statistics", .words = {}, .why = facts});
  const auto shaped = [&](const char* steps, double clip) {
    found.push_back({.algorithm = "shaped-descent",
                     .words = {"--steps", steps, "--clip-share", "1", "--clip", option_text(clip * label_bound)},
                     .why = facts});
  };
  if (are_scaled) {
    shaped(nu > some_noise ? "30" : "10", nu <= low_noise ? 0.6 : nu <= some_noise ? 0.3 : 0.1);
    if (nu > some_noise) found.back().words.insert(found.back().words.end(), {"--ridge", "0.3"});
  } else if (nu > high_noise) {
    shaped("10", 0.1);
  } else if (are_few) {
    shaped("10", nu <= low_noise ? 0.6 : 0.3);
  } else {
    shaped("30", nu <= low_noise ? 0.3 : 0.1);
  }
  if (are_scaled && rows == RowLength::either) {
    for (auto& choice : found) choice.words.insert(choice.words.end(), {"--rows", "scaled"});
  }
  return found;
}

/// \param said whether --rows was
RowLength rows_of(const data::FeatureMap& features, bool is_csv, bool said) {
  if (!features.unit_norm) return RowLength::scaled;
  const auto* const columns = std::get_if<data::NamedColumns>(&features.inputs);
  const auto has_bounds = [](const data::Column& column) { return std::holds_alternative<data::Bounds>(column.map); };
  return is_csv && !said && std::all_of(columns->begin(), columns->end(), has_bounds) ? RowLength::either : RowLength::unit;
}

std::uint64_t records_in(const TrainOptions& options, const Source& source) {
  if (const auto* file = std::get_if<std::shared_ptr<const data::RecordFile>>(&source.inputs)) return (*file)->size();
  OpenStream stream = open_stream(options, source);
  const AnyLabel any;
  std::uint64_t count = 0;
  while (stream.records.next(any)) ++count;
  return count;
}

}  // namespace

std::vector<Choice> choices(const PublicNumbers& numbers) {
  const auto adjacency = numbers.target.adjacency;
  const auto noise = calibrate([&](NoiseMultiplier z) { return gaussian(z, adjacency); }, numbers.target);
  const double mu = 1 / noise.value.value();
  const double unit = adjacency == Adjacency::replace_one ? 2 : 1;
  const auto d = static_cast<double>(numbers.features);
  const double nu = d * unit / (static_cast<double>(numbers.records.value()) * mu);
  const std::string facts =
      fmt::format("{} {}, {} features, nu = {:.3g}", numbers.records.value(), numbers.has_unit ? "units" : "records", numbers.features, nu);

  const Choice plain{.algorithm = "gradient-descent", .words = {}, .why = facts};
  if (numbers.loss == HingeLoss::name || numbers.loss == SmoothedHingeLoss::name) {
    return {{.algorithm = plain.algorithm, .words = {}, .why = fmt::format("no rule was fitted for {} loss", numbers.loss)}};
  }
  std::vector<Choice> found;
  const bool is_shapeable = !numbers.has_unit && numbers.features <= most_shaped_features;
  if (is_shapeable && numbers.loss == SquaredLoss::name) {
    found = choices_for_squares(nu, numbers.features, numbers.label_bound.value_or(1), numbers.rows, facts);
  } else if (is_shapeable) {
    if (nu > nothing_learned) {
      found.push_back({.algorithm = "constant",
                       .words = {},
                       .why = facts + ": noise would drown the features, so the share of the class alone is released"});
    }
    found.push_back({.algorithm = "shaped-descent",
                     .words = {"--steps", std::to_string(steps_for(nu, mu, numbers.features)), "--ridge",
                               option_text(std::clamp(0.05 * nu, 0.03, 0.5))},
                     .why = facts});
  }
  Choice accelerated{.algorithm = "accelerated-gradient-descent", .words = {}, .why = facts};
  if (numbers.has_unit) {
    accelerated.why = "has a theorem for units; " + facts;
  } else if (!is_shapeable) {
    accelerated.why = "takes no matrix of all pairs of features; " + facts;
  }
  if (nu > 0.5) {
    accelerated.words = {"--steps", "10", "--iterate", "average"};
  } else {
    accelerated.words = {"--steps", nu > 0.05 ? "30" : "60"};
  }
  if (numbers.label_bound) accelerated.words.insert(accelerated.words.end(), {"--clip", option_text(*numbers.label_bound)});
  found.push_back(std::move(accelerated));
  found.push_back(plain);
  return found;
}

namespace {

/// The first of the rule's choices that is one of `algorithms`.
Choice first_known(const PublicNumbers& numbers, const Arguments& algorithms) {
  const auto in_order = choices(numbers);
  const auto is_known = [&](const Choice& one) {
    return std::find(algorithms.begin(), algorithms.end(), one.algorithm) != algorithms.end();
  };
  const auto found = std::find_if(in_order.begin(), in_order.end(), is_known);
  if (found == in_order.end()) {
    invalid(fmt::format("--algorithm is missing: auto chose {}, which does not know all of the options; {} do", in_order.front().algorithm,
                        fmt::join(algorithms, ", ")));
  }
  Choice choice = *found;
  if (found != in_order.begin()) choice.why += fmt::format("; {} does not know all of the options", in_order.front().algorithm);
  return choice;
}

/// By the rule.
Choice choice_for(TrainOptions options, std::optional<std::uint64_t> records, double held_out, const Arguments& words,
                  const Arguments& algorithms) {
  if (options.data == data::TextReader::standard_input) {
    invalid("the data file is -, must be a file for --algorithm auto, which reads its header first");
  }
  // Each rank chooses for itself: from equal public numbers, which the ranks compare before anything is released.
  const auto launch = launched_by_mpirun();
  take_rank(options, launch ? launch->rank : 0, launch ? launch->size : 1);
  const bool has_file_of_rank = !options.data_of_ranks.empty();
  const Source source = source_of(options);
  const Adjacency adjacency = options.run.target().adjacency;
  const bool is_public = adjacency != Adjacency::add_or_remove_one && !options.run.has_unit();
  if (!records && !is_public) {
    invalid(fmt::format("--records is missing: --algorithm auto needs the public number of {} in the file, or a guess of it",
                        options.run.has_unit() ? "units" : "records"));
  }
  if (has_file_of_rank && !records) invalid("--records is missing: --algorithm auto needs the number of records in the files of all ranks");
  if (!(held_out >= 0 && held_out < 1)) invalid(fmt::format("--held-out is {}, must be at least 0 and less than 1", held_out));
  const std::uint64_t all = is_public && !has_file_of_rank ? records_in(options, source) : *records;
  if (records && is_public && !has_file_of_rank) require_said_records(options, all, *records);
  const auto trained = static_cast<std::uint64_t>(std::llround((1 - held_out) * static_cast<double>(all)));
  const auto features = open_stream(options, source).features;
  const bool is_csv = std::holds_alternative<data::CsvOptions>(source.inputs);
  Choice choice = first_known({.records = Count{std::max<std::uint64_t>(trained, 1)},
                               .features = features.features(),
                               .target = options.run.target(),
                               .loss = options.loss,
                               .label_bound = options.label_bound,
                               .has_unit = options.run.has_unit(),
                               .rows = rows_of(features, is_csv, value_in(words, "--rows").has_value())},
                              algorithms);
  const bool needs_no_count = choice.algorithm == "gossip" || choice.algorithm == "sufficient-statistics";
  if (adjacency == Adjacency::add_or_remove_one && !needs_no_count) {
    choice.words.insert(choice.words.end(), {"--public-count", std::to_string(std::max<std::uint64_t>(trained, 1))});
  }
  return choice;
}

ChosenRun chosen_run(const TrainOptions& options, std::optional<std::uint64_t> records, double held_out, const Arguments& words,
                     const Arguments& algorithms) {
  // Where one alone knows what was asked for, nothing is counted: it says itself what it needs.
  Choice choice = algorithms.size() == 1 ? Choice{.algorithm = algorithms.front(), .words = {}, .why = "knows what was asked for"}
                                         : choice_for(options, records, held_out, words, algorithms);
  Arguments chosen = without(words, "--algorithm");
  if (algorithms.size() != 1) chosen = without(chosen, "--records");
  const auto all_algorithms_there_are = all_algorithms();
  const auto tuned = tuned_options(chosen, algorithm_named(all_algorithms_there_are, choice.algorithm));
  Arguments added;  // what the user has not said, and no search tries
  for (std::size_t i = 0; i + 1 < choice.words.size(); i += 2) {
    const bool is_tuned = std::find(tuned.begin(), tuned.end(), choice.words[i]) != tuned.end();
    if (!is_tuned && !value_in(chosen, choice.words[i])) added.insert(added.end(), {choice.words[i], choice.words[i + 1]});
  }
  choice.words = std::move(added);
  chosen.insert(chosen.end(), choice.words.begin(), choice.words.end());
  chosen.insert(chosen.end(), {"--algorithm", choice.algorithm});
  return {.choice = std::move(choice), .words = std::move(chosen)};
}

/// Stands for the others in the help; it is never prepared.
class Automatic final : public Algorithm {
 public:
  Automatic() : Algorithm{"auto", "Chooses one of the others, and its options, from public numbers alone, and says so."} {}

  void add_options(OptionTable& table, TrainOptions& shared) override {
    table.group("Data");
    table.add("--held-out", held_out_, "The share of records kept for scores, by a public pseudo-random split", number());
    table.group("Problem and algorithm");
    add_records(table, records_, "counted where it is public, else needed");
    static_cast<void>(shared);
  }
  [[nodiscard]] std::string why_no_units() const override { return {}; }
  std::unique_ptr<TrainingRun> prepare(const TrainOptions&, const Source&, Team&) const override {
    throw Error{ErrorCode::internal, "auto was not replaced by what it chose"};
  }

  [[nodiscard]] ChosenRun chosen(const TrainOptions& options, const Arguments& words, const Arguments& algorithms) const {
    try {
      return chosen_run(options, records_, held_out_, words, algorithms);
    } catch (...) {
      let_the_first_speak();
      throw;
    }
  }

 private:
  double held_out_ = 0.2;
  std::optional<std::uint64_t> records_;
};

}  // namespace

std::unique_ptr<Algorithm> automatic_algorithm() { return std::make_unique<Automatic>(); }

ChosenRun choose_for(const Algorithm& automatic, const TrainOptions& options, const Arguments& words, const Arguments& algorithms) {
  return dynamic_cast<const Automatic&>(automatic).chosen(options, words, algorithms);
}

}  // namespace surety::cli
