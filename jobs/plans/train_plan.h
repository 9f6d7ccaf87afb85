// What a training is to be, as values. A plan holds what was asked for: its numbers are checked where it is prepared.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <surety/accounting/events/unit.h>
#include <surety/accounting/events/units.h>
#include <surety/data/arrow/arrow_stream.h>
#include <surety/data/arrow/arrow_units.h>
#include <surety/data/csv/csv.h>
#include <surety/data/features/features.h>
#include <surety/data/features/record_file.h>
#include <surety/data/features/sparse_matrix.h>
#include <surety/data/reading/data_policy.h>
#include <surety/data/units/unit_selection.h>
#include <surety/jobs/plans/choices.h>
#include <surety/jobs/plans/field_names.h>

namespace surety::mechanisms {
enum class Factorization;
}

namespace surety::jobs {

/// The largest Count.
inline constexpr std::uint64_t max_count = std::uint64_t{1} << 53;
/// Of a search, and of the combinations that it is over.
inline constexpr std::uint64_t most_tuned_candidates = 1000;
inline constexpr std::uint64_t most_capped_runs = 100'000;

/// Rows of another program in memory. They are read once.
class GivenRows {
 public:
  using Rows = std::variant<data::ArrowStream, data::SparseMatrix>;

  explicit GivenRows(Rows rows) : rows_{std::move(rows)}, name_{rows_->index() == 0 ? "Arrow stream" : "sparse matrix"} {}
  /// \throws PlanError where they were taken already, here and below.
  [[nodiscard]] Rows take();
  /// What is read of them where only their form matters: the columns of a stream without its rows, or the matrix. They stay.
  [[nodiscard]] Rows form() const;
  /// How many there are. They stay: a stream that must be read to be counted holds its batches. \throws as `ArrowStream::count_rows`
  [[nodiscard]] std::uint64_t count(data::RecordForm form);
  /// "Arrow stream" or "sparse matrix".
  [[nodiscard]] const char* name() const noexcept { return name_; }
  /// \throws PlanError "the data are a sparse matrix, <must>", always.
  [[noreturn]] void refuse(const FieldText& must) const;

  /// Of units of several rows: how rows are to be kept, said before they are read, and then those that were.
  struct Units {
    data::ArrowUnits which;
    std::shared_ptr<const data::KeptRows> kept = {};
  };
  std::optional<Units> units = {};

 private:
  std::optional<Rows> rows_;
  const char* name_;
};

/// Where records come from, and how a file becomes records and features. Public.
struct TrainingSource {
  std::string path;                              ///< of this process; - is standard input; of `rows` their name
  std::vector<std::string> paths_of_ranks = {};  ///< of all ranks, where each has a file of its own
  std::optional<data::LabelRule> label = {};     ///< of CSV and record files
  std::variant<data::CsvOptions, data::SparseFeatures, std::shared_ptr<const data::RecordFile>> inputs = {};
  bool rows_have_common_scale = false;  ///< of sparse features
  data::DataPolicy reading = {};
  bool form_is_public = false;              ///< as much as `reading` may say
  std::optional<std::string> weight = {};   ///< of CSV files: the column of the weights of records, which is no feature
  std::optional<double> weight_bound = {};  ///< the largest weight
  /// In the place of a CSV file, whose columns and cells an Arrow stream has, or of LIBSVM text. No part of a written plan.
  std::shared_ptr<GivenRows> rows = {};

  /// Whether the training is to release ranges of columns.
  [[nodiscard]] bool has_private_ranges() const {
    const auto* const csv = std::get_if<data::CsvOptions>(&inputs);
    return csv != nullptr && csv->has_private_ranges();
  }
  /// Nothing where one of the two is missing, which a run refuses.
  [[nodiscard]] std::optional<data::WeightRule> weight_rule() const {
    return weight && weight_bound ? std::optional{data::WeightRule{.column = *weight, .bound = *weight_bound}} : std::nullopt;
  }
  [[nodiscard]] data::DataPolicy policy() const {
    auto policy = reading;
    if (form_is_public) policy.form = data::RecordForm::is_public;
    return policy;
  }
  friend bool operator==(const TrainingSource&, const TrainingSource&) = default;
};

/// What is minimized. An algorithm says which of these it knows.
struct Problem {
  Loss loss = Loss::logistic;
  std::optional<double> label_bound = {};
  std::optional<std::string> label_bounds = {};  ///< "lower,upper", in the place of `label_bound`
  std::optional<double> smoothing = {};
  std::optional<double> clip = {};    ///< each algorithm says what holds without it
  std::optional<double> radius = {};  ///< likewise
  std::string classes = {};           ///< several, with commas between
  ClassScores classes_by = ClassScores::one_against_the_rest;
  /// Of a plan of version 1: the label of two classes is the number of a column, without a comparison, and other numbers than two are damaged.
  bool has_number_of_class = false;
  friend bool operator==(const Problem&, const Problem&) = default;
};

/// A search over candidates, of algorithms whose releases are Gaussian.
struct SearchPlan {
  std::optional<std::uint64_t> tune = {};   ///< how many candidates it is expected to run
  std::vector<std::string> tune_over = {};  ///< what they differ in: "steps=10,30"
  SearchBy tune_by = SearchBy::cheapest;
  std::optional<std::uint64_t> tune_most = {};  ///< runs that it never goes beyond
  std::optional<std::string> answer_at = {};    ///< when it answers, as it was said
  friend bool operator==(const SearchPlan&, const SearchPlan&) = default;
};

/// Whether usable records are counted in private, beside the training and in its charge. Said, it is refused where that cannot be.
struct CountPlan {
  bool count_records = false;
  bool no_count_records = false;
  friend bool operator==(const CountPlan&, const CountPlan&) = default;
};

/// Of algorithms on a whole file, of which a public part is held out for scores.
struct SplitPlan : CountPlan {
  double held_out = 0.2;
  std::uint64_t split_seed = 0;
  std::optional<Score> score = {};     ///< that is released of the model on that part, or none; by default what suits the loss
  std::optional<double> timeout = {};  ///< in seconds, for algorithms that run on several ranks
  friend bool operator==(const SplitPlan&, const SplitPlan&) = default;
};

struct FullGradientPlan : SplitPlan {
  std::uint64_t steps = 100;
  double regularization = 1e-4;
  std::optional<std::uint64_t> threads = {};
  std::optional<std::uint64_t> public_count = {};
  friend bool operator==(const FullGradientPlan&, const FullGradientPlan&) = default;
};
struct DescentPlan : FullGradientPlan {
  std::optional<double> step_size = {};
  std::optional<double> l1 = {};
  Iterate iterate = Iterate::last;
  friend bool operator==(const DescentPlan&, const DescentPlan&) = default;
};
struct GradientDescentPlan : DescentPlan {
  static constexpr std::string_view name = "gradient-descent";
  Publish publish = Publish::all;
  friend bool operator==(const GradientDescentPlan&, const GradientDescentPlan&) = default;
};
struct AcceleratedGradientDescentPlan : DescentPlan {
  static constexpr std::string_view name = "accelerated-gradient-descent";
  AcceleratedGradientDescentPlan() { steps = 30; }
  friend bool operator==(const AcceleratedGradientDescentPlan&, const AcceleratedGradientDescentPlan&) = default;
};
struct MirrorDescentPlan : FullGradientPlan {
  static constexpr std::string_view name = "mirror-descent";
  MirrorDescentPlan() {
    steps = 30;
    regularization = 0;
  }
  Geometry geometry = Geometry::l2;
  friend bool operator==(const MirrorDescentPlan&, const MirrorDescentPlan&) = default;
};

struct ShapedDescentPlan : SplitPlan {
  static constexpr std::string_view name = "shaped-descent";
  std::optional<std::uint64_t> steps = {};
  double regularization = 0;
  std::optional<double> clip_share = {};
  std::vector<std::string> class_weights = {};
  double shape = 0.5;
  Start start = Start::zero;
  Shrink shrink = Shrink::none;
  double matrix_share = 0.1;
  std::optional<double> ridge = {};
  std::optional<double> damping = {};
  std::optional<std::uint64_t> threads = {};
  std::optional<std::uint64_t> public_count = {};
  friend bool operator==(const ShapedDescentPlan&, const ShapedDescentPlan&) = default;
};
struct ConstantPlan : SplitPlan {
  static constexpr std::string_view name = "constant";
  std::optional<std::uint64_t> public_count = {};
  friend bool operator==(const ConstantPlan&, const ConstantPlan&) = default;
};
struct SufficientStatisticsPlan : SplitPlan {
  static constexpr std::string_view name = "sufficient-statistics";
  double label_weight = 0.5;
  double ridge = 0.3;
  RidgeChoice ridge_rule = RidgeChoice::fixed;
  double confidence = 0.95;
  std::optional<std::uint64_t> threads = {};
  friend bool operator==(const SufficientStatisticsPlan&, const SufficientStatisticsPlan&) = default;
};

struct DpSgdPlan : SplitPlan {
  static constexpr std::string_view name = "dp-sgd";
  std::optional<std::uint64_t> records = {};
  std::optional<std::uint64_t> epochs = {};
  std::optional<std::uint64_t> steps = {};
  std::optional<double> step_size = {};
  Schedule schedule = Schedule::inverse;
  double momentum = 0;
  double regularization = 1e-4;
  std::optional<double> l1 = {};
  std::optional<Iterate> iterate = {};
  std::optional<ClipBy> clip_by = {};
  std::optional<Sampling> sampling = {};
  std::optional<std::uint64_t> batch_size = {};
  std::optional<std::uint64_t> largest_batch = {};
  std::uint64_t microbatch = 1;
  std::optional<double> noise_multiplier = {};
  friend bool operator==(const DpSgdPlan&, const DpSgdPlan&) = default;
};

struct VarianceReductionPlan : SplitPlan {
  std::optional<std::uint64_t> records = {};
  std::uint64_t epochs = 5;
  std::uint64_t inner_steps = 100;
  std::optional<double> step_size = {};
  double regularization = 1e-4;
  std::optional<double> l1 = {};
  std::optional<std::uint64_t> threads = {};
  std::optional<Sampling> sampling = {};
  std::optional<std::uint64_t> batch_size = {};
  PaperNoise noise = PaperNoise::calibrated;
  friend bool operator==(const VarianceReductionPlan&, const VarianceReductionPlan&) = default;
};
struct SvrgPlan : VarianceReductionPlan {
  static constexpr std::string_view name = "svrg";
  friend bool operator==(const SvrgPlan&, const SvrgPlan&) = default;
};
struct SvrgPlusPlusPlan : VarianceReductionPlan {
  static constexpr std::string_view name = "svrg++";
  SvrgPlusPlusPlan() { epochs = 3; }
  friend bool operator==(const SvrgPlusPlusPlan&, const SvrgPlusPlusPlan&) = default;
};

struct PerturbationPlan : SplitPlan {
  double regularization = 0.01;
  std::optional<std::uint64_t> threads = {};
  friend bool operator==(const PerturbationPlan&, const PerturbationPlan&) = default;
};
struct OutputPerturbationPlan : PerturbationPlan {
  static constexpr std::string_view name = "output-perturbation";
  std::optional<std::uint64_t> public_count = {};
  friend bool operator==(const OutputPerturbationPlan&, const OutputPerturbationPlan&) = default;
};
struct ObjectivePerturbationPlan : PerturbationPlan {
  static constexpr std::string_view name = "objective-perturbation";
  std::optional<std::uint64_t> records = {};
  friend bool operator==(const ObjectivePerturbationPlan&, const ObjectivePerturbationPlan&) = default;
};

/// Of algorithms on records that come one at a time.
struct StreamPlan : CountPlan {
  std::optional<std::uint64_t> steps = {};  ///< the most records to read
  std::optional<std::uint64_t> every = {};  ///< after each so many records the weights are told
  friend bool operator==(const StreamPlan&, const StreamPlan&) = default;
};
struct PrefixSumPlan : StreamPlan {
  std::optional<mechanisms::Factorization> factorization = {};
  friend bool operator==(const PrefixSumPlan&, const PrefixSumPlan&) = default;
};
struct OnlineFrankWolfePlan : PrefixSumPlan {
  static constexpr std::string_view name = "online-frank-wolfe";
  std::optional<double> step_scale = {};
  double norm = 2;
  PaperNoise noise = PaperNoise::calibrated;
  friend bool operator==(const OnlineFrankWolfePlan&, const OnlineFrankWolfePlan&) = default;
};
struct PolyhedralFrankWolfePlan : StreamPlan {
  static constexpr std::string_view name = "polyhedral-frank-wolfe";
  std::optional<double> step_scale = {};
  SelectionNoise noise = SelectionNoise::gumbel;
  friend bool operator==(const PolyhedralFrankWolfePlan&, const PolyhedralFrankWolfePlan&) = default;
};
struct OnlineToBatchPlan : PrefixSumPlan {
  static constexpr std::string_view name = "online-to-batch";
  OnlineLearner learner = OnlineLearner::subgradient;
  std::optional<double> regularization = {};
  friend bool operator==(const OnlineToBatchPlan&, const OnlineToBatchPlan&) = default;
};
struct PrivateFtrlPlan : PrefixSumPlan {
  static constexpr std::string_view name = "private-ftrl";
  std::optional<double> step_size = {};
  friend bool operator==(const PrivateFtrlPlan&, const PrivateFtrlPlan&) = default;
};
struct OnePassSgdPlan : StreamPlan {
  static constexpr std::string_view name = "one-pass-sgd";
  std::optional<std::uint64_t> batch_size = {};
  std::optional<double> step_size = {};
  friend bool operator==(const OnePassSgdPlan&, const OnePassSgdPlan&) = default;
};

/// Of algorithms on batches of a whole file in its order.
struct NoisySgdPlan : CountPlan {
  static constexpr std::string_view name = "noisy-sgd";
  std::optional<std::uint64_t> records = {};
  std::optional<std::uint64_t> batch_size = {};
  std::optional<double> step_size = {};
  std::uint64_t passes = 1;
  Publish publish = Publish::all;
  friend bool operator==(const NoisySgdPlan&, const NoisySgdPlan&) = default;
};
struct SnowballSgdPlan : CountPlan {
  static constexpr std::string_view name = "snowball-sgd";
  std::optional<std::uint64_t> records = {};
  std::optional<std::uint64_t> steps = {};
  std::optional<double> step_size = {};
  friend bool operator==(const SnowballSgdPlan&, const SnowballSgdPlan&) = default;
};
struct NoisyFrankWolfePlan : CountPlan {
  static constexpr std::string_view name = "noisy-frank-wolfe";
  std::uint64_t steps = 30;
  std::optional<std::uint64_t> records = {};
  std::optional<double> step_scale = {};
  double norm = 2;
  friend bool operator==(const NoisyFrankWolfePlan&, const NoisyFrankWolfePlan&) = default;
};

struct GossipPlan : CountPlan {
  static constexpr std::string_view name = "gossip";
  std::optional<std::uint64_t> records = {};
  std::optional<std::uint64_t> learners = {};
  std::optional<Topology> topology = {};
  std::optional<std::string> graph = {};
  std::optional<std::uint64_t> mixing_seed = {};
  std::uint64_t batch_size = 1;
  std::uint64_t passes = 1;
  double step_size = 1;
  std::optional<Schedule> schedule = {};
  double regularization = 0;
  std::optional<LearnerNoiseKind> noise = {};
  std::optional<double> timeout = {};
  friend bool operator==(const GossipPlan&, const GossipPlan&) = default;
};

/// What an algorithm alone knows; by its name in JSON.
using AlgorithmPlan = std::variant<ShapedDescentPlan, GradientDescentPlan, AcceleratedGradientDescentPlan, MirrorDescentPlan, DpSgdPlan,
                                   SvrgPlan, SvrgPlusPlusPlan, OutputPerturbationPlan, ObjectivePerturbationPlan, OnlineFrankWolfePlan,
                                   PolyhedralFrankWolfePlan, OnlineToBatchPlan, PrivateFtrlPlan, OnePassSgdPlan, NoisySgdPlan,
                                   SnowballSgdPlan, NoisyFrankWolfePlan, GossipPlan, SufficientStatisticsPlan, ConstantPlan>;

struct TrainPlan {
  Target target;
  UnitOfPrivacy unit = {};
  std::optional<std::string> period = {};  ///< the column of a combination that holds periods, for `over_periods`
  TrainingSource source;
  Problem problem = {};
  SearchPlan search = {};
  AlgorithmPlan algorithm = {};

  [[nodiscard]] bool has_unit() const noexcept { return !unit.is_row(); }
  /// "dp-sgd".
  [[nodiscard]] std::string_view algorithm_name() const {
    return std::visit([](const auto& one) { return one.name; }, algorithm);
  }
  friend bool operator==(const TrainPlan&, const TrainPlan&) = default;
};

}  // namespace surety::jobs
