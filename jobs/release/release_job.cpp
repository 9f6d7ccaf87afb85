#include <surety/jobs/release/release_job.h>

#include <system_error>
#include <utility>

#include <surety/base/text/error.h>
#include <surety/data/arrow/arrow_reader.h>
#include <surety/data/csv/csv.h>
#include <surety/data/reading/text_reader.h>
#include <surety/jobs/release/release_steps.h>
#include <surety/statistics/parts.h>

namespace surety::jobs {
namespace {

/// \param make_reader is called where there are parts
void require_columns_of(const ReleasePlan& plan, const auto& make_reader) {
  statistics::Parts parts;
  try {
    parts = statistics::adding_parts_of(plan.queries, statistics::NoiseFamily::laplace, 1);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_argument) throw;
    return;  // no noise of that scale: nothing about the columns
  }
  statistics::check_header(make_reader(), parts);
}

}  // namespace

void require_columns(const ReleasePlan& plan, const std::filesystem::path& path) {
  std::error_code ignored;
  if (path == data::TextReader::standard_input || !std::filesystem::is_regular_file(path, ignored)) return;
  require_columns_of(plan, [&] { return data::CsvReader{path, plan.reading}; });
}

void require_columns(const ReleasePlan& plan, const data::ArrowStream& stream) {
  require_columns_of(plan, [&] { return data::ArrowReader{stream.without_rows(), plan.reading}; });
}

namespace {

template <class Source>
class TableSteps final : public ReleaseSteps {
 public:
  TableSteps(ReleaseJob job, Source source, accounting::Ledger& ledger, const Bits& bits, const RunContext& context)
      : ReleaseSteps{std::move(job), bits, context}, source_{std::move(source)}, ledger_{ledger} {}

  void ask(const accounting::Plan& charge) override { ledger_.check(charge); }
  accounting::Reservation reserve(const accounting::Plan& charge) override { return ledger_.reserve(charge); }

 private:
  ReadStatistics read_by(ReleaseJob job) override { return std::move(job).read(std::move(source_), bits(), context()); }

  Source source_;
  accounting::Ledger& ledger_;
};

}  // namespace

ReleasedStatistics run(ReleaseJob job, const std::filesystem::path& path, accounting::Ledger& ledger, const Bits& bits,
                       const RunContext& context) {
  return TableSteps<std::filesystem::path>{std::move(job), path, ledger, bits, context}.released();
}

ReleasedStatistics run(ReleaseJob job, data::ArrowStream stream, accounting::Ledger& ledger, const Bits& bits, const RunContext& context) {
  return TableSteps<data::ArrowStream>{std::move(job), std::move(stream), ledger, bits, context}.released();
}

}  // namespace surety::jobs
