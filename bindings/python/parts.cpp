// Releases in parts: tickets and partials are bytes of Python, which the library checks.
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <surety/base/text/error.h>
#include <surety/data/arrow/arrow_stream.h>
#include <surety/data/reading/data_policy.h>
#include <surety/data/units/owner_buckets.h>
#include <surety/jobs/parts/release_in_parts.h>
#include <surety/jobs/parts/ticket.h>

#include "calls.h"
#include "plans.h"
#include "releases.h"
#include "sources.h"
#include "texts.h"

namespace surety::python {
namespace {

using namespace nb::literals;

/// \pre the caller holds a reference while this is used
std::string_view view(const nb::bytes& bytes) { return {static_cast<const char*>(bytes.data()), bytes.size()}; }
nb::bytes bytes_of(const std::string& made) { return nb::bytes{made.data(), made.size()}; }

nb::bytes begin_parts(PlannedRelease& plan, std::uint32_t parts, const LedgerOfRun& ledger, bool must_exist) {
  auto job = plan.next();  // its own: another thread may run the plan meanwhile
  ChargedLedger asked{ledger, must_exist};
  const auto ticket = called_off_by_signals([&](const jobs::RunContext& /*context*/) {
    return jobs::begin_release(job, parts, plan.written().replay_seed, [&](const accounting::Plan& charge) { asked.ask(charge); });
  });
  plan.give_back(std::move(job));
  return bytes_of(ticket);
}

/// The number of parts, the columns that name an owner and whom the promise protects, whether the limits on data are lifted, and whether it is a replay.
std::tuple<std::uint32_t, std::vector<std::string>, std::string, bool, bool> facts_of_ticket(const nb::bytes& ticket) {
  const auto bytes = view(ticket);
  return unlocked([&] {
    return in_order([&] {
      const auto told = jobs::read_ticket(bytes);
      const auto& unit = told.plan.unit;
      return std::tuple{told.parts, columns_of(unit), describe(unit), !(told.plan.reading.limits == data::DataLimits{}), told.not_private};
    });
  });
}

nb::bytes partial_of(const nb::bytes& ticket, std::uint32_t part, Source& source) {
  const auto bytes = view(ticket);
  try {
    return bytes_of(called_off_by_signals([&](const jobs::RunContext& context) {
      return of_table(source.take(), [&](auto&& records) {
        return jobs::partial_release(bytes, part, std::forward<decltype(records)>(records), context);
      });
    }));
  } catch (const Error&) {
    source.rethrow();
    throw;
  }
}

nb::bytes merge_partials(const std::vector<nb::bytes>& partials) {
  std::vector<std::string_view> views;
  views.reserve(partials.size());
  for (const auto& partial : partials) views.push_back(view(partial));
  return bytes_of(unlocked([&] { return in_order([&] { return jobs::merge_partials(views); }); }));
}

/// The bucket of each owner, as uint16 of this machine: that of the first column's text, or of the empty one where a column has none.
nb::bytes buckets_of(Source& source) {
  std::vector<std::uint16_t> buckets;
  try {
    auto stream = std::get<data::ArrowStream>(source.take());
    unlocked([&] {
      const data::OwnerBucketFinder bucket_of;
      std::string buffer;
      std::string other;
      while (const auto batch = stream.next()) {
        std::vector<data::ArrowCells> columns;
        for (std::size_t k = 0; k < stream.columns().size(); ++k) columns.push_back(batch->cells(k));
        for (std::size_t row = 0; row < batch->rows(); ++row) {
          const auto is_missing = [&](const data::ArrowCells& cells) { return cells.is_null(row) || cells.text(row, other).empty(); };
          const bool has_none = std::any_of(columns.begin(), columns.end(), is_missing);
          buckets.push_back(static_cast<std::uint16_t>(bucket_of(has_none ? std::string_view{} : columns.front().text(row, buffer))));
        }
      }
    });
  } catch (const Error&) {
    source.rethrow();
    throw;
  }
  return nb::bytes{buckets.data(), buckets.size() * sizeof(std::uint16_t)};
}

/// The end of a release in parts. It is done once.
class RunOfParts final {
 public:
  RunOfParts(const LedgerOfRun& ledger, bool ledger_must_exist) : ledger_{ledger, ledger_must_exist} {}

  ResultOfRelease go(const nb::bytes& ticket, const nb::bytes& partial) {
    if (std::exchange(is_done_, true)) invalid("the run is done already, must be done once");
    const auto known = view(ticket);
    const auto whole = view(partial);
    return called_off_by_signals([&](const jobs::RunContext& context) {
      const auto charge = [this](const accounting::Plan& plan, std::string_view mark) { return ledger_.reserve_once(plan, mark); };
      auto released = jobs::finish_release(known, whole, charge, context);
      return ResultOfRelease{std::move(released), ledger_.path(), ledger_.is_new()};
    });
  }

  /// Its number in the ledger, once it is charged.
  [[nodiscard]] std::optional<std::uint64_t> charged() const noexcept { return ledger_.charged(); }

 private:
  ChargedLedger ledger_;
  bool is_done_ = false;
};

}  // namespace

void add_parts(nb::module_& module) {
  module.def("begin_parts", &begin_parts, "plan"_a, "parts"_a, "ledger"_a, "must_exist"_a);
  module.def("facts_of_ticket", &facts_of_ticket, "ticket"_a);
  module.def("partial_of", &partial_of, "ticket"_a, "part"_a, "source"_a);
  module.def("buckets_of", &buckets_of, "source"_a);
  module.def("merge_partials", &merge_partials, "partials"_a);
  nb::class_<RunOfParts>(module, "RunOfParts", nb::is_final())
      .def("go", &RunOfParts::go, "ticket"_a, "partial"_a)
      .def("charged", &RunOfParts::charged);
  module.def(
      "run_parts", [](const LedgerOfRun& ledger, bool must_exist) { return std::make_unique<RunOfParts>(ledger, must_exist); }, "ledger"_a,
      "must_exist"_a);
  module.def(
      "write_private_file",
      [](const std::filesystem::path& path, const nb::bytes& bytes) {
        const auto content = view(bytes);
        unlocked([&] { jobs::write_private_file(path, content); });
      },
      "path"_a, "bytes"_a);
}

}  // namespace surety::python
