#include "automatic.h"

#include <algorithm>
#include <utility>

#include <surety/data/text_reader.h>
#include <surety/jobs/search/candidates.h>

#include "../ranks.h"

namespace surety::cli {
namespace {

class Automatic final : public TrainAlgorithm {
 public:
  Automatic() : TrainAlgorithm{"auto", "Chooses one of the others, and its options, from public numbers alone, and says so."} {}

  void add_options(OptionTable& table, TrainOptions& /*shared*/) override {
    table.group("Data");
    table.add("--held-out", own_.held_out, "The share of records kept for scores, by a public pseudo-random split", number());
    table.group("Problem and algorithm");
    jobs::FieldTable fields;
    fields.group("Problem and algorithm");
    jobs::add_records(fields, own_.records, "counted where it is public, else needed");
    add_fields(table, fields);
  }

  [[nodiscard]] const jobs::AutomaticPlan& own_plan() const noexcept { return own_; }

 private:
  jobs::AutomaticPlan own_;
};

jobs::Choice choice_for(TrainOptions options, jobs::AutomaticPlan own, const Arguments& words, const Arguments& algorithms) {
  // Where one alone knows what was asked for, it says itself what it needs.
  if (algorithms.size() == 1) return {.algorithm = algorithms.front(), .fields = {}, .why = "knows what was asked for"};
  if (options.table.data == data::TextReader::standard_input) {
    invalid("the data file is -, must be a file for --algorithm auto, which reads its header first");
  }
  // Each rank chooses for itself: from equal public numbers, which the ranks compare before anything is released.
  const auto launch = launched_by_mpirun();
  options.table.take_rank(launch ? launch->rank : 0, launch ? launch->size : 1);
  own.says_rows = value_in(words, "--rows").has_value();
  return jobs::choose(plan_of(options, {}), own, algorithms);
}

/// The fields that a search of these words would try.
std::vector<std::string> tuned_fields(const Arguments& words, const jobs::Algorithm& algorithm) {
  if (!value_in(words, "--tune")) return {};
  std::vector<std::string> over;
  for (Arguments left = words; !left.empty(); left.erase(left.begin())) {
    if (left.front().starts_with("--tune-over")) over.push_back(value_in(left, "--tune-over").value_or(""));
  }
  std::vector<std::string> names;
  for (const auto& text : over.empty() ? algorithm.tuned_over() : over) names.push_back(text.substr(0, text.find('=')));
  return names;
}

ChosenRun chosen_run(const TrainOptions& options, const jobs::AutomaticPlan& own, const Arguments& words, const Arguments& algorithms) {
  const auto choice = choice_for(options, own, words, algorithms);
  ChosenRun run{.algorithm = choice.algorithm, .said = {}, .why = choice.why, .words = without(words, "--algorithm")};
  if (algorithms.size() != 1) run.words = without(run.words, "--records");
  const auto all = all_train_algorithms();
  const auto tuned = tuned_fields(run.words, *algorithm_named(all, choice.algorithm).its());
  for (const auto& [field, value] : choice.fields) {
    const bool is_tuned = std::find(tuned.begin(), tuned.end(), field) != tuned.end();
    const auto option = "--" + field;
    if (!is_tuned && !value_in(run.words, option)) run.said.insert(run.said.end(), {option, value});
  }
  run.words.insert(run.words.end(), run.said.begin(), run.said.end());
  run.words.insert(run.words.end(), {"--algorithm", run.algorithm});
  return run;
}

}  // namespace

std::unique_ptr<TrainAlgorithm> automatic_algorithm() { return std::make_unique<Automatic>(); }

ChosenRun choose_for(const TrainAlgorithm& automatic, const TrainOptions& options, const Arguments& words, const Arguments& algorithms) {
  try {
    return chosen_run(options, dynamic_cast<const Automatic&>(automatic).own_plan(), words, algorithms);
  } catch (...) {
    let_the_first_speak();
    throw;
  }
}

}  // namespace surety::cli
