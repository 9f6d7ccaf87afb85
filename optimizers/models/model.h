// A trained model as a file: everything that is needed to predict, and what the training guarantees.
//
//   {"surety_model": 1, "loss": "logistic", "label": "mdvis>0", "features": {...}, "weights": [...],
//    "guarantee": {"private": true, "epsilon": 1, "delta": 1e-05, "adjacency": "replace-one", "event": "repeat(100, gaussian(37.3))"}}
//
// Reading is strict: unknown versions and unknown, missing or duplicate fields are refused. Weights survive bit for bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <surety/accounting/events/event.h>
#include <surety/accounting/events/unit.h>
#include <surety/accounting/events/units.h>
#include <surety/base/system/new_file.h>
#include <surety/data/features/features.h>
#include <surety/data/reading/data_policy.h>
#include <surety/optimizers/problem/classes.h>
#include <surety/optimizers/problem/dataset.h>

namespace surety::optimizers {

/// What the training promises to the people in the data.
struct Guarantee {
  Target target;             ///< (epsilon, delta) and adjacency
  Event event;               ///< what was released, under the same adjacency
  bool not_private = false;  ///< the noise was a replay with a known seed: nothing is promised
  UnitOfPrivacy unit = {};   ///< to whom; in the file where it is not one row, with its rule from version 6 on
};

struct Model {
  std::string loss;                      ///< O::name of the objective
  std::optional<data::LabelRule> label;  ///< nothing where the file format has its own labels (LIBSVM)
  double label_centre = 0;  ///< of squared loss: what predictions add to the score; in the file where it is not 0, from version 7 on
  std::optional<data::WeightRule> record_weights =
      {};  ///< of the records that it was trained on; in the file where there are some, from version 11 on
  data::FeatureMap features;
  std::vector<double> weights;  ///< features.features() of them, for each class of the label where it has several
  /// Of squared loss: the standard errors of what its additive terms and pairs add, in the order of `value_functions`; none where the training knows none, in
  /// the file from version 10 on.
  std::vector<double> standard_errors = {};
  ClassesBy classes_by = ClassesBy::one_against_the_rest;  ///< of several classes; in the file where it is softmax, from version 8 on
  Guarantee guarantee;

  /// \throws Error{invalid_argument} unless the loss is known, the label's centre is finite, and 0 but for squared loss, the weights are finite and as
  ///         many as the features, standard errors are finite, not negative, as many as the values of additive terms and of squared loss, `classes_by` is softmax of several classes alone, the feature map is valid, and target and event have one adjacency.
  void validate() const;

  /// How many classes its label has; 1 where one model says +1 or -1, or a number.
  [[nodiscard]] std::size_t classes() const noexcept { return label && !label->classes.empty() ? label->classes.size() : 1; }
};

/// The JSON text, with a line feed at its end. \throws Error{invalid_argument} when the model is not valid.
[[nodiscard]] std::string write_model(const Model& model);
/// The inverse. \throws Error{bad_data} with `name` for everything that is not a valid model.
[[nodiscard]] Model parse_model(std::string_view text, std::string_view name);
/// \throws Error{bad_data} as `parse_model`, when the file cannot be read, or when its text is longer than `most_bytes`.
[[nodiscard]] Model read_model(const std::filesystem::path& path, std::size_t most_bytes = data::DataLimits{}.model_bytes);

/// The score <w, x> of every record, of several classes K of them for each. \throws Error{invalid_argument} when the data have another number of
/// features.
[[nodiscard]] std::vector<double> scores(const Model& model, const Dataset& data);
/// The K scores of one row. \pre as many features
[[nodiscard]] std::vector<double> scores(const Model& model, const data::RowView& row);
/// The class of the largest score, the first of equal ones. \pre scores.size() == model.classes() > 1
[[nodiscard]] const std::string& predicted_class(const Model& model, std::span<const double> scores);

/// What the model says about a record with this score: the probability of +1 for the logistic loss, the score and the label's centre for the squared
/// loss, and for the hinge losses the score, whose sign is the class.
[[nodiscard]] double predict(const Model& model, double score);
/// Whether scores tell classes: not those of the squared loss.
[[nodiscard]] bool tells_classes(const Model& model) noexcept;
/// Which class: what the label says, "class==yes", where the score is at least 0, as where accuracies are computed, and the opposite,
/// "class!=yes", where it is less; "1" and "-1" where the label compares nothing.
/// \throws Error{invalid_argument} for the squared loss, which has no classes.
[[nodiscard]] std::string predicted_class(const Model& model, double score);
/// The classes that a model tells: those of its label, or, of one score, the class below 0 and the other.
/// \throws Error{invalid_argument} for the squared loss, which has no classes.
[[nodiscard]] std::vector<std::string> class_names(const Model& model);
/// The place of the predicted class among them. \pre scores.size() == model.classes(), and the model tells classes
[[nodiscard]] std::size_t predicted_place(const Model& model, std::span<const double> scores);
/// `predict` of the scores of every record. \pre model.classes() == 1
[[nodiscard]] std::vector<double> predict(const Model& model, const Dataset& data);

/// A model as a file.
inline constexpr FileKind model_file{"a model", "{\"surety_model\":"};

/// A model file in the making. Its space on the disk is taken before the training, so that a full disk, a missing folder or a
/// missing permission is known before any budget is spent; it replaces what was at `path` in one step, or not at all: another model, an empty
/// file, or what `overwrite` says, and never an SQLite database. Where `path` is a link, what it leads to is replaced and the link stays.
class ModelFile {
 public:
  /// Takes space for a model with `features` in the folder of `path`.
  /// \throws Error{environment} when that fails; Error{invalid_argument} when `path` is empty or something that may not be replaced, or when
  ///         the names in `features` and `label` cannot be written (`require_writable_names`).
  ModelFile(const std::filesystem::path& path, const data::FeatureMap& features, const std::optional<data::LabelRule>& label = std::nullopt,
            Overwrite overwrite = Overwrite::own_kind_alone);

  /// The bytes on the disk that were taken.
  [[nodiscard]] std::uint64_t space() const noexcept { return file_.space(); }

  /// Writes the model; durable, and at `path`, on return. Once. With `time` the file says that it was last changed then: that of the run's
  /// reservation, so that nothing tells how long the run took. \throws Error{environment}; Error{invalid_argument} as `write_model`, and when
  /// what may not be replaced has come to `path` meanwhile.
  void commit(const Model& model, std::optional<std::time_t> time = std::nullopt);

 private:
  NewFile file_;
  Overwrite overwrite_;
  bool is_written_ = false;
};

/// \throws Error{invalid_argument} naming a column, category or label that is not UTF-8, the only text that JSON has.
void require_writable_names(const data::FeatureMap& features, const std::optional<data::LabelRule>& label);

}  // namespace surety::optimizers
