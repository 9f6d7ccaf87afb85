#include "on_file.h"

#include <algorithm>
#include <cmath>

#include "../validators.h"
#include "report.h"

namespace surety::cli {
namespace {

using namespace optimizers;
using namespace data;

nlohmann::json number_or_null(double value) { return std::isnan(value) ? nlohmann::json{} : nlohmann::json(value); }

/// Every row but those of damaged records has the constant in it.
Dataset without_records_of_zeros(const Dataset& data) {
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (data.row(i).norm > 0) kept.push_back(i);
  }
  return data.subset(kept);
}

/// Scores on the held-out part but its damaged records: {"log_loss": {"model": ..., "constant": ...}, ...}; empty when nothing is held out.
nlohmann::json held_out_scores(const Model& model, const Dataset& all_held_out) {
  const Dataset held_out = without_records_of_zeros(all_held_out);
  if (held_out.empty()) return nlohmann::json::object();
  const auto values = scores(model, held_out);
  if (model.loss == SquaredLoss::name) {
    return {{"mean_squared_error",
             {{"model", mean_squared_error(values, held_out.labels())}, {"constant", constant_mean_squared_error(held_out.labels())}}}};
  }
  const auto found = binary_scores(values, held_out.labels());
  const auto constant = constant_scores(held_out.labels());
  nlohmann::json json{
      {"area_under_the_curve",
       {{"model", number_or_null(found.area_under_the_curve)}, {"constant", number_or_null(constant.area_under_the_curve)}}},
      {"accuracy", {{"model", found.accuracy}, {"constant", constant.accuracy}}}};
  // Only scores of the logistic loss are log-odds.
  if (model.loss == LogisticLoss::name) json["log_loss"] = {{"model", found.log_loss}, {"constant", constant.log_loss}};
  return json;
}

/// For people.
std::string table_of(const nlohmann::json& scores, std::size_t records) {
  std::string text =
      fmt::format("\nscores on {} held-out records (computed on private data, so not private themselves: do not publish them)\n", records);
  text += fmt::format("{:<24} {:>10} {:>22}\n", "", "model", "constant prediction");
  for (const auto& [score, values] : scores.items()) {
    const auto shown = [](const nlohmann::json& value) {
      return value.is_null() ? std::string{"one class"} : fmt::format("{:.4f}", value.get<double>());
    };
    std::string title = score;
    for (auto& c : title) c = c == '_' ? ' ' : c;
    text += fmt::format("{:<24} {:>10} {:>22}\n", title, shown(values["model"]), shown(values["constant"]));
  }
  return text;
}

/// About how many of `all` a split by what they are trains on: at least 1.
Count expected_part(Count all, const SplitOptions& how) {
  return Count{
      std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::round((1 - how.held_out_fraction) * static_cast<double>(all.value()))))};
}

class FileRun final : public TrainingRun {
 public:
  FileRun(const TrainOptions& options, const SplitOptions& how, FileTraining training)
      : options_{options}, how_{how}, training_{std::move(training)} {}

  CalibratedNoise calibrate() override { return training_.calibrate(); }

  const FeatureMap& read(double /*noise*/, RunBits& bits) override {
    const auto units =
        read_units(options_.data, options_.run, options_.reading.policy(), bits, {.lists_units = true, .public_seed = how_.seed});
    if (units) return read_kept(*units);
    found_.emplace(training_.read(nullptr));
    // Under add-or-remove-one the number of records is private, and what was said of it is a guess.
    if (training_.records && is_count_public()) require_said_records(options_, found_->data.size(), *training_.records);
    parts_.emplace(split(found_->data, how_));
    if (parts_->training.empty() && is_count_public()) {
      throw Error{ErrorCode::bad_data, fmt::format("{}: no record is left to train on, must have at least one", one_line(options_.data))};
    }
    if (training_.check) training_.check(parts_->training);
    return found_->features;
  }

  std::vector<double> run(double noise, accounting::Reservation* reservation, RunBits& bits) override {
    TrainingUnits units{.ends = unit_ends_};
    if (options_.run.has_unit() && is_count_public()) units.count = expected_part(Count{units_}, how_);
    return training_.run(parts_->training, units, noise, *reservation, bits.source());
  }

  void add_to(Report& report) const override {
    const auto scores = held_out_scores(report.model, parts_->held_out);
    report.extent = training_.extent;
    report.damaged = found_->damaged;
    report.fields = {{"sigma", report.noise.sigma ? nlohmann::json(*report.noise.sigma) : nlohmann::json{}},
                     {"held_out_scores_not_private", scores}};
    const bool are_units = options_.run.has_unit();
    if (are_units) report.fields[is_count_public() ? "units" : "units_not_private"] = units_;
    const std::string label = is_count_public() && !are_units ? "" : "_not_private";
    report.fields["training_records" + label] = parts_->training.size();
    report.fields["held_out_records" + label] = parts_->held_out.size();
    // Whether a private number of records left any for scores is as private as the scores.
    const bool is_nothing = how_.held_out_fraction == 0 || (is_count_public() && !are_units && parts_->held_out.empty());
    report.scores = is_nothing ? fmt::format("{:<12} {}\n", "held out", "nothing") : table_of(scores, parts_->held_out.size());
  }

 private:
  const FeatureMap& read_kept(const UnitsRead& units) {
    found_.emplace(training_.read(&units));
    units_ = units.rows->units;
    if (training_.records && is_count_public() && units_ != *training_.records) {
      throw Error{ErrorCode::bad_data,
                  fmt::format("{}: has {} units, must have the {} of --records", one_line(options_.data), units_, *training_.records)};
    }
    auto [parts, ends] = split_units(found_->data, *units.rows, how_.held_out_fraction);
    parts_.emplace(std::move(parts));
    unit_ends_ = std::move(ends);
    return found_->features;
  }

  [[nodiscard]] bool is_count_public() const { return how_.adjacency != Adjacency::add_or_remove_one; }

  const TrainOptions& options_;
  SplitOptions how_;
  FileTraining training_;
  std::optional<ReadRecords> found_;
  std::optional<Split> parts_;
  std::vector<std::size_t> unit_ends_;
  std::uint64_t units_ = 0;  ///< as public as the adjacency says
};

}  // namespace

void FileAlgorithm::add_split(OptionTable& table, TrainOptions& shared) {
  table.group("Data");
  table.add("--held-out", held_out_,
            "The share of records kept for scores, by a public pseudo-random split; under add-or-remove-one equal records stay "
            "together, so scores are then of another mix of classes",
            number());
  table.add("--split-seed", split_seed_, "The seed of that split", whole_number());
  shared.reading.add_form_to(table);
  table.group("Problem and algorithm");
}

SplitOptions FileAlgorithm::split_options(const TrainOptions& shared) const {
  if (!(held_out_ >= 0 && held_out_ < 1)) invalid(fmt::format("--held-out is {}, must be at least 0 and less than 1", held_out_));
  return {.adjacency = shared.run.target().adjacency, .held_out_fraction = held_out_, .seed = split_seed_};
}

Count FileAlgorithm::training_count(const TrainOptions& shared, const std::optional<std::uint64_t>& said) const {
  if (!said)
    invalid(fmt::format("--records is missing: {} needs the public number of {} in the file", name(),
                        shared.run.has_unit() ? "units" : "records"));
  const SplitOptions how = split_options(shared);
  const Count records{*said};
  if (how.adjacency == Adjacency::add_or_remove_one || shared.run.has_unit()) return expected_part(records, how);
  const std::size_t count = training_records(static_cast<std::size_t>(records.value()), how);
  if (count == 0) invalid(fmt::format("--records is {}, must leave at least one to train on", records.value()));
  return Count{count};
}

std::unique_ptr<TrainingRun> FileAlgorithm::on_file(const TrainOptions& shared, FileTraining training) const {
  const SplitOptions how = split_options(shared);
  if (how.adjacency == Adjacency::add_or_remove_one && !training.public_count) {
    invalid("--public-count is missing: under add-or-remove-one the number of records is private, and a public one must divide the sum");
  }
  return std::make_unique<FileRun>(shared, how, std::move(training));
}

}  // namespace surety::cli
