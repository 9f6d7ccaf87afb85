// Every function with NULL for each of its pointers, and with NaN and infinities for each of its numbers, one at a time.
#include <surety.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <known_part.h>
#include <support/refusal.h>
#include <support/temporary_folder.h>

namespace surety::arguments_test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

std::set<std::string>& tried() {
  static std::set<std::string> names;
  return names;
}

/// Places of arguments that may be NULL, beside the last one.
using MayBeNull = std::set<std::size_t>;

template <class... Arguments>
class Trial {
 public:
  Trial(std::string name, surety_code (*function)(Arguments...), std::tuple<Arguments...> good, MayBeNull may_be_null)
      : name_{std::move(name)}, function_{function}, good_{std::move(good)}, may_be_null_{std::move(may_be_null)} {
    tried().insert(name_);
    each(std::index_sequence_for<Arguments...>{});
    EXPECT_EQ(std::apply(function_, good_), SURETY_OK) << name_;
  }

 private:
  template <std::size_t... places>
  void each(std::index_sequence<places...> /*all*/) {
    (spoil<places>(), ...);
  }

  template <std::size_t place>
  void spoil() {
    using Argument = std::tuple_element_t<place, std::tuple<Arguments...>>;
    if constexpr (std::is_pointer_v<Argument> && place + 1 < sizeof...(Arguments)) {
      if (!may_be_null_.contains(place)) refused<place>(nullptr);
    } else if constexpr (std::is_same_v<Argument, double>) {
      refused<place>(nan);
      refused<place>(infinity);
      refused<place>(-infinity);
    }
  }

  template <std::size_t place>
  void refused(std::tuple_element_t<place, std::tuple<Arguments...>> bad) {
    auto arguments = good_;
    std::get<place>(arguments) = bad;
    surety_failure* failure = nullptr;
    std::get<sizeof...(Arguments) - 1>(arguments) = &failure;
    EXPECT_EQ(std::apply(function_, arguments), SURETY_INVALID_ARGUMENT) << name_ << ", argument " << place;
    const std::string message = surety_failure_message(failure);
    EXPECT_FALSE(message.empty()) << name_ << ", argument " << place;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    surety_failure_free(failure);
    // Nor does anybody have to want the message.
    std::get<sizeof...(Arguments) - 1>(arguments) = nullptr;
    EXPECT_EQ(std::apply(function_, arguments), SURETY_INVALID_ARGUMENT) << name_ << ", argument " << place;
  }

  std::string name_;
  surety_code (*function_)(Arguments...);
  std::tuple<Arguments...> good_;
  MayBeNull may_be_null_;
};

template <class... Arguments>
void spoil(const char* name, surety_code (*function)(Arguments...), std::type_identity_t<std::tuple<Arguments...>> good,
           MayBeNull may_be_null = {}) {
  const Trial<Arguments...> trial{name, function, std::move(good), std::move(may_be_null)};
}

/// Refused with each of these numbers in a field of `what`, which `call` is given.
template <class Struct, class Call>
void spoil_fields(const char* name, Struct what, std::initializer_list<double Struct::*> fields, const Call& call,
                  const std::set<double>& allowed = {}) {
  for (const auto field : fields) {
    for (const double bad : {nan, infinity, -infinity, -1.0}) {
      if (allowed.contains(bad)) continue;
      auto spoilt = what;
      spoilt.*field = bad;
      EXPECT_EQ(call(&spoilt), SURETY_INVALID_ARGUMENT) << name << ' ' << bad;
    }
  }
  for (const std::size_t size : {std::size_t{0}, sizeof what - 1, sizeof what + 4096}) {
    auto spoilt = what;
    spoilt.size = size;
    EXPECT_EQ(call(&spoilt), SURETY_INVALID_ARGUMENT) << name << " of another size";
  }
  struct {
    Struct known;
    double later;
  } spoilt{what, 1};
  spoilt.known.size = sizeof spoilt;
  EXPECT_EQ(call(&spoilt.known), SURETY_INVALID_ARGUMENT) << name << " of a later version";
}

template <class Struct>
Struct sized() {
  Struct made{};
  made.size = sizeof made;
  return made;
}

#define SPOIL(function, ...) spoil(#function, function, __VA_ARGS__)

TEST(SuretyCArguments, AreRefusedOneAtATime) {
  const TemporaryFolder folder;
  surety_failure* none = nullptr;
  surety_event* event = nullptr;
  SPOIL(surety_event_parse, {"gaussian(20)", 12, SURETY_ZERO_OUT, &event, &none});
  char* text = nullptr;
  std::size_t length = 0;
  SPOIL(surety_event_text, {event, &text, &length, &none}, {2});
  surety_free(text);
  SPOIL(surety_event_json, {event, &text, &length, &none}, {2});
  surety_event* again = nullptr;
  SPOIL(surety_event_parse_json, {text, length, &again, &none});
  surety_free(text);
  surety_event_free(again);

  SPOIL(surety_limit_questions, {1000.0, [](void* /*context*/) { return 0; }, &length, &none}, {1, 2});
  EXPECT_EQ(surety_limit_questions(-1, nullptr, nullptr, nullptr), SURETY_INVALID_ARGUMENT);
  surety_enclosure found{};
  const char* accountant = nullptr;
  SPOIL(surety_epsilon, {event, 1e-6, 1e-3, &found, &accountant, &none}, {4});
  SPOIL(surety_delta, {event, 1.0, 1e-3, &found, &accountant, &none}, {4});
  SPOIL(surety_event_explain, {event, SURETY_EPSILON_AT_DELTA, 1e-6, 1e-3, &text, &length, &none}, {5});
  surety_free(text);
  const double at = 0.5;
  SPOIL(surety_curve, {event, &at, 1, 1e-3, &found, &none});
  SPOIL(surety_tradeoff, {event, &at, 1, 1e-3, &found, &none});
  auto risk = sized<surety_risk>();
  risk.prior = 0.5;
  risk.false_positive_rate = 0.1;
  SPOIL(surety_event_risk, {event, 1e-3, &risk, &none});
  spoil_fields("risk", risk, {&surety_risk::prior, &surety_risk::false_positive_rate},
               [&](surety_risk* spoilt) { return surety_event_risk(event, 0, spoilt, nullptr); });
  auto solution = sized<surety_solution>();
  SPOIL(surety_solve, {"gaussian(z)", 11, "z", 1, SURETY_ZERO_OUT, 1.0, 1e-6, 1e-3, &solution, &again, &none}, {9});
  surety_event_free(again);

  auto options = sized<surety_noise_options>();
  options.scale = 2;
  options.sensitivity = 1;
  options.dimension = 2;
  surety_noise* noise = nullptr;
  const auto spoil_noise = [&](const char* name, surety_code (*create)(const surety_noise_options*, surety_noise**, surety_failure**)) {
    spoil(name, create, {&options, &noise, &none});
    surety_noise_free(noise);
    noise = nullptr;
    spoil_fields(name, options, {&surety_noise_options::scale, &surety_noise_options::sensitivity},
                 [&](surety_noise_options* spoilt) { return create(spoilt, &noise, nullptr); });
    EXPECT_EQ(noise, nullptr);
  };
  spoil_noise("surety_laplace_create", surety_laplace_create);
  spoil_noise("surety_discrete_gaussian_create", surety_discrete_gaussian_create);
  spoil_noise("surety_discrete_laplace_create", surety_discrete_laplace_create);
  spoil_noise("surety_gaussian_create", surety_gaussian_create);
  spoil_fields("options", options, {&surety_noise_options::step},
               [&](surety_noise_options* spoilt) { return surety_gaussian_create(spoilt, &noise, nullptr); });
  SPOIL(surety_k_norm_create, {&options, SURETY_L2, &noise, &none});
  surety_noise_free(noise);
  EXPECT_EQ(surety_k_norm_create(&options, 3, &noise, nullptr), SURETY_INVALID_ARGUMENT);
  SPOIL(surety_generalized_gaussian_create, {&options, 3.0, &noise, &none});
  surety_noise_free(noise);
  auto unscaled = options;
  unscaled.scale = 0;
  SPOIL(surety_binomial_create, {&unscaled, 100, &noise, &none});
  surety_noise_free(noise);
  SPOIL(surety_skellam_create, {&unscaled, 2.5, &noise, &none});
  surety_noise_free(noise);
  noise = nullptr;
  spoil_fields("options", unscaled, {&surety_noise_options::scale, &surety_noise_options::sensitivity}, [&](surety_noise_options* spoilt) {
    EXPECT_EQ(surety_skellam_create(spoilt, 2.5, &noise, nullptr), SURETY_INVALID_ARGUMENT);
    return surety_binomial_create(spoilt, 100, &noise, nullptr);
  });
  EXPECT_EQ(noise, nullptr);
  std::array<std::int64_t, 2> integers{1, 2};
  SPOIL(surety_truncated_geometric_create, {&options, 0, 10, &noise, &none});
  EXPECT_EQ(surety_truncated_geometric_create(&options, 10, 0, &noise, nullptr), SURETY_INVALID_ARGUMENT) << "an empty range";
  SPOIL(surety_release_int64, {noise, integers.data(), 2, &none});
  SPOIL(surety_release_sum_int64, {noise, integers.data(), 1, 2, 1.0, integers.data(), &none});
  auto timing = sized<surety_timing>();
  timing.seconds = 100;
  timing.most_draws = 10;
  const surety_draw draw = [](void* /*context*/) { return 1.0; };
  SPOIL(surety_check_timing, {draw, nullptr, &timing, &none}, {1});
  spoil_fields("timing", timing, {&surety_timing::seconds},
               [&](surety_timing* spoilt) { return surety_check_timing(draw, nullptr, spoilt, nullptr); });
  SPOIL(surety_noise_check_timing, {noise, &timing, &none});
  surety_ledger* counting = nullptr;
  surety_reservation* many = nullptr;
  const auto reserve_of = [&](const surety_noise* of, const char* name) {
    surety_event* once = nullptr;
    ASSERT_EQ(surety_noise_event(of, &once, nullptr), SURETY_OK);
    ASSERT_EQ(surety_ledger_create((folder / name).c_str(), SURETY_ADD_OR_REMOVE_ONE, nullptr, nullptr, &counting, nullptr), SURETY_OK);
    surety_event_text(once, &text, &length, nullptr);
    const std::string all = "repeat(100, " + std::string{text, length} + ")";
    surety_free(text);
    surety_event_free(once);
    ASSERT_EQ(surety_event_parse(all.data(), all.size(), SURETY_ADD_OR_REMOVE_ONE, &once, nullptr), SURETY_OK);
    ASSERT_EQ(surety_ledger_reserve(counting, once, nullptr, nullptr, 0, &many, nullptr), SURETY_OK);
    surety_event_free(once);
  };
  reserve_of(noise, "integers.db");
  SPOIL(surety_reservation_release_int64, {many, noise, integers.data(), 2, &none});
  SPOIL(surety_reservation_release_sum_int64, {many, noise, integers.data(), 1, 2, 1.0, integers.data(), &none});
  surety_reservation_free(many);
  surety_ledger_free(counting);
  surety_noise_free(noise);
  auto bits = sized<surety_bits>();
  options.bits = &bits;
  EXPECT_EQ(surety_laplace_create(&options, &noise, nullptr), SURETY_INVALID_ARGUMENT) << "nobody vouches for them";
  bits.vouched_for = SURETY_I_VOUCH_FOR_THESE_BITS;
  EXPECT_EQ(surety_laplace_create(&options, &noise, nullptr), SURETY_INVALID_ARGUMENT) << "no function";
  bits.size = 8;
  EXPECT_EQ(surety_laplace_create(&options, &noise, nullptr), SURETY_INVALID_ARGUMENT) << "another size";
  options.bits = nullptr;
  options.dimension = 0;
  EXPECT_EQ(surety_gaussian_create(&options, &noise, nullptr), SURETY_INVALID_ARGUMENT) << "no dimension";
  options.dimension = 2;
  options.adjacency = 3;
  EXPECT_EQ(surety_gaussian_create(&options, &noise, nullptr), SURETY_INVALID_ARGUMENT) << "no adjacency";
  options.adjacency = SURETY_ADD_OR_REMOVE_ONE;
  options.step = 0x1p-10;
  ASSERT_EQ(surety_gaussian_create(&options, &noise, nullptr), SURETY_OK);
  std::array<double, 2> doubles{1, 2};
  std::array<float, 2> floats{1, 2};
  SPOIL(surety_release_sum_double, {noise, doubles.data(), 1, 2, 1.0, doubles.data(), &none});
  SPOIL(surety_release_sum_float, {noise, floats.data(), 1, 2, 1.0, doubles.data(), &none});
  reserve_of(noise, "reals.db");
  SPOIL(surety_reservation_release_double, {many, noise, doubles.data(), 2, &none});
  SPOIL(surety_reservation_release_float, {many, noise, floats.data(), 2, &none});
  SPOIL(surety_reservation_release_sum_double, {many, noise, doubles.data(), 1, 2, 1.0, doubles.data(), &none});
  SPOIL(surety_reservation_release_sum_float, {many, noise, floats.data(), 1, 2, 1.0, doubles.data(), &none});
  surety_reservation_free(many);
  surety_ledger_free(counting);
  SPOIL(surety_release_double, {noise, doubles.data(), 2, &none});
  SPOIL(surety_release_float, {noise, floats.data(), 2, &none});
  surety_event* of_noise = nullptr;
  SPOIL(surety_noise_event, {noise, &of_noise, &none});
  surety_event_free(of_noise);
  surety_noise_free(noise);

  const auto path = (folder / "ledger.db").string();
  auto budget = sized<surety_budget>();
  budget.epsilon = 1;
  budget.delta = 1e-6;
  auto unit = sized<surety_unit>();
  unit.name = "patient";
  unit.most = 5;
  surety_ledger* ledger = nullptr;
  spoil_fields("budget", budget, {&surety_budget::epsilon, &surety_budget::delta, &surety_budget::order}, [&](surety_budget* spoilt) {
    return surety_ledger_create(path.c_str(), SURETY_ZERO_OUT, spoilt, nullptr, &ledger, nullptr);
  });
  budget.filter = "none";
  EXPECT_EQ(surety_ledger_create(path.c_str(), SURETY_ZERO_OUT, &budget, nullptr, &ledger, nullptr), SURETY_INVALID_ARGUMENT);
  budget.filter = "zcdp";
  budget.order = 2;
  EXPECT_EQ(surety_ledger_create(path.c_str(), SURETY_ZERO_OUT, &budget, nullptr, &ledger, nullptr), SURETY_INVALID_ARGUMENT);
  budget.order = 0;
  constexpr std::size_t earlier = offsetof(surety_unit, each_without_name);  // before that field was known
  for (const auto& wrong :
       {surety_unit{sizeof unit, nullptr, 5, 0}, surety_unit{sizeof unit, "", 5, 0}, surety_unit{sizeof unit, "patient", 0, 0},
        surety_unit{3, "patient", 5, 0}, surety_unit{sizeof unit, "row", 2, 0}, surety_unit{sizeof unit, "row", 1, 1},
        surety_unit{sizeof unit, "patient", 5, 2}, surety_unit{earlier, "row", 2, 0}, surety_unit{earlier - 1, "patient", 5, 0}}) {
    EXPECT_EQ(surety_ledger_create(path.c_str(), SURETY_ZERO_OUT, &budget, &wrong, &ledger, nullptr), SURETY_INVALID_ARGUMENT);
  }
  SPOIL(surety_ledger_create, {path.c_str(), SURETY_ZERO_OUT, &budget, &unit, &ledger, &none}, {2, 3});
  surety_ledger* same = nullptr;
  SPOIL(surety_ledger_open, {path.c_str(), &same, &none});
  surety_ledger_free(same);
  auto promise = sized<surety_promise>();
  promise.epsilon = 1;
  promise.delta = 1e-6;
  surety_reservation* reservation = nullptr;
  spoil_fields("promise", promise, {&surety_promise::epsilon, &surety_promise::delta},
               [&](surety_promise* spoilt) { return surety_ledger_reserve(ledger, event, spoilt, "note", 4, &reservation, nullptr); });
  SPOIL(surety_ledger_reserve, {ledger, event, &promise, "note", 4, &reservation, &none}, {2});
  SPOIL(surety_reservation_spend, {reservation, event, &none});
  SPOIL(surety_reservation_settle, {reservation, 0, &none});
  surety_reservation_free(reservation);
  ASSERT_EQ(surety_ledger_reserve(ledger, event, nullptr, nullptr, 0, &reservation, nullptr), SURETY_OK);
  surety_reservation_free(reservation);
  EXPECT_EQ(surety_ledger_settle(ledger, 3, nullptr, 0, nullptr), SURETY_INVALID_ARGUMENT) << "no such run";
  SPOIL(surety_ledger_settle, {ledger, 2, nullptr, 0, &none}, {2});
  SPOIL(surety_ledger_audit, {ledger, 1e-6, &text, &length, &none}, {3});
  const std::string audit{text, length};
  surety_free(text);
  const auto of_unit = [](const std::string& empty) {
    return R"("unit":{"delimiter":",","empty":")" + empty +
           R"(","most":5,"name":"patient","names":"bytes","place":null,"quoted_lines":100,"record_bytes":67108864})";
  };
  EXPECT_NE(audit.find(of_unit("one")), std::string::npos) << audit;
  EXPECT_NE(audit.find(R"("promise":{"delta":1e-06,"epsilon":1.0})"), std::string::npos) << audit;
  EXPECT_NE(audit.find(R"("kept":true)"), std::string::npos) << audit;
  surety_ledger_free(ledger);
  // A program of before the last field says nothing of it, whatever stands behind.
  for (const auto& [said, empty] :
       {std::pair{surety_unit{sizeof unit, "patient", 5, 1}, "each"}, {surety_unit{earlier, "patient", 5, 1}, "one"}}) {
    ASSERT_EQ(surety_ledger_create((path + empty).c_str(), SURETY_ZERO_OUT, nullptr, &said, &ledger, nullptr), SURETY_OK);
    ASSERT_EQ(surety_ledger_audit(ledger, 1e-6, &text, &length, nullptr), SURETY_OK);
    EXPECT_NE((std::string{text, length}.find(of_unit(empty))), std::string::npos) << text;
    surety_free(text);
    surety_ledger_free(ledger);
  }
  surety_event_free(event);

  // A job from its plan to its predictions.
  const auto table = folder.write("table.csv", "a,y\n1,0\n2,1\n1,1\n2,0\n1,1\n").string();
  const std::string plan =
      R"({"version": 1, "command": "train", "adjacency": "zero-out", "target": {"epsilon": 1, "delta": 1e-05}, "options": )"
      R"({"algorithm": "gradient-descent", "label": "y>0", "steps": 2, "data": ")" +
      table + R"("}})";
  surety_job* job = nullptr;
  SPOIL(surety_job_prepare, {plan.data(), plan.size(), &job, &none});
  SPOIL(surety_job_event, {job, &event, &none});
  surety_event_free(event);
  double delta = 0;
  SPOIL(surety_job_cost, {job, &found, &delta, &none}, {2});
  SPOIL(surety_job_json, {job, &text, &length, &none}, {2});
  surety_free(text);
  surety_ledger* of_job = nullptr;
  ASSERT_EQ(surety_ledger_create((folder / "job.db").c_str(), SURETY_ZERO_OUT, nullptr, nullptr, &of_job, nullptr), SURETY_OK);
  auto how = sized<surety_run_options>();
  surety_result* result = nullptr;
  SPOIL(surety_job_run, {job, table.c_str(), of_job, &how, &result, &none}, {1, 3});
  spoil_fields("run options", how, {},
               [&](surety_run_options* spoilt) { return surety_job_run(job, nullptr, of_job, spoilt, &result, nullptr); });
  surety_result_free(result);
  // The stream is released by each call, so each needs one of its own: SuretyCJobs.ReleaseAStreamWhateverBecomesOfTheCall spoils the rest.
  ArrowArrayStream gone{};
  EXPECT_EQ(surety_job_run_arrow(job, &gone, of_job, nullptr, &result, nullptr), SURETY_INVALID_ARGUMENT) << "released already";
  EXPECT_EQ(surety_job_run_arrow(job, nullptr, of_job, nullptr, &result, nullptr), SURETY_INVALID_ARGUMENT);
  tried().insert("surety_job_run_arrow");
  ASSERT_EQ(surety_job_run(job, nullptr, of_job, nullptr, &result, nullptr), SURETY_OK);
  SPOIL(surety_result_json, {result, &text, &length, &none}, {2});
  surety_free(text);
  ArrowArrayStream stream{};
  SPOIL(surety_result_arrow, {result, &stream, &none});
  stream.release(&stream);
  surety_model* model = nullptr;
  SPOIL(surety_result_model, {result, &model, &none});
  const auto model_path = (folder / "model.json").string();
  SPOIL(surety_model_save, {model, model_path.c_str(), &none});
  SPOIL(surety_model_json, {model, &text, &length, &none}, {2});
  surety_model_free(model);
  SPOIL(surety_model_parse, {text, length, &model, &none});
  surety_model_free(model);
  surety_free(text);
  SPOIL(surety_model_load, {model_path.c_str(), &model, &none});
  const surety_prediction say = [](void* /*context*/, const double* /*numbers*/, std::size_t /*count*/) { return 0; };
  SPOIL(surety_model_predict, {model, table.c_str(), say, nullptr, &none}, {3});
  EXPECT_EQ(surety_model_predict_arrow(model, &gone, say, nullptr, nullptr), SURETY_INVALID_ARGUMENT) << "released already";
  EXPECT_EQ(surety_model_predict_arrow(model, nullptr, say, nullptr, nullptr), SURETY_INVALID_ARGUMENT);
  tried().insert("surety_model_predict_arrow");
  surety_model_free(model);
  surety_result_free(result);
  surety_job_free(job);
  surety_ledger_free(of_job);

  // A release in parts.
  const auto part_path = folder.write("part.csv", "a\n1\n2\n1\n").string();
  const std::string in_parts =
      R"x({"version": 1, "command": "release", "adjacency": "zero-out", "target": {"epsilon": 1, "delta": 0}, "options": )x"
      R"x({"query": "sum(a)", "bounds": "0,2"}})x";
  ASSERT_EQ(surety_ledger_create((folder / "parts.db").c_str(), SURETY_ZERO_OUT, nullptr, nullptr, &of_job, nullptr), SURETY_OK);
  char* ticket = nullptr;
  std::size_t ticket_length = 0;
  SPOIL(surety_parts_begin, {in_parts.data(), in_parts.size(), 2, of_job, &how, &ticket, &ticket_length, &none}, {4});
  spoil_fields("run options of parts", how, {}, [&](surety_run_options* spoilt) {
    return surety_parts_begin(in_parts.data(), in_parts.size(), 2, of_job, spoilt, &text, &length, nullptr);
  });
  char* parts[2]{};
  std::size_t part_lengths[2]{};
  SPOIL(surety_parts_partial, {ticket, ticket_length, 0, part_path.c_str(), &parts[0], &part_lengths[0], &none});
  ASSERT_EQ(surety_parts_partial(ticket, ticket_length, 1, part_path.c_str(), &parts[1], &part_lengths[1], nullptr), SURETY_OK);
  // As of a job: SuretyCParts.ThatDoNotMakeTheTableAreRefused spoils the rest.
  EXPECT_EQ(surety_parts_partial_arrow(ticket, ticket_length, 0, &gone, &text, &length, nullptr), SURETY_INVALID_ARGUMENT)
      << "released already";
  EXPECT_EQ(surety_parts_partial_arrow(ticket, ticket_length, 0, nullptr, &text, &length, nullptr), SURETY_INVALID_ARGUMENT);
  tried().insert("surety_parts_partial_arrow");
  SPOIL(surety_parts_merge, {parts[0], part_lengths[0], parts[1], part_lengths[1], &text, &length, &none});
  spoil_fields("run options of a finish", how, {}, [&](surety_run_options* spoilt) {
    return surety_parts_finish(ticket, ticket_length, text, length, of_job, spoilt, &result, nullptr);
  });
  SPOIL(surety_parts_finish, {ticket, ticket_length, text, length, of_job, &how, &result, &none}, {5});
  const auto private_path = (folder / "ticket").string();
  SPOIL(surety_write_private_file, {private_path.c_str(), ticket, ticket_length, &none});
  for (char* bytes : {ticket, parts[0], parts[1], text}) surety_free(bytes);
  surety_result_free(result);
  surety_ledger_free(of_job);

  // What cannot fail.
  EXPECT_EQ(surety_failure_code(nullptr), SURETY_OK);
  EXPECT_STREQ(surety_failure_message(nullptr), "");
  EXPECT_EQ(surety_event_adjacency(nullptr), SURETY_ADD_OR_REMOVE_ONE);
  EXPECT_EQ(surety_noise_step(nullptr), 0);
  EXPECT_EQ(surety_reservation_run(nullptr), 0);
  surety_failure_free(nullptr);
  surety_event_free(nullptr);
  surety_noise_free(nullptr);
  surety_ledger_free(nullptr);
  surety_reservation_free(nullptr);
  surety_free(nullptr);
  EXPECT_TRUE(std::isnan(surety_job_noise(nullptr)));
  surety_job_free(nullptr);
  surety_result_free(nullptr);
  surety_model_free(nullptr);
  const std::set<std::string> cannot_fail{"surety_failure_code",     "surety_failure_message", "surety_failure_free", "surety_event_free",
                                          "surety_event_adjacency",  "surety_noise_step",      "surety_noise_free",   "surety_ledger_free",
                                          "surety_reservation_free", "surety_reservation_run", "surety_free",         "surety_abi_version",
                                          "surety_version",          "surety_job_noise",       "surety_job_free",     "surety_result_free",
                                          "surety_model_free"};
  // And nothing was left out.
  std::ifstream interface { SURETY_C_INTERFACE };
  std::set<std::string> declared;
  for (std::string line; std::getline(interface, line);) {
    const auto end = line.find('(');
    if (line.starts_with("enum ") || line.starts_with("struct ") || line.starts_with("define ")) continue;
    const auto begin = line.find_last_of(" *", end) + 1;
    declared.insert(line.substr(begin, end - begin));
  }
  auto all = tried();
  all.insert(cannot_fail.begin(), cannot_fail.end());
  all.insert("surety_use_memory_reserve");  // without an argument that could be spoilt, and once for a process: bindings/c/starved
  EXPECT_EQ(declared, all);
}

/// A struct of two versions: a field was appended.
struct Old {
  std::size_t size;
  double value;
};
struct New {
  std::size_t size;
  double value;
  double appended;
};

}  // namespace
}  // namespace surety::arguments_test

template <>
inline constexpr std::size_t surety::c::first_size<surety::arguments_test::New> = sizeof(surety::arguments_test::Old);

namespace surety::arguments_test {
namespace {

TEST(Arguments, AStructOfAnEarlierVersionIsTakenAsItWas) {
  // The old struct alone, at the end of what may be read and written.
  const auto memory = std::make_unique<Old[]>(1);
  memory[0] = {sizeof(Old), 2.5};
  auto* const as_new = reinterpret_cast<New*>(memory.get());
  auto known = c::known_part(as_new, "options");
  EXPECT_EQ(known.size, sizeof(New));
  EXPECT_EQ(known.value, 2.5);
  EXPECT_EQ(known.appended, 0) << "nobody has said it";
  known.value = 3.5;
  known.appended = 4.5;
  c::give_known_part(known, as_new);
  EXPECT_EQ(memory[0].value, 3.5);
  EXPECT_EQ(memory[0].size, sizeof(Old));
  New today{sizeof(New), 1, 2};
  c::give_known_part(c::known_part(&today, "options"), &today);
  EXPECT_EQ(today.appended, 2);
  for (const std::size_t size : {std::size_t{0}, sizeof(Old) - 8, sizeof(Old) + 1, sizeof(New) + 4, sizeof(New) + 4096}) {
    today.size = size;
    EXPECT_THROW(static_cast<void>(c::known_part(&today, "options")), Error) << size;
  }
}

TEST(Arguments, AStructOfALaterVersionIsTakenWhereItSaysNothingNew) {
  New memory[2] = {{2 * sizeof(New), 2.5, 3.5}, {}};  // the second one stands for what a later version appends
  auto known = c::known_part(memory, "options");
  EXPECT_EQ(known.size, sizeof(New));
  EXPECT_EQ(known.appended, 3.5);
  known.value = 4.5;
  c::give_known_part(known, memory);
  EXPECT_EQ(memory[0].value, 4.5);
  EXPECT_EQ(memory[0].size, 2 * sizeof(New));
  // A bit anywhere behind what is known would ask for something.
  auto* const bytes = reinterpret_cast<unsigned char*>(memory + 1);
  for (std::size_t k = 0; k < sizeof(New); ++k) {
    bytes[k] = 1;
    EXPECT_TRUE(refuses([&] { static_cast<void>(c::known_part(memory, "options")); }, ErrorCode::invalid_argument,
                        {"options of 48 bytes says something behind the 24"}));
    bytes[k] = 0;
  }
  EXPECT_EQ(c::known_part(memory, "options").value, 4.5);
}

}  // namespace
}  // namespace surety::arguments_test
