// surety._library: each function takes its arguments apart, asks the library without the interpreter's lock, and hands back numbers and texts.
// No logic of its own; what people call, with its documentation, is the package beside this file.
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <surety/accounting/answers/best.h>
#include <surety/accounting/answers/explanation.h>
#include <surety/accounting/answers/risk.h>
#include <surety/accounting/answers/tradeoff.h>
#include <surety/accounting/calibration/best_cost.h>
#include <surety/accounting/calibration/solve.h>
#include <surety/accounting/events/event.h>
#include <surety/accounting/ledger/audit.h>
#include <surety/accounting/ledger/audit_json.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/accounting/ledger/memory_store.h>
#include <surety/accounting/logs/log_json.h>
#include <surety/accounting/numbers/error.h>
#include <surety/mechanisms/additive/any_noise.h>
#include <surety/mechanisms/additive/discrete_gaussian.h>
#include <surety/mechanisms/additive/discrete_laplace.h>
#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/additive/laplace.h>
#include <surety/mechanisms/additive/lp_noise.h>
#include <surety/mechanisms/additive/truncated_geometric.h>
#include <surety/mechanisms/bits/random_bits.h>

#include "calls.h"
#include "ledgers.h"
#include "models.h"
#include "releases.h"

namespace surety::python {
namespace {

/// Error becomes surety.SuretyError, whose code is that of surety.h: one more than here.
void translate(const std::exception_ptr& thrown, void* /*unused*/) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    const std::string_view text{error.what()};
    nb::object message = nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
    if (!message.is_valid()) return;
    try {
      const auto made = nb::module_::import_("surety._errors").attr("error_of")(static_cast<int>(error.code()) + 1, message);
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
    } catch (nb::python_error& own) {
      own.restore();
    }
  }
}

/// A whole number from 1 on.
Count count_of(nb::handle number, const char* what) {
  const nb::object index = nb::steal(PyNumber_Index(number.ptr()));
  if (!index.is_valid()) python_error();
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
  if (overflow != 0 || value < 1) {
    invalid(std::string{what} + " is " +
            (overflow > 0   ? "beyond 2^63"
             : overflow < 0 ? "below -2^63"
                            : std::to_string(value)) +
            ", must be a whole number from 1 to 2^53");
  }
  return Count{static_cast<std::uint64_t>(value)};
}

accounting::Effort effort_of(std::optional<double> width) {
  if (!width) return {};
  if (!(*width > 0) || !is_finite(*width)) refuse_quantity("width", *width, "finite and greater than 0");
  return {.width = *width};
}

/// The memory of an array that is one block of C order, held as long as this lives: whoever has it cannot resize it meanwhile.
class Block {
 public:
  enum class Use { change, read };

  Block(nb::handle array, const char* name, Use use = Use::change) {
    const int writable = use == Use::change ? PyBUF_WRITABLE : 0;
    if (PyObject_GetBuffer(array.ptr(), &view_, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | writable) != 0) python_error();
    std::string_view format = view_.format == nullptr ? "B" : view_.format;
    if (!format.empty() && (format.front() == '@' || format.front() == '=')) format.remove_prefix(1);
    kind_ = format.size() == 1 ? format.front() : '?';
    if (kind_ == 'q' || (kind_ == 'l' && view_.itemsize == 8)) kind_ = 'l';
    const auto address = reinterpret_cast<std::uintptr_t>(view_.buf);
    const bool aligned = view_.itemsize > 0 && address % static_cast<std::uintptr_t>(view_.itemsize) == 0;
    if ((kind_ == 'd' || kind_ == 'f' || kind_ == 'l') && aligned) return;
    const std::string found = view_.format == nullptr ? "bytes" : std::string{"of format '"} + view_.format + "'";
    PyBuffer_Release(&view_);
    const std::string reason = std::string{name} + (kind_ == 'd' || kind_ == 'f' || kind_ == 'l' ? " is not aligned" : " is " + found) +
                               ", must be an aligned array of float64, float32 or int64 in this machine's byte order";
    PyErr_SetString(PyExc_TypeError, reason.c_str());
    python_error();
  }
  ~Block() { PyBuffer_Release(&view_); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  /// The values, if they are of this type.
  template <class T>
  [[nodiscard]] std::optional<std::span<T>> of() const {
    constexpr char kind = std::is_same_v<T, double> ? 'd' : std::is_same_v<T, float> ? 'f' : 'l';
    if (kind_ != kind) return std::nullopt;
    return std::span{static_cast<T*>(view_.buf), static_cast<std::size_t>(view_.len) / sizeof(T)};
  }
  [[nodiscard]] std::span<double> doubles(const char* name) const {
    if (const auto found = of<double>()) return *found;
    PyErr_SetString(PyExc_TypeError, (std::string{name} + " must be an array of float64").c_str());
    python_error();
  }

 private:
  Py_buffer view_{};
  char kind_ = '?';
};

// ---- Events ----

using Ends = std::pair<double, double>;
Ends ends(const Enclosure& enclosure) { return {enclosure.lower, enclosure.upper}; }

using Answer = std::tuple<double, double, std::string>;
Answer answer(const accounting::BestAnswer& best) { return {best.value.lower, best.value.upper, std::string{best.accountant}}; }

/// The events that it is one of each of; itself where it is nothing of the kind.
std::vector<Event> parts_of(const Event& event) {
  if (const auto* const composed = std::get_if<Event::Composed>(&event.node())) return composed->events;
  return {event};
}

/// `lower` and `upper` become the ends of `value(curve, x)` at each x of `at`.
template <class Value>
void fill_curve(const Event& event, std::optional<double> width, LimitSeconds seconds, const Block& at, const Block& lower,
                const Block& upper, const Value& value) {
  const auto effort = effort_of(width);
  const auto x = at.doubles("at");
  const auto low = lower.doubles("lower");
  const auto high = upper.doubles("upper");
  if (low.size() != x.size() || high.size() != x.size()) invalid("the results have another length than what is asked for");
  asked(seconds, [&] {
    const accounting::QuickCurve quick{event, effort};
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Enclosure found = value(quick, x[i]);
      low[i] = found.lower;
      high[i] = found.upper;
    }
  });
}

/// An audit or a calibration of a log, as JSON.
template <auto answer>
auto log_function() {
  return [](const std::string& log, const std::optional<std::string>& adjacency, std::optional<double> epsilon, std::optional<double> delta,
            const std::vector<std::string>& readings, std::optional<double> width, LimitSeconds seconds) {
    return asked(seconds, [&] {
      accounting::LogQuestion question{.effort = effort_of(width)};
      if (adjacency) question.adjacency = parse_adjacency(*adjacency);
      if (epsilon) question.epsilon = Epsilon{*epsilon};
      if (delta) question.delta = Delta{*delta};
      for (const auto& reading : readings) question.only.push_back(accounting::parse_logged_sampler(reading));
      return answer(log, question);
    });
  };
}

void curve(const Event& event, nb::handle epsilons, nb::handle lower, nb::handle upper, std::optional<double> width, LimitSeconds seconds) {
  fill_curve(event, width, seconds, Block{epsilons, "epsilons"}, Block{lower, "lower"}, Block{upper, "upper"},
             [](const accounting::QuickCurve& quick, double at) { return quick(Epsilon{at}); });
}

void tradeoff(const Event& event, nb::handle rates, nb::handle lower, nb::handle upper, std::optional<double> width, LimitSeconds seconds) {
  fill_curve(event, width, seconds, Block{rates, "false_positive_rates"}, Block{lower, "lower"}, Block{upper, "upper"},
             [](const accounting::QuickCurve& quick, double at) { return accounting::tradeoff(quick, Probability{at}); });
}

auto risk(const Event& event, const std::vector<double>& rates, double prior, double floor, std::optional<double> width,
          LimitSeconds seconds) {
  return asked(seconds, [&] {
    accounting::RiskQuestions questions{.false_positive_rates = {}, .prior = Probability{prior}, .floor = Delta{floor}};
    for (const double rate : rates) questions.false_positive_rates.emplace_back(rate);
    const auto found = accounting::risk(event, questions, effort_of(width));
    std::vector<std::pair<double, Ends>> at;
    for (const auto& one : found.rates) at.emplace_back(one.false_positive_rate.value(), ends(one.true_positive_rate));
    return std::tuple{ends(found.advantage), at, ends(found.accuracy), ends(found.mu), ends(found.mu_above_floor)};
  });
}

auto solve_target(const std::string& text, const std::string& unknown, const std::string& adjacency, double epsilon, double delta,
                  std::optional<double> width, LimitSeconds seconds) {
  return asked(seconds, [&] {
    const Target target{.epsilon = Epsilon{epsilon}, .delta = Delta{delta}, .adjacency = parse_adjacency(adjacency)};
    const auto parameter = parameter_of(text, target.adjacency, unknown);
    accounting::BestCost cost{target, effort_of(width)};
    const auto found = solve(
        [&](double value) {
          return parse_event(text, target.adjacency, {{unknown, value}});
        },
        target, parameter, cost.functions());
    return std::tuple{found.value, found.failing, found.failing_is_proved, parameter.name, found.event, answer(cost.report(found.event))};
  });
}

auto solve_risk(const std::string& text, const std::string& unknown, const std::string& adjacency, double most,
                std::optional<double> false_positive_rate, std::optional<double> width, LimitSeconds seconds) {
  return asked(seconds, [&] {
    RiskTarget target{.most = RiskTarget::Advantage{Probability{most}}, .adjacency = parse_adjacency(adjacency)};
    if (false_positive_rate) target.most = RiskTarget::Rate{Probability{most}, Probability{*false_positive_rate}};
    const auto parameter = parameter_of(text, target.adjacency, unknown);
    const auto found = solve(
        [&](double value) {
          return parse_event(text, target.adjacency, {{unknown, value}});
        },
        target, parameter, accounting::Best{.effort = effort_of(width)});
    return std::tuple{found.value, found.failing, found.failing_is_proved, parameter.name, found.event, ends(found.risk)};
  });
}

// ---- Noise ----

/// Of each thread its own, which starts anew after a fork.
mechanisms::SystemBits& bits_of_thread() {
  thread_local mechanisms::SystemBits bits;
  return bits;
}

using Noise = mechanisms::AnyNoise;

/// A power of two as a grid.
Grid grid_of(double step) {
  int exponent = 0;
  if (!(step > 0) || !is_finite(step) || std::frexp(step, &exponent) != 0.5) refuse_quantity("step", step, "a power of two");
  return Grid{.log2_step = exponent - 1};
}

/// The grid that is asked for, or one for doubles.
Grid grid_asked(double scale, double sensitivity, std::optional<double> step) {
  return step ? grid_of(*step) : mechanisms::grid_for(L2Sensitivity{sensitivity}, NoiseMultiplier{scale});
}

Noise gaussian_noise(double multiplier, double sensitivity, std::size_t dimension, std::optional<double> step,
                     const std::string& adjacency) {
  return unlocked([&] {
    const NoiseMultiplier ratio{multiplier};
    const L2Sensitivity moved{sensitivity};
    return Noise{mechanisms::GaussianOnReals{{.multiplier = ratio,
                                              .sensitivity = moved,
                                              .grid = grid_asked(multiplier, sensitivity, step),
                                              .dimension = dimension,
                                              .adjacency = parse_adjacency(adjacency)}}};
  });
}
Noise laplace_noise(double scale, double sensitivity, std::size_t dimension, std::optional<double> step, const std::string& adjacency) {
  return unlocked([&] {
    return Noise{mechanisms::LaplaceOnReals{{.scale = NoiseScale{scale},
                                             .sensitivity = L1Sensitivity{sensitivity},
                                             .grid = grid_asked(scale, sensitivity, step),
                                             .dimension = dimension,
                                             .adjacency = parse_adjacency(adjacency)}}};
  });
}
Noise discrete_gaussian_noise(double sigma, std::variant<mechanisms::CoordinateSensitivity, L2Sensitivity> sensitivity,
                              const std::string& adjacency) {
  return unlocked([&] {
    return Noise{
        mechanisms::DiscreteGaussian{{.sigma = NoiseScale{sigma}, .sensitivity = sensitivity, .adjacency = parse_adjacency(adjacency)}}};
  });
}
Noise discrete_laplace_noise(double scale, double sensitivity, const std::string& adjacency) {
  return unlocked([&] {
    return Noise{mechanisms::DiscreteLaplace{
        {.scale = NoiseScale{scale}, .sensitivity = L1Sensitivity{sensitivity}, .adjacency = parse_adjacency(adjacency)}}};
  });
}

std::variant<L1Sensitivity, L2Sensitivity, LinfSensitivity> sensitivity_in(NormName norm, double value) {
  switch (norm) {
    case NormName::l1: return L1Sensitivity{value};
    case NormName::l2: return L2Sensitivity{value};
    case NormName::linf: return LinfSensitivity{value};
  }
  throw Error{ErrorCode::internal, "a norm without a sensitivity"};
}
Noise k_norm_noise(double scale, const std::string& norm, double sensitivity, nb::handle dimension, std::optional<double> step,
                   const std::string& adjacency) {
  const Count coordinates = count_of(dimension, "dimension");
  return unlocked([&] {
    return Noise{mechanisms::KNormOnReals{{.scale = NoiseScale{scale},
                                           .sensitivity = sensitivity_in(parse_norm(norm), sensitivity),
                                           .grid = grid_asked(scale, sensitivity, step),
                                           .dimension = coordinates,
                                           .adjacency = parse_adjacency(adjacency)}}};
  });
}
Noise generalized_gaussian_noise(double multiplier, double r, double sensitivity, nb::handle dimension, std::optional<double> step,
                                 const std::string& adjacency) {
  const Count coordinates = count_of(dimension, "dimension");
  return unlocked([&] {
    return Noise{mechanisms::GeneralizedGaussianOnReals{{.r = NormExponent{r},
                                                         .multiplier = NoiseMultiplier{multiplier},
                                                         .sensitivity = LrSensitivity{sensitivity},
                                                         .grid = grid_asked(multiplier, sensitivity, step),
                                                         .dimension = coordinates,
                                                         .adjacency = parse_adjacency(adjacency)}}};
  });
}
Noise truncated_geometric_noise(double scale, double sensitivity, std::int64_t lowest, std::int64_t highest, const std::string& adjacency) {
  return unlocked([&] {
    return Noise{mechanisms::TruncatedGeometric{{.scale = NoiseScale{scale},
                                                 .sensitivity = L1Sensitivity{sensitivity},
                                                 .range = mechanisms::IntegerRange{lowest, highest},
                                                 .adjacency = parse_adjacency(adjacency)}}};
  });
}

/// The type of the values that a release has, as a word for people.
const char* wanted_type(const Noise& noise) {
  return noise.is_on_integers() ? "one of int64 for noise on integers" : "one of float64 or float32 for noise on real numbers";
}

/// `work(values)` with the values of a type that the noise is for. A TypeError for others.
template <class Work>
void with_values(const Noise& noise, const Block& block, const char* name, const Work& work) {
  if (noise.is_on_integers()) {
    if (const auto values = block.of<std::int64_t>()) return work(*values);
  } else {
    if (const auto values = block.of<double>()) return work(*values);
    if (const auto values = block.of<float>()) return work(*values);
  }
  const char* const found = noise.is_on_integers() ? "floats" : "int64";
  PyErr_SetString(PyExc_TypeError, (std::string{name} + " is an array of " + found + ", must be " + wanted_type(noise)).c_str());
  python_error();
}

/// One release, in place. Whatever can be refused is, before `spend` is asked.
template <class Spend>
void release_in_place(const Noise& noise, nb::handle array, const Spend& spend) {
  const Block block{array, "values"};
  with_values(noise, block, "values", [&](auto values) {
    using Value = typename decltype(values)::element_type;
    noise.require_release_of<Value>(values.size());
    spend(noise);
    unlocked([&] { noise.release_in_place(values, bits_of_thread()); });
  });
}

/// One release of the sum of rows, which becomes `into`, in the same order.
template <class Spend>
void release_sum(const Noise& noise, nb::handle rows, double clip, nb::handle into, const Spend& spend) {
  const Block block{rows, "rows", Block::Use::read};
  const Block result{into, "sum"};
  with_values(noise, block, "rows", [&](auto values) {
    using Row = typename decltype(values)::element_type;
    using Value = std::conditional_t<std::is_same_v<Row, std::int64_t>, std::int64_t, double>;
    const auto sum = result.of<Value>();
    if (!sum) throw Error{ErrorCode::internal, "the sum is of another type than the rows"};
    auto added = noise.sum_of_rows(ClippingNorm{clip}, sum->size());
    unlocked([&] {
      for (std::size_t first = 0; first + sum->size() <= values.size(); first += sum->size()) {
        added.add(std::span<const Row>{values}.subspan(first, sum->size()));
      }
    });
    spend(noise);
    unlocked([&] {
      const auto released = noise.template release<Value>(added, bits_of_thread());
      std::copy(released.begin(), released.end(), sum->begin());
    });
  });
}

/// What is said before a release of noise alone.
void spend_nothing(const Noise& noise) { static_cast<void>(noise); }

/// As numpy/random/bitgen.h has it, for ever.
struct NumpyBits {
  void* state;
  std::uint64_t (*next_uint64)(void*);
  std::uint32_t (*next_uint32)(void*);
  double (*next_double)(void*);
  std::uint64_t (*next_raw)(void*);
};

/// NumPy has no way to be told that there are no bits, and predictable ones would be worse than none.
std::uint64_t next_word(void* /*state*/) noexcept {
  try {
    return mechanisms::draw_word(bits_of_thread());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "surety: %s\n", error.what());
    std::abort();
  }
}
std::uint32_t next_half(void* state) noexcept { return static_cast<std::uint32_t>(next_word(state) >> 32); }
double next_double(void* state) noexcept { return static_cast<double>(next_word(state) >> 11) * 0x1p-53; }

/// Makes a generator's capsule draw from the secure bits. Nothing is kept: the bits belong to the thread that draws.
void draw_from_secure_bits(nb::handle capsule) {
  auto* const bits = static_cast<NumpyBits*>(PyCapsule_GetPointer(capsule.ptr(), "BitGenerator"));
  if (bits == nullptr) python_error();
  unlocked([] { bits_of_thread(); });
  *bits = {.state = nullptr, .next_uint64 = next_word, .next_uint32 = next_half, .next_double = next_double, .next_raw = next_word};
}

// ---- Ledgers ----

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
                           const std::optional<BudgetArguments>& budget, const std::optional<std::string>& owner, nb::handle most_rows,
                           const std::string& without_name) {
  const OwnerRule rule{.empty = parse_empty_unit(without_name)};
  const UnitOfPrivacy unit = owner ? UnitOfPrivacy{*owner, count_of(most_rows, "most_rows"), rule} : UnitOfPrivacy{};
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
}  // namespace surety::python

using namespace surety;
using namespace surety::python;
using namespace nb::literals;

NB_MODULE(_library, module) {
  nb::set_leak_warnings(false);
  nb::register_exception_translator(translate);
  module.attr("version") = SURETY_VERSION;
  remember_main_thread();

  nb::class_<Event>(module, "Event", nb::is_final())
      .def("text", [](const Event& event) { return unlocked([&] { return describe(event); }); })
      .def("json", [](const Event& event) { return unlocked([&] { return to_json_text(event); }); })
      .def("adjacency", [](const Event& event) { return std::string{name(event.adjacency())}; })
      .def("parts", &parts_of);
  module.def(
      "parse_event",
      [](const std::string& text, const std::string& adjacency, const std::map<std::string, double>& values) {
        return unlocked([&] { return parse_event(text, parse_adjacency(adjacency), values); });
      },
      "text"_a, "adjacency"_a, "values"_a);
  module.def(
      "parse_json", [](const std::string& text) { return unlocked([&] { return event_from_json(text); }); }, "text"_a);
  module.def(
      "repeat", [](nb::handle count, const Event& event) { return repeat(count_of(count, "count"), event); }, "count"_a, "event"_a);
  module.def(
      "compose", [](const std::vector<Event>& events) { return unlocked([&] { return compose(events); }); }, "events"_a);

  module.def(
      "epsilon",
      [](const Event& event, double delta, std::optional<double> width, LimitSeconds seconds) {
        return asked(seconds, [&] { return answer(accounting::best_epsilon(event, Delta{delta}, effort_of(width))); });
      },
      "event"_a, "delta"_a, "width"_a.none(), "limit_seconds"_a.none());
  module.def(
      "delta",
      [](const Event& event, double epsilon, std::optional<double> width, LimitSeconds seconds) {
        return asked(seconds, [&] { return answer(accounting::best_delta(event, Epsilon{epsilon}, effort_of(width))); });
      },
      "event"_a, "epsilon"_a, "width"_a.none(), "limit_seconds"_a.none());
  module.def(
      "explain",
      [](const Event& event, std::optional<double> delta, std::optional<double> epsilon, std::optional<double> width,
         LimitSeconds seconds) {
        if (delta.has_value() == epsilon.has_value()) invalid("one of delta and epsilon must be given");
        return asked(seconds, [&] {
          const auto question = delta ? accounting::Question{Delta{*delta}} : accounting::Question{Epsilon{*epsilon}};
          return accounting::explained_json_text(event, question, effort_of(width));
        });
      },
      "event"_a, "delta"_a.none(), "epsilon"_a.none(), "width"_a.none(), "limit_seconds"_a.none());
  module.def("audit_log", log_function<accounting::audit_log_text>(), "log"_a, "adjacency"_a.none(), "epsilon"_a.none(), "delta"_a.none(),
             "readings"_a, "width"_a.none(), "limit_seconds"_a.none());
  module.def("calibrate_log", log_function<accounting::calibrate_log_text>(), "log"_a, "adjacency"_a.none(), "epsilon"_a.none(),
             "delta"_a.none(), "readings"_a, "width"_a.none(), "limit_seconds"_a.none());
  module.def("curve", &curve, "event"_a, "epsilons"_a, "lower"_a, "upper"_a, "width"_a.none(), "limit_seconds"_a.none());
  module.def("tradeoff", &tradeoff, "event"_a, "false_positive_rates"_a, "lower"_a, "upper"_a, "width"_a.none(), "limit_seconds"_a.none());
  module.def("risk", &risk, "event"_a, "false_positive_rates"_a, "prior"_a, "floor"_a, "width"_a.none(), "limit_seconds"_a.none());
  module.def("solve", &solve_target, "text"_a, "unknown"_a, "adjacency"_a, "epsilon"_a, "delta"_a, "width"_a.none(),
             "limit_seconds"_a.none());
  module.def("solve_risk", &solve_risk, "text"_a, "unknown"_a, "adjacency"_a, "most"_a, "false_positive_rate"_a.none(), "width"_a.none(),
             "limit_seconds"_a.none());

  nb::class_<Noise>(module, "Noise", nb::is_final())
      .def("event", &Noise::event)
      .def("scale_and_step",
           [](const Noise& noise) {
             return std::pair{noise.scale(), noise.grid().step()};
           })
      .def("is_on_integers", &Noise::is_on_integers)
      .def(
          "add_to", [](const Noise& noise, nb::handle values) { release_in_place(noise, values, spend_nothing); }, "values"_a)
      .def(
          "release_sum",
          [](const Noise& noise, nb::handle rows, double clip, nb::handle sum) { release_sum(noise, rows, clip, sum, spend_nothing); },
          "rows"_a, "clip"_a, "sum"_a);
  module.def("gaussian_noise", &gaussian_noise, "multiplier"_a, "sensitivity"_a, "dimension"_a, "step"_a.none(), "adjacency"_a);
  module.def("laplace_noise", &laplace_noise, "scale"_a, "sensitivity"_a, "dimension"_a, "step"_a.none(), "adjacency"_a);
  module.def(
      "discrete_gaussian_noise",
      [](double sigma, nb::handle sensitivity, const std::string& adjacency) {
        return discrete_gaussian_noise(sigma, mechanisms::CoordinateSensitivity{count_of(sensitivity, "sensitivity")}, adjacency);
      },
      "sigma"_a, "sensitivity"_a, "adjacency"_a);
  module.def(
      "discrete_gaussian_noise_of_vectors",
      [](double sigma, double l2_sensitivity, const std::string& adjacency) {
        return discrete_gaussian_noise(sigma, L2Sensitivity{l2_sensitivity}, adjacency);
      },
      "sigma"_a, "l2_sensitivity"_a, "adjacency"_a);
  module.def("discrete_laplace_noise", &discrete_laplace_noise, "scale"_a, "sensitivity"_a, "adjacency"_a);
  module.def("k_norm_noise", &k_norm_noise, "scale"_a, "norm"_a, "sensitivity"_a, "dimension"_a, "step"_a.none(), "adjacency"_a);
  module.def("generalized_gaussian_noise", &generalized_gaussian_noise, "multiplier"_a, "r"_a, "sensitivity"_a, "dimension"_a,
             "step"_a.none(), "adjacency"_a);
  module.def("truncated_geometric_noise", &truncated_geometric_noise, "scale"_a, "sensitivity"_a, "lowest"_a, "highest"_a, "adjacency"_a);
  module.def("draw_from_secure_bits", &draw_from_secure_bits, "capsule"_a);

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
          [](const LedgerHandle& handle, double delta, LimitSeconds seconds) {
            const auto ledger = handle.open();
            return asked(seconds, [&] { return accounting::to_json_text(accounting::audit(ledger, Delta{delta})); });
          },
          "delta"_a, "limit_seconds"_a.none())
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
  add_releases(module);
  add_models(module);
  add_trainings(module);
}
