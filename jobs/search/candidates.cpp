#include <surety/jobs/search/candidates.h>

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include <surety/base/text/safe_text.h>
#include <surety/jobs/plans/plan_error.h>

namespace surety::jobs {
namespace {

/// Fields of these are what a candidate may differ in: how records are read, split and promised is one for all.
constexpr std::string_view tunable_group = "Problem and algorithm";

/// Those that change how fast a model is found, and nothing of it.
constexpr std::array no_difference{"threads"};

std::string field_in(const std::string& text) { return text.substr(0, text.find('=')); }

void require_tunable(const FieldTable& own, const std::string& name) {
  if (std::find(no_difference.begin(), no_difference.end(), name) != no_difference.end()) {
    refuse_plan("{} names '{}', by which no model differs, must name what candidates differ in", "tune-over"_field, name);
  }
  for (const auto& group : own.groups()) {
    if (group.heading != tunable_group) continue;
    for (const auto& field : group.fields) {
      if (field.name() == name && !std::holds_alternative<bool*>(field.value())) return;
    }
  }
  refuse_plan("{} names '{}', must name an option of the algorithm's own that candidates may differ in", "tune-over"_field, one_line(name));
}

std::vector<std::string> pieces(std::string_view text, char separator) {
  std::vector<std::string> all;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find(separator, begin), text.size());
    all.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return all;
}

std::vector<std::string> values_of(const std::string& text, const std::string& name) {
  auto values = pieces(std::string_view{text}.substr(text.find('=') + 1), ',');
  for (auto value = values.begin(); value != values.end(); ++value) {
    if (std::find(values.begin(), value, *value) != value) {
      refuse_plan("{} has {} of {} twice, must have each value once", "tune-over"_field, one_line(*value), FieldName{name});
    }
  }
  for (const auto& value : values) {
    if (value.empty()) refuse_plan("{} has an empty value of {}, must have a value behind each comma", "tune-over"_field, FieldName{name});
  }
  return values;
}

std::vector<Combination> longer(const std::vector<Combination>& all, const std::string& name, const std::vector<std::string>& values) {
  std::vector<Combination> longer;
  for (const auto& one : all) {
    for (const auto& value : values) {
      Combination next = one;
      next.text += field_text("{}{} {}", next.text.empty() ? "" : " ", FieldName{name}, value);
      next.values.emplace_back(name, value);
      longer.push_back(std::move(next));
      if (longer.size() > most_tuned_candidates) {
        refuse_plan("{} has more than {} combinations, must have at most that", "tune-over"_field, most_tuned_candidates);
      }
    }
  }
  return longer;
}

/// The plan of one candidate, which searches no further.
std::shared_ptr<TrainPlan> candidate_of(const TrainPlan& plan, const Algorithm& algorithm, const Combination& combination) {
  auto made = std::make_shared<TrainPlan>(plan);
  made->search = {};
  FieldTable fields;
  algorithm.add_fields(fields, made->algorithm, *made);
  for (const auto& [name, value] : combination.values) fields.find(name)->set(value);
  return made;
}

}  // namespace

std::vector<std::string> searched_over(const TrainPlan& plan, const Algorithm& algorithm, const SaidFields& said) {
  if (!plan.search.tune_over.empty()) return plan.search.tune_over;
  std::vector<std::string> over;
  for (const auto& text : algorithm.tuned_over()) {
    if (!said.contains(field_in(text))) over.push_back(text);
  }
  return over;
}

std::vector<Combination> combinations(const std::vector<std::string>& over, const Algorithm& algorithm, const SaidFields& said) {
  auto standard = algorithm.standard();
  TrainingSource nowhere;
  TrainPlan unused{.target = {.epsilon = Epsilon{1}, .delta = Delta{0}, .adjacency = Adjacency::replace_one}, .source = std::move(nowhere)};
  FieldTable own;
  algorithm.add_fields(own, standard, unused);
  std::vector<Combination> all{{}};
  std::vector<std::string> names;
  for (const auto& text : over) {
    if (text.find('=') == std::string::npos) refuse_plan("{} is '{}', must be option=value,value,...", "tune-over"_field, one_line(text));
    const auto name = field_in(text);
    require_tunable(own, name);
    if (said.contains(name)) refuse_plan("{} is given, must not be beside {} for it", FieldName{name}, "tune-over"_field);
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      refuse_plan("{} names {} twice, must name each option once", "tune-over"_field, FieldName{name});
    }
    names.push_back(name);
    all = longer(all, name, values_of(text, name));
  }
  if (all.size() < 2) refuse_plan("{} has one combination, must have at least two to choose among", "tune-over"_field);
  return all;
}

std::unique_ptr<TrainingRun> search_of(const TrainPlan& plan, const Algorithm& algorithm, const SaidFields& said,
                                       const TrainContext& context) {
  const auto over = searched_over(plan, algorithm, said);
  if (over.empty()) {
    refuse_plan("{} is missing: {} needs what candidates differ in, {} has nothing more of its own", "tune-over"_field, "tune"_field,
                algorithm.name());
  }
  std::vector<TunedCandidate> candidates;
  for (const auto& combination : combinations(over, algorithm, said)) {
    auto kept = candidate_of(plan, algorithm, combination);
    // Who counts bars of progress would count its runs, a secret number.
    auto run = algorithm.prepare(*kept, TrainContext{.team = context.team, .run = {.memory = context.run.memory}});
    candidates.push_back({.text = combination.text, .kept = std::move(kept), .run = std::move(run)});
  }
  return tuned(plan, std::move(candidates), context);
}

}  // namespace surety::jobs
