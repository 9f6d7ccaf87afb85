#include <surety/jobs/algorithms/on_file.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <variant>

#include <surety/data/features/private_ranges.h>
#include <surety/optimizers/problem/unit_rows.h>

namespace surety::jobs {
namespace {

using namespace optimizers;
using namespace data;

nlohmann::json number_or_null(double value) { return std::isnan(value) ? nlohmann::json{} : nlohmann::json(value); }

/// Scores on the held-out part but its damaged records: {"log_loss": {"model": ..., "constant": ...}, ...}; empty when nothing is held out.
nlohmann::json held_out_scores(const Model& model, const Dataset& held_out) {
  const auto of_all = scores(model, held_out);
  std::vector<double> values;
  std::vector<double> labels;
  for (std::size_t i = 0; i < held_out.size(); ++i) {
    if (!(held_out.norm(i) > 0)) continue;  // every row but those of damaged records has the constant in it
    for (std::size_t k = 0; k < model.classes(); ++k) values.push_back(of_all[i * model.classes() + k]);
    labels.push_back(held_out.label(i));
  }
  if (labels.empty()) return nlohmann::json::object();
  if (const std::size_t classes = model.classes(); classes > 1) {
    const auto found = class_scores(values, labels, classes, model.classes_by);
    const auto constant = constant_class_scores(labels, classes);
    return {{"log_loss", {{"model", found.log_loss}, {"constant", constant.log_loss}}},
            {"accuracy", {{"model", found.accuracy}, {"constant", constant.accuracy}}}};
  }
  if (model.loss == SquaredLoss::name) {
    return {{"mean_squared_error", {{"model", mean_squared_error(values, labels)}, {"constant", constant_mean_squared_error(labels)}}}};
  }
  const auto found = binary_scores(values, labels);
  const auto constant = constant_scores(labels);
  nlohmann::json json{
      {"area_under_the_curve",
       {{"model", number_or_null(found.area_under_the_curve)}, {"constant", number_or_null(constant.area_under_the_curve)}}},
      {"accuracy", {{"model", found.accuracy}, {"constant", constant.accuracy}}}};
  // Only scores of the logistic loss are log-odds.
  if (model.loss == LogisticLoss::name) json["log_loss"] = {{"model", found.log_loss}, {"constant", constant.log_loss}};
  return json;
}

/// About how many of `all` a split by what they are trains on: at least 1.
Count expected_part(Count all, const SplitOptions& how) {
  return Count{
      std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::round((1 - how.held_out_fraction) * static_cast<double>(all.value()))))};
}

/// By which ranks see that they have read the same records: FNV-1a over all numbers. Chance alone is to be found.
std::uint64_t fingerprint(const Dataset& data) {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](std::uint64_t word) { hash = (hash ^ word) * 0x100000001b3; };
  if (data.file() != nullptr) add(data.file()->checksum());
  for (std::size_t i = 0; data.file() == nullptr && i < data.size(); ++i) {
    const RowView row = data.row(i);
    for (const auto index : row.indices) add(index);
    for (const double value : row.values) add(std::bit_cast<std::uint64_t>(value));
    if (data.has_labels()) add(std::bit_cast<std::uint64_t>(data.label(i)));
    if (data.has_weights()) add(std::bit_cast<std::uint64_t>(data.weight(i)));
  }
  return hash;
}

/// Every row its last feature, which is the constant, alone.
Dataset intercepts_of(const Dataset& data, std::size_t features) {
  std::vector<std::size_t> ends;
  std::vector<std::uint32_t> indices;
  std::vector<double> values;
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (data.norm(i) > 0) {
      indices.push_back(static_cast<std::uint32_t>(features - 1));
      values.push_back(1);
    }
    ends.push_back(values.size());
  }
  std::vector<double> weights;
  for (std::size_t i = 0; data.has_weights() && i < data.size(); ++i) weights.push_back(data.weight(i));
  auto result =
      Dataset::sparse(features, std::move(ends), std::move(indices), std::move(values), {data.labels().begin(), data.labels().end()});
  return data.has_weights() ? result.with_weights(std::move(weights)) : result;
}

FileNeeds with_number_of_count(FileNeeds needs) {
  if (!needs.count.public_records) needs.count.public_records = needs.public_count;
  return needs;
}

void keep_range(Dataset& data, std::size_t first, std::size_t end) {
  std::vector<std::size_t> places(end - first);
  std::iota(places.begin(), places.end(), first);
  data.keep(places);
}

}  // namespace

bool is_pure(const TrainPlan& plan) { return plan.target.delta.value() == 0 && !plan.search.tune; }

FileRun::FileRun(const SplitPlan& own, const TrainPlan& shared, FileNeeds needs, Team* team)
    : plan_{shared},
      how_{split_options(own, shared)},
      needs_{with_number_of_count(std::move(needs))},
      count_{own, shared, needs_.count},
      ranges_{shared, needs_.sees_the_intercept_alone},
      score_{own, shared},
      team_{team} {
  if (!is_count_public() && !needs_.public_count && !needs_.needs_no_count) {
    refuse_plan("{} is missing: under add-or-remove-one the number of records is private, and a public one must divide the sum",
                "public-count"_field);
  }
  if (ranges_.are_released() && !is_count_public() && !needs_.public_count) {
    refuse(ErrorCode::unsupported,
           "{} releases no ranges of columns under add-or-remove-one: its plan has no public number of records; give {}",
           shared.algorithm_name(), "bounds"_field);
  }
  if (!is_shared()) return;
  if (shared.has_unit()) {
    refuse(ErrorCode::unsupported, "{} is for one process: which rows of a unit are used is chosen among those of all ranks", "unit"_field);
  }
  if (shared.source.path == TextReader::standard_input)
    refuse_plan("the data file is -, must be a file that each of several ranks can read");
  if (!shared.source.paths_of_ranks.empty() && holds_out()) {
    refuse_plan("{} is {}, must be 0 where each rank has a file of its own", "held-out"_field, how_.held_out_fraction);
  }
}

const FeatureMap& FileRun::read(double /*noise*/, RunBits& bits, const RunContext& context) {
  read_parts(bits, context);
  ranges_.require_columns(found_->features);
  trained_on_ = parts_->training.size();
  if (needs_.sees_the_intercept_alone) {
    found_->features.unit_norm = false;
    found_->features.row_scale = 1;
    found_->features = without_private_ranges(std::move(found_->features));
    for (Dataset* part : {&parts_->training, &parts_->held_out}) *part = intercepts_of(*part, found_->features.features());
  }
  return found_->features;
}

std::string FileRun::identity(double noise) const {
  if (!is_shared()) return {};
  return nlohmann::json{{"features", to_json(found_->features)}, {"counts", counts_}, {"fingerprint", fingerprint_}, {"noise", noise}}
      .dump();
}

TrainingUnits FileRun::units() const {
  TrainingUnits units{.ends = unit_ends_};
  if (plan_.has_unit() && is_count_public()) units.count = expected_part(Count{units_}, how_);
  if (is_shared() && is_count_public()) units.count = Count{training_records()};
  return units;
}

void FileRun::add_to(TrainingFacts& facts, const ModelFacts& known) const {
  const auto& label = known.model.label;
  const auto scores = held_out_scores(known.model, parts_->held_out);
  facts.extent = needs_.extent;
  facts.damaged = damaged_;
  facts.fields = {{"sigma", known.noise.sigma ? nlohmann::json(*known.noise.sigma) : nlohmann::json{}},
                  {"held_out_scores_not_private", scores}};
  if (is_pure(plan_)) {
    facts.lines.emplace_back("noise", fmt::format("of density exp(-||x|| / b), b = {:.6g} sensitivities of a {}", known.noise.value,
                                                  needs_.sees_the_intercept_alone ? "sum" : "gradient"));
    facts.fields["noise_multiplier"] = nullptr;
    facts.fields["noise_scale"] = known.noise.value;
  }
  if (known.model.classes() > 1) {
    std::string names;
    for (const auto& one : label->classes) names += (names.empty() ? "" : ", ") + one_line(one);
    facts.lines.emplace_back("classes",
                             names + (known.model.classes_by == ClassesBy::softmax ? ", by softmax" : ", each against the rest"));
    facts.fields["classes"] = label->classes;
    facts.fields["classes_by"] = name(known.model.classes_by);
  }
  ranges_.add_to(facts);
  count_.add_to(facts);
  score_.add_to(facts);
  const bool are_units = plan_.has_unit();
  if (are_units) facts.fields[is_count_public() ? "units" : "units_not_private"] = units_;
  const std::string suffix = is_count_public() && !are_units ? "" : "_not_private";
  if (is_shared()) {
    facts.lines.emplace_back("processes", std::to_string(team_->size()));
    facts.fields["processes"] = team_->size();
  }
  facts.fields["training_records" + suffix] = training_records();
  facts.fields["held_out_records" + suffix] = parts_->held_out.size();
  // Whether a private number of records left any for scores is as private as the scores.
  const bool is_nothing = how_.held_out_fraction == 0 || (is_count_public() && !are_units && parts_->held_out.empty());
  facts.held_out = {.scores = scores, .records = parts_->held_out.size(), .is_nothing = is_nothing};
  tell(facts, known.model);
}

std::optional<std::uint64_t> FileRun::known_count() const {
  if (const auto known = units().count) return known->value();
  return is_count_public() ? std::optional{training_records()} : needs_.public_count;
}

Event FileRun::with_what_is_beside(const Event& training) const {
  const auto score = score_.paid_noise(scored_training(training));
  return ranges_.with_ranges(count_.with_count(score ? compose({gaussian(*score, training.adjacency()), training}) : training));
}

void FileRun::require_no_ranges() const {
  if (!ranges_.are_released()) return;
  refuse(ErrorCode::unsupported, "{} releases no ranges of columns as it is planned; give {}", plan_.algorithm_name(), "bounds"_field);
}

void FileRun::release_ranges(const TrainingDoors& at) {
  if (!ranges_.are_released()) return;
  const FeatureMap planned = found_->features;
  std::span<const Bounds> ranges;
  const auto count = static_cast<double>(known_count().value());
  static_cast<void>(at.learn([&](Releaser& releaser) {
    ranges = ranges_.release(parts_->training, planned, count, releaser);
    return std::vector<double>{};
  }));
  for (Dataset* part : {&parts_->training, &parts_->held_out}) *part = rows_with_ranges(*part, planned, ranges);
  found_->features = data::with_ranges(planned, ranges);
}

std::uint64_t FileRun::counted_of() const { return is_count_public() ? known_count().value() : needs_.count.public_records.value(); }

std::vector<double> FileRun::scored(std::vector<double> weights, accounting::Reservation* reservation, mechanisms::BitsRef bits) {
  if (reservation == nullptr) return weights;
  score_.release(scored_training(reservation->plan().event), parts_->held_out, held_out_ends_, weights, *reservation, bits);
  return weights;
}

std::uint64_t FileRun::training_records() const {
  return is_shared() ? std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0}) : trained_on_;
}

void FileRun::find(const KeptUnits* units) {
  found_.emplace(jobs::read(plan_, needs_.objective, units, needs_.keep));
  damaged_ = found_->damaged;
}

void FileRun::read_parts(RunBits& bits, const RunContext& context) {
  if (is_shared()) {
    if (plan_.source.rows) plan_.source.rows->refuse("must be a file that each of several ranks can read");
    read_share();
    return;
  }
  if (plan_.has_unit()) {
    const UnitSelectionOptions selection{.memory = context.memory, .lists_units = true, .public_seed = how_.seed};
    if (const auto& rows = plan_.source.rows) {
      auto which = units_of_stream(plan_.unit, plan_.source.policy(), bits.source());
      which.options = selection;
      rows->units = GivenRows::Units{.which = std::move(which)};
      find(nullptr);
      split_kept(*rows->units->kept);
      return;
    }
    const auto units = keep_units(plan_.source.path, plan_.unit, plan_.source.policy(), bits.source(), selection);
    find(&units);
    split_kept(*units.rows);
    return;
  }
  find(nullptr);
  // Under add-or-remove-one the number of records is private, and what was said of it is a guess.
  if (needs_.records && is_count_public()) require_said_records(plan_, found_->data.size(), *needs_.records);
  parts_.emplace(split(std::move(found_->data), how_));
  if (parts_->training.empty() && is_count_public()) {
    throw Error{ErrorCode::bad_data, fmt::format("{}: no record is left to train on, must have at least one", one_line(plan_.source.path))};
  }
  check_parts();
}

/// A file of this rank's own whole, or of one file this rank's share of the records that are trained on. Held out records are the first
/// rank's.
void FileRun::read_share() {
  find(nullptr);
  std::uint64_t records = found_->data.size();
  if (plan_.source.paths_of_ranks.empty()) {
    fingerprint_ = fingerprint(found_->data);
    parts_.emplace(split(std::move(found_->data), how_));
    const std::size_t size = parts_->training.size();
    const auto first_of = [&](std::size_t rank) { return size / team_->size() * rank + std::min(rank, size % team_->size()); };
    for (std::size_t rank = 0; rank < team_->size(); ++rank) counts_.push_back(first_of(rank + 1) - first_of(rank));
    keep_range(parts_->training, first_of(team_->rank()), first_of(team_->rank() + 1));
    if (!team_->is_first()) parts_->held_out = parts_->held_out.subset({});
  } else {
    counts_ = counts_of_ranks(*team_, records);
    const auto damaged = counts_of_ranks(*team_, found_->damaged);
    records = training_records();
    damaged_ = std::accumulate(damaged.begin(), damaged.end(), std::uint64_t{0});
    Dataset nothing = found_->data.subset({});
    parts_.emplace(Split{.training = std::move(found_->data), .held_out = std::move(nothing)});
  }
  if (needs_.records && is_count_public()) require_said_records(plan_, static_cast<std::size_t>(records), *needs_.records);
  if (training_records() == 0 && is_count_public()) require_records(plan_, 0);
  check_parts();
}

void FileRun::split_kept(const KeptRows& kept) {
  units_ = kept.units;
  if (needs_.records && is_count_public() && units_ != *needs_.records) {
    refuse(ErrorCode::bad_data, "{}: has {} units, must have the {} of {}", one_line(plan_.source.path), units_, *needs_.records,
           "records"_field);
  }
  auto [parts, ends, held_out_ends] = split_units(found_->data, kept, how_.held_out_fraction);
  parts_.emplace(std::move(parts));
  unit_ends_ = std::move(ends);
  held_out_ends_ = std::move(held_out_ends);
  check_parts();
}

void add_split(FieldTable& table, SplitPlan& own, TrainPlan& shared) {
  table.group("Data");
  table.add(
      "held-out", own.held_out,
      "The share of records kept for scores, by a public pseudo-random split; under add-or-remove-one equal records stay together, so scores are then of another mix of classes",
      AnyNumber{});
  table.add("split-seed", own.split_seed, "The seed of that split", WholeNumber{});
  table
      .add(
          "score", own.score,
          "What is released of how the model does on that part, in the charge of the training: brier, log-loss of probabilities of at least 0.01, error-rate, squared-error, none")
      .standard("brier; of squared loss squared-error, of hinge losses error-rate");
  add_form(table, shared.source.form_is_public);
  add_count(table, own);
}

void add_timeout(FieldTable& table, SplitPlan& own) {
  table.group("Several machines");
  table.add("timeout", own.timeout, "Seconds that a rank of an mpirun waits for the others", AnyNumber{}).standard("30");
  table.group("Problem and algorithm");
}

SplitOptions split_options(const SplitPlan& own, const TrainPlan& shared) {
  if (!(own.held_out >= 0 && own.held_out < 1)) refuse_plan("{} is {}, must be at least 0 and less than 1", "held-out"_field, own.held_out);
  return {.adjacency = shared.target.adjacency, .held_out_fraction = own.held_out, .seed = own.split_seed};
}

Count training_count(const SplitPlan& own, const TrainPlan& shared, const std::optional<std::uint64_t>& said) {
  if (!said) {
    refuse_plan("{} is missing: {} needs the public number of {} in the file", "records"_field, shared.algorithm_name(),
                shared.has_unit() ? "units" : "records");
  }
  const SplitOptions how = split_options(own, shared);
  const Count records{*said};
  if (how.adjacency == Adjacency::add_or_remove_one || shared.has_unit()) return expected_part(records, how);
  const std::size_t count = training_records(static_cast<std::size_t>(records.value()), how);
  if (count == 0) refuse_plan("{} is {}, must leave at least one to train on", "records"_field, records.value());
  return Count{count};
}

}  // namespace surety::jobs
