#include <surety/jobs/search/search_run.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <surety/accounting/answers/best.h>
#include <surety/accounting/calibration/calibrate.h>
#include <surety/accounting/events/runs_law.h>
#include <surety/data/features/features.h>
#include <surety/jobs/plans/choice_text.h>
#include <surety/mechanisms/bits/random_bits.h>
#include <surety/mechanisms/queries/record_sum.h>
#include <surety/optimizers/doors/run_releaser.h>
#include <surety/optimizers/empirical_risk/search.h>

#include <surety/jobs/algorithms/on_file.h>
#include <surety/jobs/doors/releasers.h>
#include <surety/jobs/search/answer_time.h>

namespace surety::jobs {
namespace {

using namespace optimizers;

/// The multiplier at which all of a candidate's releases together cost at most gaussian(run).
double noise_of(const TunableRun& candidate, NoiseMultiplier run) {
  const auto at_one = squared_mu(candidate.event_at(NoiseMultiplier{1}));
  if (!at_one) refuse(ErrorCode::unsupported, "{} needs a training whose releases are Gaussian", "tune"_field);
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
  TunedRun(const TrainPlan& shared, std::vector<TunedCandidate> candidates, const TrainContext& context)
      : shared_{shared}, candidates_{std::move(candidates)}, context_{context} {
    for (const auto& candidate : candidates_) {
      runs_.push_back(dynamic_cast<TunableRun*>(candidate.run.get()));
      if (runs_.back() == nullptr) refuse(ErrorCode::unsupported, "{} has no theorem for {}", "tune"_field, shared.algorithm_name());
    }
    if (shared_.search.answer_at) answer_.emplace(parse_answer_time(*shared_.search.answer_at, wall_clock_now()));
  }

  void take_records(const TrainingSource& source) override {
    for (const auto& candidate : candidates_) candidate.kept->source = source;
  }

  CalibratedNoise calibrate() override {
    const Target target = shared_.target;
    for (const auto* run : runs_) {
      if (!run->holds_out())
        refuse_plan("{} is 0, must be greater than 0 with {}, which scores candidates on that part", "held-out"_field, "tune"_field);
      static_cast<void>(noise_of(*run, NoiseMultiplier{1}));
    }
    order_ = order_for(target);
    auto found = calibrated(order_, target);
    if (shared_.search.tune_by == SearchBy::cheapest && order_ == SearchOrder::at_random && context_.budget_knows &&
        !context_.budget_knows(found.event)) {
      order_ = SearchOrder::each;
      found = calibrated(order_, target);
      is_split_for_the_budget_ = true;
    }
    const auto alone = surety::calibrate([&](NoiseMultiplier z) { return gaussian(z, target.adjacency); }, target);
    noise_factor_ = found.value.value() / alone.value.value();
    cost_of_one_ = accounting::epsilon(accounting::Best{}, gaussian(found.value, target.adjacency), target.delta).upper;
    return {.event = found.event, .epsilon = found.epsilon, .value = found.value.value()};
  }

  const data::FeatureMap& read(double noise, RunBits& bits, const RunContext& context) override {
    const auto& features = runs_.front()->read(noise, bits, context);
    if (parts().held_out.empty() && shared_.target.adjacency != Adjacency::add_or_remove_one) {
      refuse(ErrorCode::bad_data, "{}: no record is held out, must be at least one that {} scores candidates on",
             one_line(shared_.source.path), "tune"_field);
    }
    if (answer_) rehearse(features, noise);
    return features;
  }

  std::vector<double> run(double noise, accounting::Reservation* reservation, RunBits& bits) override {
    const auto run = [&](std::size_t candidate, Releaser& training, Releaser& scoring) {
      if (!answer_) return run_once(candidate, parts(), noise, bits.source(), training, scoring);
      PunctualReleaser trains{*answer_, training};
      PunctualReleaser scores{*answer_, scoring};
      return run_once(candidate, parts(), noise, bits.source(), trains, scores);
    };
    const auto make = [](NoiseMultiplier most, Adjacency adjacency, mechanisms::BitsRef its) {
      return releasers().of_run(most, adjacency, its);
    };
    auto best = search(options(noise, order_), *reservation, bits.source(), run, make);
    if (answer_) answer_->wait();
    chosen_ = best.candidate;
    score_ = best.model.score;
    return std::move(best.model.weights);
  }

  void add_to(TrainingFacts& facts, const ModelFacts& known) const override {
    runs_.front()->add_to(facts, known);
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
    facts.extent = runs_[chosen_]->extent();
    facts.lines.emplace_back(
        "tuned",
        fmt::format(
            "{}: the best by a noisy score on the held-out part of {} of {} candidates, each of which is missed with probability {:.2f}",
            candidates_[chosen_].text.printed(facts.print_name), runs, candidates_.size(), missed));
    if (answer_) facts.lines.emplace_back("answered", fmt::format("at {}, which was said before", text_of(answer_->at())));
    facts.lines.emplace_back(
        "price",
        fmt::format(
            "noise is {:.3f} times that of a run without a search; one run with this noise would cost epsilon = {:.4g}, the search costs {:.4g}",
            noise_factor_, cost_of_one_, known.noise.epsilon.upper) +
            (is_split_for_the_budget_ ? "; the ledger's budget holds no random number of runs" : ""));
    std::vector<std::string> texts;
    for (const auto& candidate : candidates_) texts.push_back(candidate.text.plain());
    facts.fields["tuning"] = {{"candidates", texts},
                              {"chosen", candidates_[chosen_].text.plain()},
                              {"score", score_},
                              {"runs", !is_random ? "each"
                                       : most > 0 ? "capped_geometric_runs"
                                                  : "geometric_runs"},
                              {is_random ? "expected_runs" : "count", count},
                              {"missed", missed},
                              {"noise_factor", noise_factor_},
                              {"epsilon_of_one_run", cost_of_one_}};
    if (most > 0) facts.fields["tuning"]["most_runs"] = most;
    if (answer_) facts.fields["tuning"]["answered_at"] = text_of(answer_->at());
    if (facts.held_out) facts.held_out->chose_among_candidates = true;
  }

 private:
  /// Trains a candidate and scores it.
  [[nodiscard]] ScoredModel run_once(std::size_t candidate, const data::Split& on, double noise, mechanisms::BitsRef bits,
                                     Releaser& training, Releaser& scoring) const {
    TunableRun& one = *runs_[candidate];
    auto weights = one.learn(data::Dataset{on.training}, {}, noise_of(one, NoiseMultiplier{noise}), {context_.team, training, bits});
    const double score = released_score(on.held_out, bounded_loss(one.objective(), label_unit(shared_)), weights, NoiseMultiplier{noise},
                                        shared_.target.adjacency, scoring);
    return {.weights = std::move(weights), .score = score};
  }
  /// Runs every candidate once on made-up records, with noise and bits of its own, and asks whether as many runs as there may be fit.
  /// \throws Error{invalid_argument} where they do not.
  void rehearse(const data::FeatureMap& features, double noise) const {
    const double label = label_unit(shared_);
    const data::Split made{.training = made_up(parts().training.size(), features, label),
                           .held_out = made_up(parts().held_out.size(), features, label)};
    const std::uint64_t runs = order_ == SearchOrder::each ? options(noise, order_).runs.value() : most_runs();
    mechanisms::SystemBits bits;
    std::chrono::milliseconds longest{0};
    for (std::size_t candidate = 0; candidate < candidates_.size(); ++candidate) {
      const auto adjacency = shared_.target.adjacency;
      const auto training = releasers().of_run(NoiseMultiplier{noise}, adjacency, bits);
      const auto scoring = releasers().of_run(NoiseMultiplier{noise}, adjacency, bits);
      const auto from = wall_clock_now();
      static_cast<void>(run_once(candidate, made, noise, bits, *training, *scoring));
      constexpr std::chrono::milliseconds tick{1};
      longest = std::max(longest, wall_clock_now() - from + tick);
      answer_->require_room(runs, longest);
    }
  }
  /// Of a random number of runs; 0 where there is no cap.
  [[nodiscard]] std::uint64_t most_runs() const {
    constexpr std::uint64_t usual = 5;
    return shared_.search.tune_most.value_or(shared_.search.answer_at ? usual * *shared_.search.tune : 0);
  }
  [[nodiscard]] SearchOptions options(double noise, SearchOrder order) const {
    const std::uint64_t all = candidates_.size();
    return {.noise_multiplier = NoiseMultiplier{noise},
            .adjacency = shared_.target.adjacency,
            .order = order,
            .runs = Count{order == SearchOrder::each ? std::min(all, *shared_.search.tune) : *shared_.search.tune},
            .candidates = Count{all},
            .most_runs = order == SearchOrder::at_random && most_runs() > 0 ? std::optional{Count{most_runs()}} : std::nullopt};
  }
  [[nodiscard]] Calibration calibrated(SearchOrder order, const Target& target) const {
    return surety::calibrate([&](NoiseMultiplier z) { return plan(options(z.value(), order)); }, target);
  }
  /// What was asked for, or what needs less noise.
  [[nodiscard]] SearchOrder order_for(const Target& target) const {
    if (shared_.search.tune_by == SearchBy::random) return SearchOrder::at_random;
    if (shared_.search.tune_by == SearchBy::split) return SearchOrder::each;
    // Less noise than that of the other is enough where that noise is, and only there.
    const double noise = calibrated(SearchOrder::each, target).value.value();
    const auto cost = accounting::delta(accounting::Best{}, plan(options(noise, SearchOrder::at_random)), target.epsilon);
    return cost.upper <= target.delta.value() ? SearchOrder::at_random : SearchOrder::each;
  }
  [[nodiscard]] const data::Split& parts() const { return runs_.front()->parts(); }

  const TrainPlan& shared_;
  std::vector<TunedCandidate> candidates_;
  std::vector<TunableRun*> runs_;
  TrainContext context_;
  std::optional<AnswerTime> answer_;
  SearchOrder order_ = SearchOrder::at_random;
  bool is_split_for_the_budget_ = false;
  double noise_factor_ = 1;
  double cost_of_one_ = 0;
  std::size_t chosen_ = 0;
  double score_ = 0;
};

/// How long a run takes has to follow from what is public.
void require_public_shape(const TrainPlan& shared) {
  if (shared.target.adjacency == Adjacency::add_or_remove_one) {
    refuse(ErrorCode::unsupported,
           "{} is not for add-or-remove-one: how long a run takes shows the number of records, which is private there", "answer-at"_field);
  }
  if (shared.source.rows) {
    refuse(ErrorCode::unsupported, "{} is for files: how long another program takes for its rows is not known to be public",
           "answer-at"_field);
  }
  if (!std::holds_alternative<data::CsvOptions>(shared.source.inputs)) {
    refuse(ErrorCode::unsupported, "{} is for {} csv: of {} files it is not public how long a run takes, or where rows lie",
           "answer-at"_field, "format"_field, std::holds_alternative<data::SparseFeatures>(shared.source.inputs) ? "libsvm" : "records");
  }
}

}  // namespace

std::unique_ptr<TrainingRun> tuned(const TrainPlan& shared, std::vector<TunedCandidate> candidates, const TrainContext& context) {
  if (context.team.size() > 1) refuse(ErrorCode::unsupported, "{} is for one process, several were started by mpirun", "tune"_field);
  if (shared.has_unit())
    refuse(ErrorCode::unsupported, "{} is not for {}: a score is a sum over rows, of which a unit has several", "unit"_field, "tune"_field);
  if (!shared.problem.classes.empty())
    refuse(ErrorCode::unsupported, "{} is for one model, {} makes one for each class", "tune"_field, "classes"_field);
  const auto said = [](const auto& own) -> std::optional<Score> {
    if constexpr (requires { own.score; }) return own.score;
    return std::nullopt;
  };
  if (const auto score = std::visit(said, shared.algorithm); score && *score != Score::none)
    refuse_plan("{} is {}, must not be said with {}, which scores its candidates itself", "score"_field, *score, "tune"_field);
  const auto counts = [](const auto& own) {
    if constexpr (requires { own.count_records; }) return own.count_records;
    return false;
  };
  if (std::visit(counts, shared.algorithm))
    refuse_plan("{} is not for {}, whose runs cost what one of its candidates does", "count-records"_field, "tune"_field);
  if (shared.search.tune_most && *shared.search.tune_most <= *shared.search.tune) {
    refuse_plan("{} is {}, must be greater than the {} runs that {} expects", "tune-most"_field, *shared.search.tune_most,
                *shared.search.tune, "tune"_field);
  }
  if (shared.search.tune_most && shared.search.tune_by == SearchBy::split)
    refuse_plan("{} is for a random number of runs, not for {} split", "tune-most"_field, "tune-by"_field);
  if (shared.search.answer_at) require_public_shape(shared);
  return std::make_unique<TunedRun>(shared, std::move(candidates), context);
}

}  // namespace surety::jobs
