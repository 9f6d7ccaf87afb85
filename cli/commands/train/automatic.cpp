#include <surety/cli/commands/train/automatic.h>

#include <fmt/format.h>

#include <algorithm>

#include <surety/cli/ranks/ranks.h>
#include <surety/jobs/automatic/rules.h>
#include <surety/jobs/search/candidates.h>

namespace surety::cli {
namespace {

/// The algorithms that know all options of some that were given, beside what all know.
std::vector<std::string> knowing(const std::vector<AlgorithmOptions>& all, const OptionTable& hidden) {
  std::vector<std::string> names;
  for (const auto& one : all) {
    bool knows_all = one.algorithm != automatic_name;
    for (const auto& group : hidden.groups()) {
      for (const auto& option : group.options) {
        knows_all = knows_all && (!option.is_given() || one.options.find(option.name()) != nullptr);
      }
    }
    if (knows_all) names.push_back(one.algorithm);
  }
  if (names.empty()) invalid("--algorithm is missing: none knows all of the options");
  return names;
}

/// Each rank chooses for itself: from equal public numbers, which the ranks compare before anything is released.
jobs::Choice choice_for(TrainOptions options, jobs::AutomaticPlan own, const Command& said, const std::vector<std::string>& known) {
  try {
    // Where one alone knows what was asked for, it says itself what it needs.
    if (known.size() == 1 && options.plan.problem.classes.empty()) return jobs::choose(options.plan, own, known);
    const auto launch = launched_by_mpirun();
    options.table.take_rank(launch ? launch->rank : 0, launch ? launch->size : 1);
    own.says_rows = said.options.find("--rows")->is_given();
    const auto* const tune = said.hidden.find("--tune");
    own.searches = tune != nullptr && tune->is_given();
    return jobs::choose(plan_of(options, {}), own, known);
  } catch (...) {
    let_the_first_speak();
    throw;
  }
}

}  // namespace

OptionTable as_chosen(TrainState& state, const Command& said) {
  TrainOptions& options = state.options;
  if (const auto* const classes = said.hidden.find("--classes"); classes != nullptr && classes->is_given()) {
    options.plan.problem.classes = classes->given().back();  // a part of what is read
  }
  if (const auto* const weight = said.hidden.find("--weight"); weight != nullptr && weight->is_given()) {
    options.plan.source.weight = weight->given().back();  // no feature
  }
  const auto known = knowing(state.tables, said.hidden);
  const auto choice = choice_for(options, state.automatic, said, known);

  OptionTable given;
  const auto& own = options_named(state.tables, automatic_name).options;
  for (const auto& group : said.options.groups()) {
    for (const auto& option : group.options) {
      if (own.find(option.name()) == nullptr) given.group(group.heading).add(option);
    }
  }
  given.find("--algorithm")->set({choice.algorithm});
  for (const auto& group : options_named(state.tables, choice.algorithm).options.groups()) {
    for (const auto& option : group.options) {
      auto& added = given.group(group.heading).add(option);
      // What `auto` itself knows of records is no number that an algorithm must be told.
      const bool is_of_the_choice = known.size() != 1 && option.name() == "--records";
      const auto* const found = own.find(option.name()) != nullptr ? said.options.find(option.name()) : said.hidden.find(option.name());
      if (!is_of_the_choice && found != nullptr && found->is_given()) added.set(found->given());
    }
  }
  options.chosen = choice.algorithm;
  const auto tried = options.plan.search.tune ? jobs::searched_over(options.plan, state.chosen().its(), {}) : std::vector<std::string>{};
  for (const auto& [field, value] : choice.fields) {
    auto& option = *given.find("--" + field);
    const auto is_it = [start = field + "="](const std::string& text) { return text.starts_with(start); };
    const bool is_said = option.is_given() && option.given().back() != automatic_name;
    if (is_said || std::any_of(tried.begin(), tried.end(), is_it)) continue;
    option.set({value});
    options.chosen += jobs::field_text(" {} {}", jobs::FieldName{field}, value);
  }
  options.chosen += ": " + choice.why;
  return given;
}

OptionTable as_ruled(TrainState& state, const OptionTable& given) {
  OptionTable ruled = given;
  TrainOptions& options = state.options;
  if (options.run.expected) return ruled;
  const auto tried = options.plan.search.tune ? jobs::searched_over(options.plan, state.chosen().its(), {}) : std::vector<std::string>{};
  const auto found = jobs::ruled_fields(plan_of(options, state.chosen().own()));
  jobs::FieldText chosen;
  for (const auto& [field, value] : found.fields) {
    auto& option = *ruled.find("--" + field);
    const auto is_it = [start = field + "="](const std::string& text) { return text.starts_with(start); };
    if (option.is_given() || std::any_of(tried.begin(), tried.end(), is_it)) continue;
    option.set({value});
    chosen += jobs::field_text(" {} {}", jobs::FieldName{field}, value);
  }
  if (chosen.empty()) return ruled;
  options.chosen = options.algorithm;
  options.chosen += chosen;
  options.chosen += ": " + found.why;
  return ruled;
}

}  // namespace surety::cli
