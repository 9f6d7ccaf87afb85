#include "tuning.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <surety/accounting/accountants/best.h>
#include <surety/accounting/calibration/calibrate.h>
#include <surety/optimizers/doors/run_releaser.h>
#include <surety/optimizers/empirical_risk/search.h>

#include "../output.h"
#include "on_file.h"
#include "report.h"

namespace surety::cli {
namespace {

using namespace optimizers;

/// Options of these are what a candidate may differ in: how records are read, split and promised is one for all.
constexpr std::string_view tunable_group = "Problem and algorithm";

const Option& tunable_option(const OptionTable& own, const std::string& name) {
  for (const auto& group : own.groups()) {
    if (group.heading != tunable_group) continue;
    for (const auto& option : group.options) {
      if (option.name() == "--" + name && !option.is_flag()) return option;
    }
  }
  invalid(fmt::format("--tune-over names '{}', must name an option of the algorithm's own that candidates may differ in", one_line(name)));
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

/// The multiplier at which all of a candidate's releases together cost at most gaussian(run).
double noise_of(const TunableTraining& candidate, NoiseMultiplier run) {
  const auto at_one = squared_mu(candidate.plan(NoiseMultiplier{1}));
  if (!at_one) throw Error{ErrorCode::unsupported, "--tune needs a training whose releases are Gaussian"};
  // More than all roundings, of multipliers and of the sum that the door compares.
  constexpr double margin = 1 + 1e-12;
  return run.value() * std::sqrt(*at_one) * margin;
}

class TunedRun final : public TrainingRun {
 public:
  TunedRun(const TrainOptions& shared, std::vector<TunedCandidate> candidates, Team& team)
      : shared_{shared}, candidates_{std::move(candidates)}, team_{team} {
    for (const auto& candidate : candidates_) runs_.push_back(&dynamic_cast<CandidateRun&>(*candidate.run));
  }

  CalibratedNoise calibrate() override {
    const Target target = shared_.run.target();
    for (const auto* run : runs_) static_cast<void>(noise_of(run->tunable(), NoiseMultiplier{1}));
    order_ = order_for(target);
    auto found = calibrated(order_, target);
    if (shared_.tune_by == "cheapest" && order_ == SearchOrder::at_random && !budget_knows(found.event)) {
      order_ = SearchOrder::each;
      found = calibrated(order_, target);
      is_split_for_the_budget_ = true;
    }
    const auto alone = surety::calibrate([&](NoiseMultiplier z) { return gaussian(z, target.adjacency); }, target);
    noise_factor_ = found.value.value() / alone.value.value();
    cost_of_one_ = accounting::epsilon(accounting::Best{}, gaussian(found.value, target.adjacency), target.delta).upper;
    return {.event = found.event, .epsilon = found.epsilon, .value = found.value.value()};
  }

  const data::FeatureMap& read(double noise, RunBits& bits) override {
    const auto& features = runs_.front()->read(noise, bits);
    if (parts().held_out.empty() && shared_.run.target().adjacency != Adjacency::add_or_remove_one) {
      throw Error{ErrorCode::bad_data,
                  fmt::format("{}: no record is held out, must be at least one that --tune scores candidates on", one_line(shared_.data))};
    }
    return features;
  }

  std::vector<double> run(double noise, accounting::Reservation* reservation, RunBits& bits) override {
    const auto run = [&](std::size_t candidate, ReleaserRef training, ReleaserRef scoring) {
      const CandidateRun& one = *runs_[candidate];
      const TunableTraining& tunable = one.tunable();
      auto weights = one.learn(parts().training, noise_of(tunable, NoiseMultiplier{noise}), TrainingDoors{team_, training, bits.source()});
      const double score = released_score(parts().held_out, bounded_loss(tunable.objective, shared_.label_bound.value_or(1)), weights,
                                          NoiseMultiplier{noise}, shared_.run.target().adjacency, scoring);
      return ScoredModel{.weights = std::move(weights), .score = score};
    };
    auto best = search(options(noise, order_), *reservation, bits.source(), run);
    chosen_ = best.candidate;
    score_ = best.model.score;
    return std::move(best.model.weights);
  }

  void add_to(Report& report) const override {
    runs_.front()->add_to(report);
    const bool is_random = order_ == SearchOrder::at_random;
    const std::uint64_t count = options(1, order_).runs.value();
    const auto others = static_cast<double>(candidates_.size() - 1);
    const double missed = is_random ? others / (others + static_cast<double>(count)) : 1 - static_cast<double>(count) / (others + 1);
    report.extent = runs_[chosen_]->extent();
    report.lines.emplace_back(
        "tuned",
        fmt::format(
            "{}: the best by a noisy score on the held-out part of {} of {} candidates, each of which is missed with probability {:.2f}",
            candidates_[chosen_].text, is_random ? fmt::format("a secret number of runs, {} expected,", count) : std::to_string(count),
            candidates_.size(), missed));
    report.lines.emplace_back("price",
                              fmt::format("noise is {:.3f} times that of a run without a search; one run with this noise would cost "
                                          "epsilon = {:.4g}, the search costs {:.4g}",
                                          noise_factor_, cost_of_one_, report.noise.epsilon.upper) +
                                  (is_split_for_the_budget_ ? "; the ledger's budget holds no random number of runs" : ""));
    std::vector<std::string> texts;
    for (const auto& candidate : candidates_) texts.push_back(candidate.text);
    report.fields["tuning"] = {{"candidates", texts},
                               {"chosen", candidates_[chosen_].text},
                               {"score", score_},
                               {"runs", is_random ? "geometric_runs" : "each"},
                               {is_random ? "expected_runs" : "count", count},
                               {"missed", missed},
                               {"noise_factor", noise_factor_},
                               {"epsilon_of_one_run", cost_of_one_}};
    if (!report.scores.empty())
      report.scores += "candidates were chosen on this part: as scores of the model these are slightly too good\n";
  }

 private:
  [[nodiscard]] SearchOptions options(double noise, SearchOrder order) const {
    const std::uint64_t all = candidates_.size();
    return {.noise_multiplier = NoiseMultiplier{noise},
            .adjacency = shared_.run.target().adjacency,
            .order = order,
            .runs = Count{order == SearchOrder::each ? std::min(all, *shared_.tune) : *shared_.tune},
            .candidates = Count{all}};
  }
  [[nodiscard]] Calibration calibrated(SearchOrder order, const Target& target) const {
    return surety::calibrate([&](NoiseMultiplier z) { return plan(options(z.value(), order)); }, target);
  }
  /// Whether the ledger's budget, if it has one, can hold such an event; whether there is room for it is found out with any other.
  [[nodiscard]] bool budget_knows(const Event& event) const {
    try {
      shared_.run.check(shared_.run.plan(event, "a search"));
    } catch (const Error& error) {
      return error.code() != ErrorCode::unsupported;
    }
    return true;
  }
  /// What was asked for, or what needs less noise.
  [[nodiscard]] SearchOrder order_for(const Target& target) const {
    if (shared_.tune_by == "random") return SearchOrder::at_random;
    if (shared_.tune_by == "split") return SearchOrder::each;
    // Less noise than that of the other is enough where that noise is, and only there.
    const double noise = calibrated(SearchOrder::each, target).value.value();
    const auto cost = accounting::delta(accounting::Best{}, plan(options(noise, SearchOrder::at_random)), target.epsilon);
    return cost.upper <= target.delta.value() ? SearchOrder::at_random : SearchOrder::each;
  }
  [[nodiscard]] const data::Split& parts() const { return runs_.front()->parts(); }

  const TrainOptions& shared_;
  std::vector<TunedCandidate> candidates_;
  std::vector<CandidateRun*> runs_;
  Team& team_;
  SearchOrder order_ = SearchOrder::at_random;
  bool is_split_for_the_budget_ = false;
  double noise_factor_ = 1;
  double cost_of_one_ = 0;
  std::size_t chosen_ = 0;
  double score_ = 0;
};

}  // namespace

std::vector<Combination> combinations(const std::vector<std::string>& over, const OptionTable& own, const OptionTable& given) {
  std::vector<Combination> all{{}};
  std::vector<std::string> names;
  for (const auto& text : over) {
    const auto equals = text.find('=');
    if (equals == std::string::npos) invalid(fmt::format("--tune-over is '{}', must be option=value,value,...", one_line(text)));
    const Option& option = tunable_option(own, text.substr(0, equals));
    if (const auto* said = given.find(option.name()); said != nullptr && said->is_given()) {
      invalid(fmt::format("{} is given, must not be beside --tune-over for it", option.name()));
    }
    if (std::find(names.begin(), names.end(), option.name()) != names.end()) {
      invalid(fmt::format("--tune-over names {} twice, must name each option once", option.name()));
    }
    names.push_back(option.name());
    std::vector<Combination> longer;
    for (const auto& one : all) {
      for (const auto& value : pieces(std::string_view{text}.substr(equals + 1), ',')) {
        if (value.empty()) invalid(fmt::format("--tune-over has an empty value of {}, must have a value behind each comma", option.name()));
        Combination next = one;
        next.text += fmt::format("{}{} {}", next.text.empty() ? "" : " ", option.name(), value);
        next.words.push_back(option.name() + "=" + value);
        longer.push_back(std::move(next));
        if (longer.size() > most_tuned_candidates) {
          invalid(fmt::format("--tune-over has more than {} combinations, must have at most that", most_tuned_candidates));
        }
      }
    }
    all = std::move(longer);
  }
  if (all.size() < 2) invalid("--tune-over has one combination, must have at least two to choose among");
  return all;
}

std::vector<std::string> tuned_options(const Arguments& words, const Algorithm& algorithm) {
  if (!value_in(words, "--tune")) return {};
  std::vector<std::string> over;
  for (Arguments left = words; !left.empty(); left.erase(left.begin())) {
    if (left.front().starts_with("--tune-over")) over.push_back(value_in(left, "--tune-over").value_or(""));
  }
  std::vector<std::string> names;
  for (const auto& text : over.empty() ? algorithm.tuned_over() : over) names.push_back("--" + text.substr(0, text.find('=')));
  return names;
}

std::unique_ptr<TrainingRun> tuned(const TrainOptions& shared, std::vector<TunedCandidate> candidates, Team& team) {
  if (team.size() > 1) throw Error{ErrorCode::unsupported, "--tune is for one process, several were started by mpirun"};
  if (shared.run.has_unit())
    throw Error{ErrorCode::unsupported, "--unit is not for --tune: a score is a sum over rows, of which a unit has several"};
  if (!shared.classes.empty()) throw Error{ErrorCode::unsupported, "--tune is for one model, --classes makes one for each class"};
  return std::make_unique<TunedRun>(shared, std::move(candidates), team);
}

}  // namespace surety::cli
