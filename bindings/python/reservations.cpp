#include "reservations.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include <surety/accounting/events/event.h>
#include <surety/accounting/ledger/audit.h>
#include <surety/accounting/ledger/audit_json.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/accounting/ledger/memory_store.h>
#include <surety/base/text/error.h>

#include "arguments.h"
#include "calls.h"
#include "ledgers.h"
#include "noises.h"
#include "texts.h"

namespace surety::python {
namespace {

/// A reservation, which is used by one thread at a time: only settling gives up the interpreter's lock, and says so.
struct ReservationHandle {
  explicit ReservationHandle(accounting::Reservation made)
      : run{made.id().value}, reservation{std::make_unique<accounting::Reservation>(std::move(made))} {}
  std::uint64_t run;
  std::unique_ptr<accounting::Reservation> reservation;  ///< nothing once it is over
  bool is_settling = false;
  bool is_settled = false;
  void require_idle() const {
    if (is_settling) invalid("the run is being settled by another thread, must be used by one at a time");
  }
  [[nodiscard]] accounting::Reservation& use() const {
    require_idle();
    if (!reservation) invalid("the run is over, must be open");
    return *reservation;
  }
};

using BudgetArguments = std::tuple<double, double, std::optional<std::string>>;

std::optional<accounting::Budget> budget_of(const std::optional<BudgetArguments>& asked, Adjacency adjacency) {
  if (!asked) return std::nullopt;
  const auto& [epsilon, delta, filter] = *asked;
  accounting::Budget budget{.target = {.epsilon = Epsilon{epsilon}, .delta = Delta{delta}, .adjacency = adjacency}};
  if (filter) budget.filter = accounting::parse_filter_kind(*filter);
  return budget;
}

/// \param path nothing: in memory
LedgerHandle create_ledger(const std::optional<std::filesystem::path>& path, const std::string& adjacency,
                           const std::optional<BudgetArguments>& budget, const std::optional<std::vector<std::string>>& owner,
                           nb::handle most_rows, const std::string& without_name) {
  const OwnerRule rule{.empty = parse_empty_unit(without_name)};
  UnitOfPrivacy unit;
  if (owner) {
    const auto most = count_of(most_rows, "most_rows");
    unit = owner->size() == 1 ? UnitOfPrivacy{owner->front(), most, rule} : unit_of_columns(*owner, most, rule);
  }
  return unlocked([&] {
    const auto relation = parse_adjacency(adjacency);
    const auto kept = budget_of(budget, relation);
    if (!path) return LedgerHandle{accounting::Ledger::create(std::make_shared<accounting::MemoryStore>(), relation, kept, unit), true};
    return LedgerHandle{accounting::Ledger::create(*path, relation, kept, unit)};
  });
}

ReservationHandle reserve(const LedgerHandle& handle, const Event& event, const std::string& note,
                          const std::optional<std::pair<double, double>>& promise) {
  auto ledger = handle.open_for(event.adjacency(), {});
  return unlocked([&] {
    accounting::Plan plan{.event = event, .unit = ledger.unit(), .note = note};
    if (promise) plan.promise = Target{.epsilon = Epsilon{promise->first}, .delta = Delta{promise->second}, .adjacency = event.adjacency()};
    return ReservationHandle{ledger.reserve(std::move(plan))};
  });
}

accounting::Stopping stopping_of(bool adaptive) {
  return adaptive ? accounting::Stopping::adaptive : accounting::Stopping::data_independent;
}

auto spending(const ReservationHandle& handle) {
  return [&handle](const Noise& noise) { handle.use().spend(noise.event()); };
}

/// Where a ledger stands, as JSON: the number of runs, whether the noise of one was replayed, and the budget, if there is one.
std::string standing(const accounting::Ledger& ledger) {
  const auto runs = ledger.runs();
  nlohmann::json object{{"runs", runs.size()},
                        {"not_private", std::any_of(runs.begin(), runs.end(), [](const auto& run) { return run.plan.not_private; })}};
  if (const auto balance = ledger.balance()) object["budget"] = accounting::to_json(*balance);
  return object.dump();
}

void settle(ReservationHandle& handle, bool adaptive) {
  auto& reservation = handle.use();
  struct Settling {
    bool& flag;
    explicit Settling(bool& set) : flag{set} { flag = true; }
    ~Settling() { flag = false; }
  };
  const Settling settling{handle.is_settling};
  unlocked([&] { reservation.settle(stopping_of(adaptive)); });
  handle.is_settled = true;
}

}  // namespace

using namespace nb::literals;

void add_ledgers(nb::module_& module) {
  nb::class_<ReservationHandle>(module, "Reservation", nb::is_final())
      .def("run", [](const ReservationHandle& handle) { return handle.run; })
      .def(
          "spend", [](const ReservationHandle& handle, const Event& event) { handle.use().spend(event); }, "event"_a)
      .def(
          "release",
          [](const ReservationHandle& handle, const Noise& noise, nb::handle values) { release_in_place(noise, values, spending(handle)); },
          "noise"_a, "values"_a)
      .def(
          "release_sum",
          [](const ReservationHandle& handle, const Noise& noise, nb::handle rows, double clip, nb::handle sum) {
            release_sum(noise, rows, clip, sum, spending(handle));
          },
          "noise"_a, "rows"_a, "clip"_a, "sum"_a)
      .def("settle", &settle, "adaptive"_a)
      .def("close",
           [](ReservationHandle& handle) {
             handle.require_idle();
             auto dying = std::exchange(handle.reservation, nullptr);
             unlocked([&] { dying.reset(); });
           })
      .def("is_settled", [](const ReservationHandle& handle) { return handle.is_settled; });
  nb::class_<LedgerHandle>(module, "Ledger", nb::is_final())
      .def("path", &LedgerHandle::path)
      .def("adjacency", [](const LedgerHandle& handle) { return std::string{name(handle.open().adjacency())}; })
      .def("unit", [](const LedgerHandle& handle) { return describe(handle.open().unit()); })
      .def("reserve", &reserve, "event"_a, "note"_a, "promise"_a.none())
      .def(
          "audit",
          [](const LedgerHandle& handle, std::optional<double> delta, LimitSeconds seconds) {
            const auto ledger = handle.open();
            return asked(seconds, [&] {
              const auto at = delta ? std::optional{Delta{*delta}} : accounting::promised_delta(ledger);
              if (!at) invalid("delta is missing: the ledger has neither a budget nor a promise, whose delta would be used");
              return accounting::to_json_text(accounting::audit(ledger, *at));
            });
          },
          "delta"_a.none(), "limit_seconds"_a.none())
      .def("standing",
           [](const LedgerHandle& handle) { return asked(std::nullopt, [&, ledger = handle.open()] { return standing(ledger); }); })
      .def(
          "room_for",
          [](const LedgerHandle& handle, const Event& event, nb::handle most) {
            const auto count = count_of(most, "most").value();
            return asked(std::nullopt, [&, ledger = handle.open()] { return ledger.room_for(event, count); });
          },
          "event"_a, "most"_a)
      .def(
          "settle",
          [](const LedgerHandle& handle, nb::handle run, const Event* released, bool adaptive) {
            auto ledger = handle.open();
            const accounting::RunId id{count_of(run, "run").value()};
            const auto what = released == nullptr ? std::nullopt : std::optional{*released};
            unlocked([&] { ledger.settle(id, what, stopping_of(adaptive)); });
          },
          "run"_a, "released"_a.none(), "adaptive"_a)
      .def("close", [](LedgerHandle& handle) {
        auto dying = handle.close();
        unlocked([&] { dying.reset(); });
      });
  module.def("create_ledger", &create_ledger, "path"_a.none(), "adjacency"_a, "budget"_a.none(), "owner"_a.none(), "most_rows"_a,
             "without_name"_a);
  module.def(
      "open_ledger",
      [](const std::filesystem::path& path) { return unlocked([&] { return LedgerHandle{accounting::Ledger::open(path)}; }); }, "path"_a);
  module.def("ledger_in_memory", &LedgerHandle::in_memory);
}

}  // namespace surety::python
