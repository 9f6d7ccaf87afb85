// How long a training takes from an Arrow stream, beside the same training from a record file of the same rows, in the same run. One thread.
// Usage: surety_training [rows [columns [steps]]]
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <surety/accounting/ledger/ledger.h>
#include <surety/data/arrow/arrow_stream.h>
#include <surety/data/features/record_file.h>
#include <surety/jobs/algorithms/reading.h>
#include <surety/jobs/train/train_job.h>

using namespace surety;

namespace {

constexpr std::size_t rows_in_batch = std::size_t{1} << 16;

/// Columns of numbers, of which the last one is the label.
struct Table {
  std::vector<std::string> names;
  std::vector<std::vector<double>> columns;
};

template <class Struct>
void release_nothing(Struct* it) {
  it->release = nullptr;
}

/// The table once, in batches that own nothing. \pre lives as long as its stream
class Producer {
 public:
  explicit Producer(const Table& table)
      : table_{table},
        schemas_(table.columns.size()),
        arrays_(table.columns.size()),
        buffers_(table.columns.size(), std::vector<const void*>(2)) {
    for (auto& schema : schemas_) schema_pointers_.push_back(&schema);
    for (auto& array : arrays_) array_pointers_.push_back(&array);
  }
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  [[nodiscard]] data::ArrowStream stream() {
    ArrowArrayStream made{.get_schema = [](ArrowArrayStream* it, ArrowSchema* out) { return of(it).schema(out); },
                          .get_next = [](ArrowArrayStream* it, ArrowArray* out) { return of(it).next(out); },
                          .get_last_error = nullptr,
                          .release = release_nothing<ArrowArrayStream>,
                          .private_data = this};
    return data::ArrowStream{&made};
  }

 private:
  static Producer& of(ArrowArrayStream* stream) { return *static_cast<Producer*>(stream->private_data); }

  int schema(ArrowSchema* out) {
    const auto fill = [](ArrowSchema& schema, const char* format, const char* name) {
      schema = {};
      schema.format = format;
      schema.name = name;
      schema.release = release_nothing<ArrowSchema>;
    };
    for (std::size_t k = 0; k < schemas_.size(); ++k) fill(schemas_[k], "g", table_.names[k].c_str());
    fill(*out, "+s", "");
    out->n_children = static_cast<std::int64_t>(schemas_.size());
    out->children = schema_pointers_.data();
    return 0;
  }

  int next(ArrowArray* out) {
    *out = {};
    const std::size_t count = std::min(rows_in_batch, table_.columns[0].size() - next_);
    if (count == 0) return 0;
    const auto fill = [&](ArrowArray& array, std::vector<const void*>& buffers) {
      array = {};
      array.length = static_cast<std::int64_t>(count);
      array.n_buffers = static_cast<std::int64_t>(buffers.size());
      array.buffers = buffers.data();
      array.release = release_nothing<ArrowArray>;
    };
    for (std::size_t k = 0; k < arrays_.size(); ++k) {
      buffers_[k][1] = table_.columns[k].data() + next_;
      fill(arrays_[k], buffers_[k]);
    }
    fill(*out, no_buffers_);
    out->n_children = static_cast<std::int64_t>(arrays_.size());
    out->children = array_pointers_.data();
    next_ += count;
    return 0;
  }

  const Table& table_;
  std::vector<ArrowSchema> schemas_;
  std::vector<ArrowArray> arrays_;
  std::vector<std::vector<const void*>> buffers_;
  std::vector<const void*> no_buffers_ = std::vector<const void*>(1);
  std::vector<ArrowSchema*> schema_pointers_;
  std::vector<ArrowArray*> array_pointers_;
  std::size_t next_ = 0;
};

jobs::TrainPlan plan_of(const Table& table, std::uint64_t steps) {
  data::CsvOptions options;
  for (std::size_t k = 0; k + 1 < table.names.size(); ++k) options.bounds[table.names[k]] = data::Bounds{0, 1};
  jobs::GradientDescentPlan algorithm;
  algorithm.steps = steps;
  algorithm.threads = 1;
  return {.target = {Epsilon{1}, Delta{1e-6}, Adjacency::replace_one},
          .source = {.path = "a table", .label = data::parse_label_rule("y>0.5"), .inputs = std::move(options)},
          .algorithm = algorithm};
}

/// What `surety convert` writes of the same cells.
void write_record_file(const jobs::TrainPlan& plan, Producer& producer, const std::filesystem::path& path) {
  auto source = plan.source;
  source.rows = std::make_shared<jobs::GivenRows>(producer.stream());
  auto [records, features] = jobs::open_stream(source);
  data::RecordFileText text{{.features = features, .label = source.label}};
  std::ofstream file{path, std::ios::binary};
  const auto write = [&] {
    file.write(text.text().data(), static_cast<std::streamsize>(text.text().size()));
    text.forget_text();
  };
  const jobs::AnyLabel any;
  while (records.next(any)) {
    text.add(records.row().values, records.label(), false);
    if (!text.text().empty()) write();
  }
  text.finish();
  write();
}

/// Processor seconds of a whole run, and its model. Other programs make the clock's seconds longer.
struct Timed {
  double seconds = std::numeric_limits<double>::infinity();
  std::vector<double> weights = {};
};

Timed timed(jobs::TrainJob job, const std::filesystem::path& ledger_path) {
  std::filesystem::remove(ledger_path);
  auto ledger = accounting::Ledger::create(ledger_path, Adjacency::replace_one, std::nullopt, UnitOfPrivacy{});
  jobs::RunBits bits{std::uint64_t{7}};
  const std::clock_t start = std::clock();
  auto trained = jobs::run(std::move(job), ledger, bits);
  return {static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, std::move(trained.model.weights)};
}

}  // namespace

int main(int argc, char** argv) {
  const auto said = [&](int place, std::size_t otherwise) {
    return argc > place ? static_cast<std::size_t>(std::atoll(argv[place])) : otherwise;
  };
  const std::size_t rows = said(1, 1'000'000);
  const std::size_t columns = said(2, 20);
  const std::uint64_t steps = said(3, 100);
  Table table;
  std::uint64_t word = 1;
  for (std::size_t k = 0; k <= columns; ++k) {
    table.names.push_back(k == columns ? "y" : fmt::format("x{}", k));
    auto& column = table.columns.emplace_back(rows);
    for (double& cell : column) {
      word = word * 6364136223846793005 + 1442695040888963407;
      cell = static_cast<double>(word >> 40) / (1 << 24);
    }
  }
  const auto folder = std::filesystem::temp_directory_path() /
                      fmt::format("surety_training.{}", std::chrono::steady_clock::now().time_since_epoch().count());
  std::filesystem::create_directory(folder);
  const auto plan = plan_of(table, steps);
  {
    Producer producer{table};
    write_record_file(plan, producer, folder / "records");
  }

  Timed arrow;
  Timed stored;
  const auto keep = [](Timed& least, Timed found) {
    if (found.seconds < least.seconds) least = std::move(found);
  };
  for (int round = 0; round < 3; ++round) {
    Producer producer{table};
    jobs::TrainJob from_arrow{plan};
    from_arrow.take_records(producer.stream());
    keep(arrow, timed(std::move(from_arrow), folder / "run.db"));
    auto of_file = plan;
    of_file.source.path = folder / "records";
    of_file.source.inputs = std::make_shared<const data::RecordFile>(folder / "records");
    keep(stored, timed(jobs::TrainJob{std::move(of_file)}, folder / "run.db"));
  }
  std::filesystem::remove_all(folder);
  if (arrow.weights != stored.weights) {
    fmt::print(stderr, "surety_training: the two models differ, must be the same to the last bit\n");
    return 1;
  }
  fmt::print("{} rows of {} columns, {} steps of gradient-descent, processor seconds, the least of 3 runs\n", rows, columns, steps);
  fmt::print("{:<20} {:8.2f} s\n", "a record file", stored.seconds);
  fmt::print("{:<20} {:8.2f} s, {:.3f} of the record file's\n", "an Arrow stream", arrow.seconds, arrow.seconds / stored.seconds);
  return 0;
}
