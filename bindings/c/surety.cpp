// The C functions: each takes its arguments apart, asks the library, and turns what is thrown into a code. No logic of its own.
#include <surety.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
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
#include <surety/accounting/events/event_text.h>
#include <surety/accounting/ledger/audit.h>
#include <surety/accounting/ledger/audit_json.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/base/numbers/floating_point.h>
#include <surety/base/numbers/limit.h>
#include <surety/base/system/home_process.h>
#include <surety/base/text/error.h>
#include <surety/mechanisms/additive/any_noise.h>
#include <surety/mechanisms/additive/binomial.h>
#include <surety/mechanisms/additive/discrete_gaussian.h>
#include <surety/mechanisms/additive/discrete_laplace.h>
#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/additive/laplace.h>
#include <surety/mechanisms/additive/lp_noise.h>
#include <surety/mechanisms/additive/skellam.h>
#include <surety/mechanisms/additive/truncated_geometric.h>
#include <surety/mechanisms/bits/bits_ref.h>
#include <surety/mechanisms/bits/openssl_memory.h>
#include <surety/mechanisms/bits/random_bits.h>
#include <surety/mechanisms/timing/check_timing.h>
#include <surety/mechanisms/timing/noise_timing.h>

#include "calls.h"
#include "known_part.h"

namespace surety::c {

template <>
inline constexpr std::size_t first_size<surety_unit> = offsetof(surety_unit, each_without_name);

}  // namespace surety::c

struct surety_noise {
  surety::mechanisms::AnyNoise noise;
  std::variant<std::unique_ptr<surety::mechanisms::SystemBits>, surety::c::CallerBits> bits;
};
struct surety_reservation {
  surety::accounting::Reservation reservation;
};

namespace surety::c {
namespace {

Adjacency adjacency_of(surety_adjacency adjacency) {
  switch (adjacency) {
    case SURETY_ADD_OR_REMOVE_ONE: return Adjacency::add_or_remove_one;
    case SURETY_REPLACE_ONE: return Adjacency::replace_one;
    case SURETY_ZERO_OUT: return Adjacency::zero_out;
  }
  invalid("adjacency is " + std::to_string(adjacency) + ", must be one of surety_adjacencies");
}

surety_adjacency adjacency_for_c(Adjacency adjacency) {
  switch (adjacency) {
    case Adjacency::add_or_remove_one: return SURETY_ADD_OR_REMOVE_ONE;
    case Adjacency::replace_one: return SURETY_REPLACE_ONE;
    case Adjacency::zero_out: return SURETY_ZERO_OUT;
  }
  throw Error{ErrorCode::internal, "an adjacency without a number"};
}

accounting::Question question_of(surety_question question, double at) {
  switch (question) {
    case SURETY_EPSILON_AT_DELTA: return Delta{at};
    case SURETY_DELTA_AT_EPSILON: return Epsilon{at};
  }
  invalid("question is " + std::to_string(question) + ", must be one of surety_questions");
}

accounting::Effort effort_of(double width) {
  if (width == 0) return {};
  if (!(width > 0) || !is_finite(width)) refuse_quantity("width", width, "finite and at least 0");
  return {.width = width};
}

/// Names are literals of the library, and end with a zero.
void give_name(std::string_view name, const char** into) {
  if (into != nullptr) *into = name.data();
}

mechanisms::BitsRef bits_of(surety_noise& noise) {
  if (auto* const system = std::get_if<std::unique_ptr<mechanisms::SystemBits>>(&noise.bits)) return **system;
  return std::get<CallerBits>(noise.bits);
}

surety_noise* with_bits(mechanisms::AnyNoise law, const surety_bits* bits) {
  if (bits == nullptr) return new surety_noise{std::move(law), std::make_unique<mechanisms::SystemBits>()};
  return new surety_noise{std::move(law), CallerBits{bits}};
}

/// A power of two as a grid.
Grid grid_of(double step) {
  int exponent = 0;
  if (!(step > 0) || !is_finite(step) || std::frexp(step, &exponent) != 0.5) refuse_quantity("step", step, "0 or a power of two");
  return Grid{.log2_step = exponent - 1};
}

std::variant<L1Sensitivity, L2Sensitivity, LinfSensitivity> sensitivity_in(surety_norm norm, double value) {
  switch (norm) {
    case SURETY_L1: return L1Sensitivity{value};
    case SURETY_L2: return L2Sensitivity{value};
    case SURETY_LINF: return LinfSensitivity{value};
  }
  invalid("norm is " + std::to_string(norm) + ", must be one of surety_norms");
}

Count whole(double value, const char* name) {
  if (!(value >= 1 && value <= 0x1p53) || value != std::floor(value)) refuse_quantity(name, value, "a whole number from 1 to 2^53");
  return Count{static_cast<std::uint64_t>(value)};
}

mechanisms::CoordinateSensitivity along_one(const surety_noise_options& options) {
  return mechanisms::CoordinateSensitivity{whole(options.sensitivity, "sensitivity")};
}

/// Of noise that is named by another number.
void require_no_scale(const surety_noise_options& options, const char* number) {
  if (options.scale != 0) refuse_quantity("scale", options.scale, std::string{"0 where "} + number + " is an argument");
}

/// Refuses what the bits refuse whatever they are asked for.
void require_bits(const surety_noise& noise) {
  if (const auto* const own = std::get_if<CallerBits>(&noise.bits)) own->require_here();
}

/// What is said before a release: nothing, or that it is spent.
void spend_nothing(const surety_noise& noise) { static_cast<void>(noise); }
auto spending(surety_reservation* reservation) {
  return [&run = given(reservation, "reservation").reservation](const surety_noise& noise) { run.spend(noise.noise.event()); };
}

/// One release in place, of what the noise is for. Whatever can be refused is, before `spend` is asked.
template <class Value, class Spend>
void release(surety_noise* given_noise, Value* values, std::size_t count, const Spend& spend) {
  auto& noise = given(given_noise, "noise");
  const auto all = given_all(values, count, "values");
  noise.noise.require_release_of<Value>(all.size());
  require_bits(noise);
  spend(noise);
  noise.noise.release_in_place(all, bits_of(noise));
}

/// One release of a sum of rows, in the same order.
template <class Row, class Value, class Spend>
void release_sum(surety_noise* given_noise, const Row* rows, std::size_t count, std::size_t columns, double clip, Value* sum,
                 const Spend& spend) {
  auto& noise = given(given_noise, "noise");
  if (noise.noise.is_on_integers() != std::is_same_v<Value, std::int64_t>) {
    // As it says what it must be asked for.
    noise.noise.require_release_of<Value>(columns);
  }
  const auto into = given_all(sum, columns, "sum");
  auto added = noise.noise.sum_of_rows(ClippingNorm{clip}, columns);
  if (count > static_cast<std::size_t>(PTRDIFF_MAX) / columns) {
    invalid("count is " + std::to_string(count) + ", must be as many rows as fit in memory");
  }
  const auto all = given_all(rows, count * columns, "rows");
  for (std::size_t row = 0; row < count; ++row) added.add(all.subspan(row * columns, columns));
  require_bits(noise);
  spend(noise);
  const auto released = noise.noise.release<Value>(added, bits_of(noise));
  std::copy(released.begin(), released.end(), into.begin());
}

/// The grid that is asked for, or one for doubles.
Grid grid_asked(const surety_noise_options& options) {
  if (options.step != 0) return grid_of(options.step);
  return mechanisms::grid_for(L2Sensitivity{options.sensitivity}, NoiseMultiplier{options.scale});
}

/// Makes noise of what the options say, by `make(const surety_noise_options&)`.
template <class Make>
surety_code created(const surety_noise_options* options, surety_noise** noise, surety_failure** failure, const Make& make) noexcept {
  return guarded(failure, [&] {
    given(noise, "noise");
    const auto asked = known_part(options, "options");
    *noise = handed_over(with_bits(mechanisms::AnyNoise{make(asked)}, asked.bits));
  });
}

surety_time_contrast for_c(const mechanisms::TimingContrast& contrast) {
  constexpr double nothing = std::numeric_limits<double>::quiet_NaN();
  const auto& first = contrast.first;
  const auto& second = contrast.second;
  return {.first_draws = first.times.count + first.trimmed,
          .second_draws = second.times.count + second.trimmed,
          .first_trimmed = first.trimmed,
          .second_trimmed = second.trimmed,
          .first_mean = first.times.mean,
          .second_mean = second.times.mean,
          .t = contrast.t().value_or(nothing),
          .trimmed_z = contrast.trimmed_z().value_or(nothing)};
}

template <class Draw>
void check_timing_for_c(Draw draw, surety_timing* timing) {
  auto answer = known_part(timing, "timing");
  mechanisms::TimingOptions options{.seconds = answer.seconds};
  if (answer.most_draws != 0) options.draws = answer.most_draws;
  const auto report = mechanisms::check_timing(draw, options);
  answer.draws = report.draws;
  answer.trimmed = report.trimmed;
  answer.mean = report.mean;
  answer.correlation = report.correlation.value_or(std::numeric_limits<double>::quiet_NaN());
  answer.tail = for_c(report.contrasts[0]);
  answer.magnitude = for_c(report.contrasts[1]);
  answer.zero = for_c(report.contrasts[2]);
  answer.sign = for_c(report.contrasts[3]);
  answer.verdict = static_cast<std::int64_t>(report.verdict());
  require_no_use_of_reserve();
  give_known_part(answer, timing);
}

UnitOfPrivacy unit_of(const surety_unit* unit) {
  if (unit == nullptr) return {};
  const auto known = known_part(unit, "unit");
  if (known.each_without_name != 0 && known.each_without_name != 1) {
    invalid("unit.each_without_name is " + std::to_string(known.each_without_name) + ", must be 0 or 1");
  }
  return {&given(known.name, "unit.name"), Count{known.most}, {.empty = known.each_without_name == 1 ? EmptyUnit::each : EmptyUnit::one}};
}

accounting::Stopping stopping_of(int adaptive) {
  return adaptive != 0 ? accounting::Stopping::adaptive : accounting::Stopping::data_independent;
}

}  // namespace
}  // namespace surety::c

using namespace surety;
using namespace surety::c;

SURETY_API const char* surety_failure_message(const surety_failure* failure) { return failure == nullptr ? "" : failure->message.c_str(); }
SURETY_API surety_code surety_failure_code(const surety_failure* failure) { return failure == nullptr ? SURETY_OK : failure->code; }
SURETY_API void surety_failure_free(surety_failure* failure) {
  if (failure != &no_memory) delete failure;
}

SURETY_API int surety_abi_version(void) { return 0; }
SURETY_API const char* surety_version(void) { return SURETY_VERSION; }
SURETY_API void surety_free(char* text) { std::free(text); }

SURETY_API surety_code surety_event_parse(const char* text, size_t length, surety_adjacency adjacency, surety_event** event,
                                          surety_failure** failure) {
  return guarded(failure, [&] {
    given(event, "event");
    *event = handed_over(new surety_event{parse_event(text_of(text, length, "text"), adjacency_of(adjacency))});
  });
}
SURETY_API surety_code surety_event_parse_json(const char* text, size_t length, surety_event** event, surety_failure** failure) {
  return guarded(failure, [&] {
    given(event, "event");
    *event = handed_over(new surety_event{event_from_json(text_of(text, length, "text"))});
  });
}
SURETY_API void surety_event_free(surety_event* event) {
  const WatchedCall watched;
  delete event;
}
SURETY_API surety_adjacency surety_event_adjacency(const surety_event* event) {
  return event == nullptr ? SURETY_ADD_OR_REMOVE_ONE : adjacency_for_c(event->event.adjacency());
}
SURETY_API surety_code surety_event_text(const surety_event* event, char** text, size_t* length, surety_failure** failure) {
  return guarded(failure, [&] { give_text(describe(given(event, "event").event), text, length); });
}
SURETY_API surety_code surety_event_json(const surety_event* event, char** text, size_t* length, surety_failure** failure) {
  return guarded(failure, [&] { give_text(to_json_text(given(event, "event").event), text, length); });
}

SURETY_API surety_code surety_use_memory_reserve(surety_failure** failure) {
  return guarded(failure, [] {
    if (fill_memory_reserve() == 0) throw Error{ErrorCode::environment, "the system has no memory for the reserve of 16 MiB"};
    let_gmp_use_memory_reserve();
    end_watched_calls_where_memory_is_exhausted();
    static const bool is_used_by_openssl = mechanisms::let_openssl_use_memory_reserve();
    if (!is_used_by_openssl) {
      throw Error{ErrorCode::environment,
                  "OpenSSL has taken memory already; call surety_use_memory_reserve before the program uses OpenSSL"};
    }
  });
}
SURETY_API surety_code surety_limit_questions(double seconds, surety_called_off is_called_off, void* context, surety_failure** failure) {
  return guarded(failure, [&] {
    if (!(seconds >= 0) || !is_finite(seconds)) refuse_quantity("seconds", seconds, "finite and at least 0");
    set_question_limit({seconds, is_called_off, context});
  });
}
SURETY_API surety_code surety_epsilon(const surety_event* event, double delta, double width, surety_enclosure* epsilon,
                                      const char** accountant, surety_failure** failure) {
  return asked(failure, [&] {
    given(epsilon, "epsilon");
    const auto best = accounting::best_epsilon(given(event, "event").event, Delta{delta}, effort_of(width), accounting::Bounds::needed);
    *epsilon = for_c(best.value);
    give_name(best.accountant, accountant);
  });
}
SURETY_API surety_code surety_delta(const surety_event* event, double epsilon, double width, surety_enclosure* delta,
                                    const char** accountant, surety_failure** failure) {
  return asked(failure, [&] {
    given(delta, "delta");
    const auto best = accounting::best_delta(given(event, "event").event, Epsilon{epsilon}, effort_of(width), accounting::Bounds::needed);
    *delta = for_c(best.value);
    give_name(best.accountant, accountant);
  });
}
SURETY_API surety_code surety_event_explain(const surety_event* event, surety_question question, double at, double width, char** json,
                                            size_t* length, surety_failure** failure) {
  return asked(failure, [&] {
    given(json, "json");
    const auto& asked = given(event, "event").event;
    give_text(accounting::explained_json_text(asked, question_of(question, at), effort_of(width)), json, length);
  });
}
SURETY_API surety_code surety_curve(const surety_event* event, const double* epsilons, size_t count, double width, surety_enclosure* deltas,
                                    surety_failure** failure) {
  return asked(failure, [&] {
    const auto asked = given_all(epsilons, count, "epsilons");
    const auto into = given_all(deltas, count, "deltas");
    const accounting::QuickCurve curve{given(event, "event").event, effort_of(width)};
    std::vector<surety_enclosure> found;
    for (const double epsilon : asked) found.push_back(for_c(curve(Epsilon{epsilon})));
    std::copy(found.begin(), found.end(), into.begin());
  });
}
SURETY_API surety_code surety_tradeoff(const surety_event* event, const double* false_positive_rates, size_t count, double width,
                                       surety_enclosure* false_negative_rates, surety_failure** failure) {
  return asked(failure, [&] {
    const auto asked = given_all(false_positive_rates, count, "false_positive_rates");
    const auto into = given_all(false_negative_rates, count, "false_negative_rates");
    const accounting::QuickCurve curve{given(event, "event").event, effort_of(width)};
    std::vector<surety_enclosure> found;
    for (const double rate : asked) found.push_back(for_c(accounting::tradeoff(curve, Probability{rate})));
    std::copy(found.begin(), found.end(), into.begin());
  });
}

SURETY_API surety_code surety_event_risk(const surety_event* event, double width, surety_risk* risk, surety_failure** failure) {
  return asked(failure, [&] {
    auto answer = known_part(risk, "risk");
    accounting::RiskQuestions questions;
    questions.prior = Probability{answer.prior};
    questions.false_positive_rates = {Probability{answer.false_positive_rate}};
    const auto found = accounting::risk(given(event, "event").event, questions, effort_of(width));
    answer.advantage = for_c(found.advantage);
    answer.true_positive_rate = for_c(found.rates.front().true_positive_rate);
    answer.accuracy = for_c(found.accuracy);
    answer.mu = for_c(found.mu);
    give_known_part(answer, risk);
  });
}

SURETY_API surety_code surety_solve(const char* event, size_t length, const char* name, size_t name_length, surety_adjacency adjacency,
                                    double epsilon, double delta, double width, surety_solution* solution, surety_event** solved,
                                    surety_failure** failure) {
  return asked(failure, [&] {
    auto answer = known_part(solution, "solution");
    const std::string text{text_of(event, length, "event")};
    const std::string unknown{text_of(name, name_length, "name")};
    const Target target{.epsilon = Epsilon{epsilon}, .delta = Delta{delta}, .adjacency = adjacency_of(adjacency)};
    accounting::BestCost cost{target, effort_of(width)};
    const EventOfNumber sought{text, target.adjacency, unknown};
    const auto found = solve(sought, target, parameter_of(sought), cost.functions());
    answer.value = found.value;
    answer.failing = found.failing.value_or(std::numeric_limits<double>::quiet_NaN());
    answer.epsilon = for_c(cost.report(found.event).value);
    answer.gap = found.gap;
    if (solved != nullptr) *solved = handed_over(new surety_event{found.event});
    give_known_part(answer, solution);
  });
}

SURETY_API surety_code surety_gaussian_create(const surety_noise_options* options, surety_noise** noise, surety_failure** failure) {
  return created(options, noise, failure, [](const surety_noise_options& asked) {
    return mechanisms::GaussianOnReals{{.multiplier = NoiseMultiplier{asked.scale},
                                        .sensitivity = L2Sensitivity{asked.sensitivity},
                                        .grid = grid_asked(asked),
                                        .dimension = asked.dimension,
                                        .adjacency = adjacency_of(asked.adjacency)}};
  });
}
SURETY_API surety_code surety_laplace_create(const surety_noise_options* options, surety_noise** noise, surety_failure** failure) {
  return created(options, noise, failure, [](const surety_noise_options& asked) {
    return mechanisms::LaplaceOnReals{{.scale = NoiseScale{asked.scale},
                                       .sensitivity = L1Sensitivity{asked.sensitivity},
                                       .grid = grid_asked(asked),
                                       .dimension = asked.dimension,
                                       .adjacency = adjacency_of(asked.adjacency)}};
  });
}
SURETY_API surety_code surety_k_norm_create(const surety_noise_options* options, surety_norm norm, surety_noise** noise,
                                            surety_failure** failure) {
  return created(options, noise, failure, [norm](const surety_noise_options& asked) {
    return mechanisms::KNormOnReals{{.scale = NoiseScale{asked.scale},
                                     .sensitivity = sensitivity_in(norm, asked.sensitivity),
                                     .grid = grid_asked(asked),
                                     .dimension = Count{asked.dimension},
                                     .adjacency = adjacency_of(asked.adjacency)}};
  });
}
SURETY_API surety_code surety_generalized_gaussian_create(const surety_noise_options* options, double r, surety_noise** noise,
                                                          surety_failure** failure) {
  return created(options, noise, failure, [r](const surety_noise_options& asked) {
    return mechanisms::GeneralizedGaussianOnReals{{.r = NormExponent{r},
                                                   .multiplier = NoiseMultiplier{asked.scale},
                                                   .sensitivity = LrSensitivity{asked.sensitivity},
                                                   .grid = grid_asked(asked),
                                                   .dimension = Count{asked.dimension},
                                                   .adjacency = adjacency_of(asked.adjacency)}};
  });
}
SURETY_API surety_code surety_discrete_gaussian_create(const surety_noise_options* options, surety_noise** noise,
                                                       surety_failure** failure) {
  return created(options, noise, failure, [](const surety_noise_options& asked) {
    return mechanisms::DiscreteGaussian{
        {.sigma = NoiseScale{asked.scale}, .sensitivity = along_one(asked), .adjacency = adjacency_of(asked.adjacency)}};
  });
}
SURETY_API surety_code surety_discrete_laplace_create(const surety_noise_options* options, surety_noise** noise, surety_failure** failure) {
  return created(options, noise, failure, [](const surety_noise_options& asked) {
    return mechanisms::DiscreteLaplace{
        {.scale = NoiseScale{asked.scale}, .sensitivity = L1Sensitivity{asked.sensitivity}, .adjacency = adjacency_of(asked.adjacency)}};
  });
}
SURETY_API surety_code surety_truncated_geometric_create(const surety_noise_options* options, int64_t lowest, int64_t highest,
                                                         surety_noise** noise, surety_failure** failure) {
  return created(options, noise, failure, [=](const surety_noise_options& asked) {
    return mechanisms::TruncatedGeometric{{.scale = NoiseScale{asked.scale},
                                           .sensitivity = L1Sensitivity{asked.sensitivity},
                                           .range = mechanisms::IntegerRange{lowest, highest},
                                           .adjacency = adjacency_of(asked.adjacency)}};
  });
}
SURETY_API surety_code surety_binomial_create(const surety_noise_options* options, uint64_t flips, surety_noise** noise,
                                              surety_failure** failure) {
  return created(options, noise, failure, [=](const surety_noise_options& asked) {
    require_no_scale(asked, "the number of flips");
    return mechanisms::Binomial{{.flips = Count{flips}, .sensitivity = along_one(asked), .adjacency = adjacency_of(asked.adjacency)}};
  });
}
SURETY_API surety_code surety_skellam_create(const surety_noise_options* options, double mean, surety_noise** noise,
                                             surety_failure** failure) {
  return created(options, noise, failure, [=](const surety_noise_options& asked) {
    require_no_scale(asked, "the mean");
    return mechanisms::Skellam{{.mean = PoissonMean{mean}, .sensitivity = along_one(asked), .adjacency = adjacency_of(asked.adjacency)}};
  });
}
SURETY_API void surety_noise_free(surety_noise* noise) {
  const WatchedCall watched;
  delete noise;
}

SURETY_API surety_code surety_noise_event(const surety_noise* noise, surety_event** event, surety_failure** failure) {
  return guarded(failure, [&] {
    given(event, "event");
    *event = handed_over(new surety_event{given(noise, "noise").noise.event()});
  });
}
SURETY_API double surety_noise_step(const surety_noise* noise) { return noise == nullptr ? 0 : noise->noise.grid().step(); }

SURETY_API surety_code surety_release_double(surety_noise* noise, double* values, size_t count, surety_failure** failure) {
  return guarded(failure, [&] { release(noise, values, count, spend_nothing); });
}
SURETY_API surety_code surety_release_float(surety_noise* noise, float* values, size_t count, surety_failure** failure) {
  return guarded(failure, [&] { release(noise, values, count, spend_nothing); });
}
SURETY_API surety_code surety_release_int64(surety_noise* noise, int64_t* values, size_t count, surety_failure** failure) {
  return guarded(failure, [&] { release(noise, values, count, spend_nothing); });
}
SURETY_API surety_code surety_release_sum_double(surety_noise* noise, const double* rows, size_t count, size_t columns, double clip,
                                                 double* sum, surety_failure** failure) {
  return guarded(failure, [&] { release_sum(noise, rows, count, columns, clip, sum, spend_nothing); });
}
SURETY_API surety_code surety_release_sum_float(surety_noise* noise, const float* rows, size_t count, size_t columns, double clip,
                                                double* sum, surety_failure** failure) {
  return guarded(failure, [&] { release_sum(noise, rows, count, columns, clip, sum, spend_nothing); });
}
SURETY_API surety_code surety_release_sum_int64(surety_noise* noise, const int64_t* rows, size_t count, size_t columns, double clip,
                                                int64_t* sum, surety_failure** failure) {
  return guarded(failure, [&] { release_sum(noise, rows, count, columns, clip, sum, spend_nothing); });
}

SURETY_API surety_code surety_check_timing(surety_draw draw, void* context, surety_timing* timing, surety_failure** failure) {
  return guarded(failure, [&] {
    given(draw, "draw");
    check_timing_for_c([=] { return draw(context); }, timing);
  });
}
SURETY_API surety_code surety_noise_check_timing(surety_noise* noise, surety_timing* timing, surety_failure** failure) {
  return guarded(failure, [&] {
    auto& timed = given(noise, "noise");
    require_bits(timed);
    check_timing_for_c(mechanisms::SingleReleases{timed.noise, bits_of(timed)}, timing);
  });
}

SURETY_API surety_code surety_ledger_create(const char* path, surety_adjacency adjacency, const surety_budget* budget,
                                            const surety_unit* unit, surety_ledger** ledger, surety_failure** failure) {
  return guarded(failure, [&] {
    given(ledger, "ledger");
    std::optional<accounting::Budget> asked;
    if (budget != nullptr) {
      const auto known = known_part(budget, "budget");
      asked = accounting::Budget{
          .target = {.epsilon = Epsilon{known.epsilon}, .delta = Delta{known.delta}, .adjacency = adjacency_of(adjacency)}};
      if (known.filter != nullptr) asked->filter = accounting::parse_filter_kind(known.filter);
      if (known.order != 0) asked->order = accounting::RenyiOrder{known.order};
    }
    *ledger =
        handed_over(new surety_ledger{accounting::Ledger::create(&given(path, "path"), adjacency_of(adjacency), asked, unit_of(unit))});
  });
}
SURETY_API surety_code surety_ledger_open(const char* path, surety_ledger** ledger, surety_failure** failure) {
  return guarded(failure, [&] {
    given(ledger, "ledger");
    *ledger = handed_over(new surety_ledger{accounting::Ledger::open(&given(path, "path"))});
  });
}
SURETY_API void surety_ledger_free(surety_ledger* ledger) {
  const WatchedCall watched;
  delete ledger;
}

SURETY_API surety_code surety_ledger_reserve(surety_ledger* ledger, const surety_event* event, const surety_promise* promise,
                                             const char* note, size_t note_length, surety_reservation** reservation,
                                             surety_failure** failure) {
  return guarded(failure, [&] {
    given(reservation, "reservation");
    auto& book = given(ledger, "ledger").ledger;
    accounting::Plan plan{
        .event = given(event, "event").event, .unit = book.unit(), .note = std::string{text_of(note, note_length, "note")}};
    if (promise != nullptr) {
      const auto known = known_part(promise, "promise");
      plan.promise = Target{.epsilon = Epsilon{known.epsilon}, .delta = Delta{known.delta}, .adjacency = plan.event.adjacency()};
    }
    *reservation = handed_over(new surety_reservation{book.reserve(std::move(plan))});
  });
}
SURETY_API surety_code surety_ledger_settle(surety_ledger* ledger, uint64_t run, const surety_event* released, int adaptive,
                                            surety_failure** failure) {
  return guarded(failure, [&] {
    const std::optional<Event> event = released == nullptr ? std::optional<Event>{} : released->event;
    given(ledger, "ledger").ledger.settle({run}, event, stopping_of(adaptive));
  });
}
SURETY_API surety_code surety_ledger_audit(surety_ledger* ledger, double delta, char** json, size_t* length, surety_failure** failure) {
  return asked(failure, [&] {
    given(json, "json");
    give_text(accounting::to_json_text(accounting::audit(given(ledger, "ledger").ledger, Delta{delta})), json, length);
  });
}

SURETY_API surety_code surety_reservation_spend(surety_reservation* reservation, const surety_event* event, surety_failure** failure) {
  return guarded(failure, [&] { given(reservation, "reservation").reservation.spend(given(event, "event").event); });
}
SURETY_API surety_code surety_reservation_release_double(surety_reservation* reservation, surety_noise* noise, double* values, size_t count,
                                                         surety_failure** failure) {
  return guarded(failure, [&] { release(noise, values, count, spending(reservation)); });
}
SURETY_API surety_code surety_reservation_release_float(surety_reservation* reservation, surety_noise* noise, float* values, size_t count,
                                                        surety_failure** failure) {
  return guarded(failure, [&] { release(noise, values, count, spending(reservation)); });
}
SURETY_API surety_code surety_reservation_release_int64(surety_reservation* reservation, surety_noise* noise, int64_t* values, size_t count,
                                                        surety_failure** failure) {
  return guarded(failure, [&] { release(noise, values, count, spending(reservation)); });
}
SURETY_API surety_code surety_reservation_release_sum_double(surety_reservation* reservation, surety_noise* noise, const double* rows,
                                                             size_t count, size_t columns, double clip, double* sum,
                                                             surety_failure** failure) {
  return guarded(failure, [&] { release_sum(noise, rows, count, columns, clip, sum, spending(reservation)); });
}
SURETY_API surety_code surety_reservation_release_sum_float(surety_reservation* reservation, surety_noise* noise, const float* rows,
                                                            size_t count, size_t columns, double clip, double* sum,
                                                            surety_failure** failure) {
  return guarded(failure, [&] { release_sum(noise, rows, count, columns, clip, sum, spending(reservation)); });
}
SURETY_API surety_code surety_reservation_release_sum_int64(surety_reservation* reservation, surety_noise* noise, const int64_t* rows,
                                                            size_t count, size_t columns, double clip, int64_t* sum,
                                                            surety_failure** failure) {
  return guarded(failure, [&] { release_sum(noise, rows, count, columns, clip, sum, spending(reservation)); });
}
SURETY_API surety_code surety_reservation_settle(surety_reservation* reservation, int adaptive, surety_failure** failure) {
  return guarded(failure, [&] { given(reservation, "reservation").reservation.settle(stopping_of(adaptive)); });
}
SURETY_API uint64_t surety_reservation_run(const surety_reservation* reservation) {
  return reservation == nullptr ? 0 : reservation->reservation.id().value;
}
SURETY_API void surety_reservation_free(surety_reservation* reservation) {
  const WatchedCall watched;
  delete reservation;
}
