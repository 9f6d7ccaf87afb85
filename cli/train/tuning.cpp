#include "tuning.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <surety/accounting/accountants/best.h>
#include <surety/accounting/calibration/calibrate.h>
#include <surety/accounting/events/runs_law.h>
#include <surety/data/features.h>
#include <surety/mechanisms/bits/random_bits.h>
#include <surety/mechanisms/queries/record_sum.h>
#include <surety/optimizers/doors/run_releaser.h>
#include <surety/optimizers/empirical_risk/search.h>

#include "../output.h"
#include "answer_time.h"
#include "on_file.h"
#include "report.h"

namespace surety::cli {
namespace {

using namespace optimizers;

/// Options of these are what a candidate may differ in: how records are read, split and promised is one for all.
constexpr std::string_view tunable_group = "Problem and algorithm";

/// Those that change how fast a model is found, and nothing of it.
constexpr std::array no_difference{"threads"};

const Option& tunable_option(const OptionTable& own, const std::string& name) {
  if (std::find(no_difference.begin(), no_difference.end(), name) != no_difference.end()) {
    invalid(fmt::format("--tune-over names '{}', by which no model differs, must name what candidates differ in", name));
  }
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

/// As many made-up records as there are: rows that are full, by a rule that knows nothing of the data.
Dataset made_up(std::size_t records, const data::FeatureMap& features, double label) {
  data::DatasetBuilder builder{features.features(), false};
  constexpr double golden = 0.6180339887498949;
  std::vector<double> row(features.features());
  double next = 0;
  for (std::size_t i = 0; i < records; ++i) {
    for (double& value : row) {
      next += golden;
      next -= std::floor(next);
      value = 2 * next - 1;
    }
    data::scale_row(features, row);
    builder.add({.indices = {}, .values = row, .norm = mechanisms::l2_norm(row)}, i % 2 == 0 ? label : -label);
  }
  return std::move(builder).finish();
}

/// The probability that a capped number of runs of uniform candidates misses one of them: phi(1 - 1 / candidates).
double missed_by(const Runs& runs, double candidates) {
  const double goes_on = -std::expm1(-accounting::minus_log_stopping(runs, 64).enclosure().lower);
  const double z = 1 - 1 / candidates;
  // 1 - (1 - z) sum over k = 1 ... cap of (goes_on z)^(k - 1).
  return 1 - (1 - z) * (1 - std::pow(goes_on * z, static_cast<double>(runs.cap().value().value()))) / (1 - goes_on * z);
}

class TunedRun final : public TrainingRun {
 public:
  TunedRun(const TrainOptions& shared, std::vector<TunedCandidate> candidates, Team& team)
      : shared_{shared}, candidates_{std::move(candidates)}, team_{team} {
    for (const auto& candidate : candidates_) runs_.push_back(&dynamic_cast<CandidateRun&>(*candidate.run));
    if (shared_.answer_at) answer_.emplace(parse_answer_time(*shared_.answer_at, wall_clock_now()));
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
    if (answer_) rehearse(features, noise);
    return features;
  }

  std::vector<double> run(double noise, accounting::Reservation* reservation, RunBits& bits) override {
    const auto run = [&](std::size_t candidate, ReleaserRef training, ReleaserRef scoring) {
      if (!answer_) return run_once(candidate, parts(), noise, bits.source(), training, scoring);
      PunctualReleaser trains{*answer_, training};
      PunctualReleaser scores{*answer_, scoring};
      return run_once(candidate, parts(), noise, bits.source(), trains, scores);
    };
    auto best = search(options(noise, order_), *reservation, bits.source(), run);
    if (answer_) answer_->wait();
    chosen_ = best.candidate;
    score_ = best.model.score;
    return std::move(best.model.weights);
  }

  void add_to(Report& report) const override {
    runs_.front()->add_to(report);
    const bool is_random = order_ == SearchOrder::at_random;
    const std::uint64_t count = options(1, order_).runs.value();
    const auto others = static_cast<double>(candidates_.size() - 1);
    const auto mean = static_cast<double>(count);
    const std::uint64_t most = is_random ? most_runs() : 0;
    const double missed = !is_random ? 1 - mean / (others + 1)
                          : most > 0 ? missed_by(Runs::capped_geometric(mean, Count{most}), others + 1)
                                     : others / (others + mean);
    const auto runs = !is_random ? std::to_string(count)
                      : most > 0 ? fmt::format("a secret number of runs, {} expected and at most {},", count, most)
                                 : fmt::format("a secret number of runs, {} expected,", count);
    report.extent = runs_[chosen_]->extent();
    report.lines.emplace_back(
        "tuned",
        fmt::format(
            "{}: the best by a noisy score on the held-out part of {} of {} candidates, each of which is missed with probability {:.2f}",
            candidates_[chosen_].text, runs, candidates_.size(), missed));
    if (answer_) report.lines.emplace_back("answered", fmt::format("at {}, which was said before", text_of(answer_->at())));
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
                               {"runs", !is_random ? "each"
                                        : most > 0 ? "capped_geometric_runs"
                                                   : "geometric_runs"},
                               {is_random ? "expected_runs" : "count", count},
                               {"missed", missed},
                               {"noise_factor", noise_factor_},
                               {"epsilon_of_one_run", cost_of_one_}};
    if (most > 0) report.fields["tuning"]["most_runs"] = most;
    if (answer_) report.fields["tuning"]["answered_at"] = text_of(answer_->at());
    if (!report.scores.empty())
      report.scores += "candidates were chosen on this part: as scores of the model these are slightly too good\n";
  }

 private:
  /// Trains a candidate and scores it.
  [[nodiscard]] ScoredModel run_once(std::size_t candidate, const data::Split& on, double noise, mechanisms::BitsRef bits,
                                     ReleaserRef training, ReleaserRef scoring) const {
    const CandidateRun& one = *runs_[candidate];
    const TunableTraining& tunable = one.tunable();
    auto weights = one.learn(on.training, noise_of(tunable, NoiseMultiplier{noise}), TrainingDoors{team_, training, bits});
    const double score = released_score(on.held_out, bounded_loss(tunable.objective, shared_.label_bound.value_or(1)), weights,
                                        NoiseMultiplier{noise}, shared_.run.target().adjacency, scoring);
    return {.weights = std::move(weights), .score = score};
  }
  /// Runs every candidate once on made-up records, with noise and bits of its own, and asks whether as many runs as there may be fit.
  /// \throws Error{invalid_argument} where they do not.
  void rehearse(const data::FeatureMap& features, double noise) const {
    const double label = shared_.label_bound.value_or(1);
    const data::Split made{.training = made_up(parts().training.size(), features, label),
                           .held_out = made_up(parts().held_out.size(), features, label)};
    const std::uint64_t runs = order_ == SearchOrder::each ? options(noise, order_).runs.value() : most_runs();
    mechanisms::SystemBits bits;
    std::chrono::milliseconds longest{0};
    for (std::size_t candidate = 0; candidate < candidates_.size(); ++candidate) {
      const auto adjacency = shared_.run.target().adjacency;
      RunReleaser training{NoiseMultiplier{noise}, adjacency, bits};
      RunReleaser scoring{NoiseMultiplier{noise}, adjacency, bits};
      const auto from = wall_clock_now();
      static_cast<void>(run_once(candidate, made, noise, bits, training, scoring));
      constexpr std::chrono::milliseconds tick{1};
      longest = std::max(longest, wall_clock_now() - from + tick);
      answer_->require_room(runs, longest);
    }
  }
  /// Of a random number of runs; 0 where there is no cap.
  [[nodiscard]] std::uint64_t most_runs() const {
    constexpr std::uint64_t usual = 5;
    return shared_.tune_most.value_or(shared_.answer_at ? usual * *shared_.tune : 0);
  }
  [[nodiscard]] SearchOptions options(double noise, SearchOrder order) const {
    const std::uint64_t all = candidates_.size();
    return {.noise_multiplier = NoiseMultiplier{noise},
            .adjacency = shared_.run.target().adjacency,
            .order = order,
            .runs = Count{order == SearchOrder::each ? std::min(all, *shared_.tune) : *shared_.tune},
            .candidates = Count{all},
            .most_runs = order == SearchOrder::at_random && most_runs() > 0 ? std::optional{Count{most_runs()}} : std::nullopt};
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
  std::optional<AnswerTime> answer_;
  SearchOrder order_ = SearchOrder::at_random;
  bool is_split_for_the_budget_ = false;
  double noise_factor_ = 1;
  double cost_of_one_ = 0;
  std::size_t chosen_ = 0;
  double score_ = 0;
};

/// How long a run takes has to follow from what is public.
void require_public_shape(const TrainOptions& shared) {
  if (shared.run.target().adjacency == Adjacency::add_or_remove_one) {
    throw Error{ErrorCode::unsupported,
                "--answer-at is not for add-or-remove-one: how long a run takes shows the number of records, which is private there"};
  }
  if (shared.format != "csv") {
    throw Error{ErrorCode::unsupported,
                fmt::format("--answer-at is for --format csv: of {} files it is not public how long a run takes, or where rows lie",
                            shared.format)};
  }
}

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
    const auto values = pieces(std::string_view{text}.substr(equals + 1), ',');
    for (auto value = values.begin(); value != values.end(); ++value) {
      if (std::find(values.begin(), value, *value) != value) {
        invalid(fmt::format("--tune-over has {} of {} twice, must have each value once", one_line(*value), option.name()));
      }
    }
    for (const auto& one : all) {
      for (const auto& value : values) {
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
  if (shared.tune_most && *shared.tune_most <= *shared.tune) {
    invalid(fmt::format("--tune-most is {}, must be greater than the {} runs that --tune expects", *shared.tune_most, *shared.tune));
  }
  if (shared.tune_most && shared.tune_by == "split") invalid("--tune-most is for a random number of runs, not for --tune-by split");
  if (shared.answer_at) require_public_shape(shared);
  return std::make_unique<TunedRun>(shared, std::move(candidates), team);
}

}  // namespace surety::cli
