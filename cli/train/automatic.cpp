#include "automatic.h"

#include <utility>

#include <surety/data/text_reader.h>

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

jobs::Choice choice_for(TrainOptions options, jobs::AutomaticPlan own, const OptionTable& given, const Arguments& algorithms) {
  // Where one alone knows what was asked for, it says itself what it needs.
  if (algorithms.size() == 1) return {.algorithm = algorithms.front(), .fields = {}, .why = "knows what was asked for"};
  if (options.table.data == data::TextReader::standard_input) {
    invalid("the data file is -, must be a file for --algorithm auto, which reads its header first");
  }
  // Each rank chooses for itself: from equal public numbers, which the ranks compare before anything is released.
  const auto launch = launched_by_mpirun();
  options.table.take_rank(launch ? launch->rank : 0, launch ? launch->size : 1);
  own.says_rows = given.find("--rows")->is_given();
  return jobs::choose(plan_of(options, {}), own, algorithms);
}

}  // namespace

std::unique_ptr<TrainAlgorithm> automatic_algorithm() { return std::make_unique<Automatic>(); }

std::vector<std::string> tuned_fields(const jobs::SearchPlan& search, const jobs::Algorithm& algorithm) {
  std::vector<std::string> names;
  if (!search.tune) return names;
  for (const auto& text : search.tune_over.empty() ? algorithm.tuned_over() : search.tune_over)
    names.push_back(text.substr(0, text.find('=')));
  return names;
}

jobs::Choice choose_for(const TrainAlgorithm& automatic, const TrainOptions& options, const OptionTable& given,
                        const Arguments& algorithms) {
  try {
    return choice_for(options, dynamic_cast<const Automatic&>(automatic).own_plan(), given, algorithms);
  } catch (...) {
    let_the_first_speak();
    throw;
  }
}

}  // namespace surety::cli
