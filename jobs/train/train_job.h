// Training as a job: a plan is a value, prepared it has its noise and its cost before any record is read, and run it charges a ledger before it draws.
//
//   jobs::TrainPlan plan{.target = {Epsilon{1}, Delta{1e-5}, Adjacency::replace_one},
//                        .source = {.path = "table.csv", .label = data::parse_label_rule("visits>0"), .inputs = data::CsvOptions{}},
//                        .algorithm = jobs::GradientDescentPlan{}};
//   jobs::RunBits bits{std::nullopt};
//   const auto trained = jobs::run(jobs::TrainJob{std::move(plan)}, ledger, bits);
//
// The order is the guarantee: what follows from public things is refused first, the ledger is asked, records are read, the charge is made durable, and
// then alone noise is drawn. Of a stream nothing but the header is read before the charge. Whoever takes the steps apart (`read`, `Ledger::reserve`,
// `learn`) cannot draw without a reservation that holds the event.
#pragma once

#include <memory>
#include <string>

#include <surety/accounting/calibration/solve.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/data/arrow/arrow_stream.h>
#include <surety/data/features/features.h>
#include <surety/data/features/sparse_matrix.h>
#include <surety/jobs/algorithms/noise.h>
#include <surety/jobs/algorithms/train_context.h>
#include <surety/jobs/plans/field_names.h>
#include <surety/jobs/plans/train_plan.h>
#include <surety/jobs/run/released.h>
#include <surety/jobs/run/run_bits.h>
#include <surety/jobs/run/team.h>
#include <surety/optimizers/models/model.h>

namespace surety::jobs {

class TrainingRun;
struct TrainingFacts;

/// All that may be published of a training is the model and its guarantee; what `facts` names not private is for who holds the data.
struct TrainedModel {
  TrainPlan plan;
  optimizers::Model model;
  CalibratedNoise noise;
  Released released;
  accounting::RunId run;  ///< in its ledger
  std::shared_ptr<const TrainingFacts> facts;
};

/// The one JSON form, that of `surety train --json` but for the names of files, as text.
[[nodiscard]] std::string json_text(const TrainedModel& trained);

/// A plan with its run. It can be run once.
class TrainJob {
 public:
  /// In one process, of which nobody is told. Prepares, which reads no records. \throws PlanError for what is missing or does not fit together, and for a unit of several rows where the
  /// algorithm has no theorem for one; Error{bad_data} for files of numbers that a plan names.
  explicit TrainJob(TrainPlan plan);
  /// The same. What `context` refers to outlives the job. \param said fields of which candidates of a search are not to differ
  TrainJob(TrainPlan plan, const TrainContext& context, const SaidFields& said = {});
  TrainJob(TrainJob&&) noexcept;
  TrainJob& operator=(TrainJob&&) noexcept;
  ~TrainJob();

  [[nodiscard]] const TrainPlan& plan() const noexcept { return *plan_; }
  [[nodiscard]] const RunContext& context() const noexcept { return context_; }
  /// Calibrates: the least noise that keeps the promise, all that it releases, and what that costs. \throws Error{unreachable, unsupported}, PlanError;
  ///         Error{stopped} where it is called off.
  const CalibratedNoise& calibrate();
  /// What a ledger is asked for. \param note what the run is, where it is not empty \pre `calibrate` was called
  [[nodiscard]] accounting::Plan charge(bool not_private, const std::string& note = {}) const;

  /// Reads these records in the place of those that the plan names. \pre `read` was not called
  /// \throws PlanError for a plan of a record file, which names the columns, too.
  void take_records(std::string path);
  /// The same of rows of an Arrow stream, as records of a CSV file with these cells. \throws PlanError for a plan of other than CSV files; Error{unsupported} for one
  /// that says when it answers.
  void take_records(data::ArrowStream rows);
  /// The same of rows of a sparse matrix, as records of LIBSVM text. \throws PlanError for a plan of other than LIBSVM text, or of another number of features;
  ///         Error{invalid_argument} as `data::SparseMatrix::validate`.
  void take_records(data::SparseMatrix rows);

  /// Reads what is read before the charge, and refuses what does not fit the plan. \return the features; they stay where they are.
  /// \param noise what `calibrate` found, wherever. \throws Error{bad_data, environment}
  const data::FeatureMap& read(double noise, RunBits& bits);
  /// Notes about the promise and the plan, from public numbers: after `read` these include the number of records, where it is public.
  [[nodiscard]] std::vector<std::string> notes() const;
  /// What must be equal on all ranks, as a text. \pre `read` was called
  [[nodiscard]] std::string identity(double noise) const;
  /// Spends, then draws: learns. \param reservation of the first rank; the others have none. \pre `read` was called
  [[nodiscard]] std::vector<double> learn(double noise, accounting::Reservation* reservation, RunBits& bits);
  /// The model of these weights, with its guarantee. \pre `calibrate` and `read` were called
  [[nodiscard]] optimizers::Model model(std::vector<double> weights, bool not_private) const;
  /// All that is said of it. \param model as `model` made it
  [[nodiscard]] TrainedModel trained(optimizers::Model model, const accounting::Reservation& reservation) const;

 private:
  void take_rows(GivenRows::Rows rows);

  std::unique_ptr<Alone> alone_;
  RunContext context_;
  PrintName print_name_ = plain_name;
  bool tells_weights_ = false;
  std::unique_ptr<TrainPlan> plan_;  ///< to which the run refers
  std::unique_ptr<TrainingRun> run_;
  std::unique_ptr<CalibratedNoise> noise_;
  const data::FeatureMap* features_ = nullptr;  ///< that were read
};

/// All of it: calibrates, asks the ledger, reads, charges, learns, settles.
/// \throws as the steps, `Ledger::check` and `Ledger::reserve`; Error{stopped} where the job is called off, and what was released by then is charged. What fails before the charge has cost nothing and released nothing; where the settlement
///         cannot be written, nothing is returned and all that was planned stays charged.
/// \param note for the ledger, in the place of the algorithm's name
[[nodiscard]] TrainedModel run(TrainJob job, accounting::Ledger& ledger, RunBits& bits, const std::string& note = {});

}  // namespace surety::jobs
