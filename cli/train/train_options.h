// What every algorithm of surety train knows: where records come from, the problem, the promise, and where the model goes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <surety/data/csv.h>
#include <surety/data/libsvm.h>
#include <surety/data/record_file.h>
#include <surety/optimizers/problem/record_stream.h>

#include "../data_options.h"
#include "../options.h"
#include "../private_run.h"

namespace surety::cli {

/// The largest Count.
inline constexpr std::uint64_t max_count = std::uint64_t{1} << 53;
/// Of --tune, and of the combinations of --tune-over.
inline constexpr std::uint64_t most_tuned_candidates = 1000;
/// Of --tune-most.
inline constexpr std::uint64_t most_capped_runs = 100'000;

struct TrainOptions {
  std::string data;
  std::vector<std::string> data_of_ranks = {};  ///< of all ranks, where each has a file of its own: {rank} in its name
  std::string format = "csv";
  std::string label;
  std::vector<std::string> drop;
  std::vector<std::string> bounds;
  std::vector<std::string> categories;
  std::string rows = "unit";
  std::optional<std::uint64_t> features;
  DataOptions reading;

  std::string algorithm = "auto";
  std::string chosen = {};  ///< by `auto`: its words, and why
  std::string loss = "logistic";
  std::string classes;  ///< several, with commas between, of algorithms that know them
  std::optional<double> label_bound;
  std::optional<double> smoothing;
  std::optional<double> clip;          ///< each algorithm says what holds without it
  std::optional<double> radius;        ///< likewise
  std::optional<std::uint64_t> tune;   ///< how many candidates a search is expected to run, where the algorithm knows one
  std::vector<std::string> tune_over;  ///< what its candidates differ in: "steps=10,30"
  std::string tune_by = "cheapest";
  std::optional<std::uint64_t> tune_most;  ///< runs that it never goes beyond
  std::optional<std::string> answer_at;    ///< when it answers, as it was said
  bool is_candidate = false;               ///< of a search: who counts bars of progress would count its runs, a secret number

  PrivateRunOptions run;
  std::string model;
  OverwriteOption overwrite;
  bool json = false;
};

/// The options above, but for those that an algorithm words by itself: --clip, --radius and --form-is-public.
/// How a file of records is read, but for --form-is-public.
void add_data_options(OptionTable& table, TrainOptions& options, std::vector<std::string> formats);
void add_shared_options(OptionTable& table, TrainOptions& options, const std::vector<std::string>& algorithms);

/// A file for each rank, where {rank} stands in its name. \throws Error{invalid_argument} for such a name in one process.
void take_rank(TrainOptions& options, std::size_t rank, std::size_t size);

/// Reads --schema and fills in the label and the unit, where no option says them. \throws Error{bad_data} as `read_schema`.
void apply_schema(TrainOptions& options);

/// How the data are to be read: public, and checked before they are.
struct Source {
  std::optional<data::LabelRule> label;
  std::variant<data::CsvOptions, data::SparseFeatures, std::shared_ptr<const data::RecordFile>> inputs;
  bool rows_have_common_scale = false;  ///< of sparse features
};
/// The map of sparse features. \pre source.inputs holds them
[[nodiscard]] data::FeatureMap sparse_map_of(const Source& source);
/// \throws Error{invalid_argument} for options that do not suit the format; Error{bad_data} for a record file that cannot be opened.
[[nodiscard]] Source source_of(const TrainOptions& options);

/// Records one at a time, and the map that makes their features. Reads the header alone. \throws Error{bad_data}.
struct OpenStream {
  optimizers::RecordStream records;
  data::FeatureMap features;
};
/// \param units whose kept rows are read alone, if any
[[nodiscard]] OpenStream open_stream(const TrainOptions& options, const Source& source, const jobs::KeptUnits* units = nullptr);

/// Where rows of a record file are while an algorithm runs.
enum class KeepRows {
  in_memory,
  in_their_file,  ///< for algorithms that read them through a `RowReader`
};

/// All records, with labels as an objective wants them.
struct ReadRecords {
  data::Dataset data;
  data::FeatureMap features;
  std::uint64_t damaged = 0;  ///< of them are records of zeros: private
};

/// Takes records as they are read, where no loss looks at them: labels are as good as any.
struct AnyLabel {
  static constexpr std::string_view name = "any";
  static constexpr std::string_view label_constraint = "may be anything";
  [[nodiscard]] double value(double, double) const noexcept { return 0; }
  [[nodiscard]] double derivative(double, double) const noexcept { return 0; }
  [[nodiscard]] double gradient_bound(double) const noexcept { return 1; }
  [[nodiscard]] double gradient_difference_bound(double) const noexcept { return 1; }
  [[nodiscard]] double smoothness(double) const noexcept { return 1; }
  [[nodiscard]] std::optional<double> encode_label(double label) const noexcept { return label; }
};

/// How many numbers a data set may hold: not limited where the number of records is private.
[[nodiscard]] std::uint64_t most_numbers(const TrainOptions& options);
/// \throws Error{bad_data} for a file without records where their number is public, always.
void require_records(const TrainOptions& options, std::size_t records);
/// \throws Error{bad_data} where the file has another number of records than --records says.
void require_said_records(const TrainOptions& options, std::size_t records, std::uint64_t said);

/// \throws Error{bad_data} for what is wrong with the file, or with a record where its form is public, and where the number of records is
///         public for a file without any.
/// \param units whose kept rows are read alone, if any
[[nodiscard]] ReadRecords read(const TrainOptions& options, const Source& source, optimizers::ObjectiveRef objective,
                               const jobs::KeptUnits* units = nullptr, KeepRows keep = KeepRows::in_memory);

/// Shows public progress on a terminal, and nothing elsewhere.
[[nodiscard]] std::function<void(std::uint64_t)> progress_bar(std::uint64_t steps);

}  // namespace surety::cli
