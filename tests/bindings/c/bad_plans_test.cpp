// Plans from C that are none, of trainings and of releases: each is refused with the documented code, in one line that names the path, and no job comes of it.
#include <surety.h>

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include <support/temporary_folder.h>

namespace surety::bad_plans_test {
namespace {

const std::string training = R"({"version": 1, "command": "train", "adjacency": "replace-one", "target": {"epsilon": 1, "delta": 1e-05}, )"
                             R"("options": {"algorithm": "gradient-descent", "label": "y>0", "steps": 5}})";
const std::string releasing = R"x({"version": 1, "command": "release", "adjacency": "replace-one", "target": {"epsilon": 1, "delta": 0}, )x"
                              R"x("options": {"query": [{"query": "sum(a)", "bounds": [0, 2], "where": "b>0"}], "confidence": 0.9}})x";

struct Refused {
  surety_code code = SURETY_OK;
  std::string message;
};

Refused prepared(const std::string& json) {
  surety_job* job = nullptr;
  surety_failure* failure = nullptr;
  const Refused refused{surety_job_prepare(json.data(), json.size(), &job, &failure), surety_failure_message(failure)};
  EXPECT_EQ(job == nullptr, refused.code != SURETY_OK);
  surety_job_free(job);
  surety_failure_free(failure);
  return refused;
}

/// `begun` of a release in parts: the same plan by another call.
Refused begun(const std::string& json, surety_ledger* ledger) {
  char* ticket = nullptr;
  std::size_t length = 0;
  surety_failure* failure = nullptr;
  const Refused refused{surety_parts_begin(json.data(), json.size(), 2, ledger, nullptr, &ticket, &length, &failure),
                        surety_failure_message(failure)};
  EXPECT_EQ(ticket == nullptr, refused.code != SURETY_OK);
  surety_free(ticket);
  surety_failure_free(failure);
  return refused;
}

/// A plan in which one text stands in the place of another.
std::string changed(std::string json, const std::string& old, const std::string& now) {
  const auto at = json.find(old);
  EXPECT_NE(at, std::string::npos) << old;
  return json.replace(at, old.size(), now);
}

struct Bad {
  std::string old;
  std::string now;
  surety_code code;
  std::string message;  ///< how it begins
};

class BadPlans : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(surety_ledger_create((folder_ / "run.db").c_str(), SURETY_REPLACE_ONE, nullptr, nullptr, &ledger_, nullptr), SURETY_OK);
  }
  void TearDown() override { surety_ledger_free(ledger_); }

  void refuse(const std::string& json, const std::vector<Bad>& all) const {
    for (const auto& [old, now, code, message] : all) {
      const auto plan = changed(json, old, now);
      SCOPED_TRACE(plan.substr(0, 400));
      const auto refused = prepared(plan);
      EXPECT_EQ(refused.code, code) << refused.message;
      EXPECT_EQ(refused.message.substr(0, message.size()), message);
      EXPECT_EQ(refused.message.find('\n'), std::string::npos);
      EXPECT_LT(refused.message.size(), 1000U);
      if (json != releasing) continue;
      const auto in_parts = begun(plan, ledger_);
      EXPECT_EQ(in_parts.code, code);
      // It knows of one command alone.
      if (!message.starts_with("command")) {
        EXPECT_EQ(in_parts.message, refused.message);
      }
    }
  }

  TemporaryFolder folder_;
  surety_ledger* ledger_ = nullptr;
};

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int k = 0; k < times; ++k) all += text;
  return all;
}

TEST_F(BadPlans, OfBothKindsAreRefusedByTheirPath) {
  constexpr int deep = 100'000;
  const auto lists = repeated("[", deep) + repeated("]", deep);
  const auto objects = repeated(R"({"a":)", deep) + "1" + repeated("}", deep);
  const std::string version = R"("version": 1)";
  const std::string options = R"("options": {)";
  const std::string epsilon = R"("epsilon": 1)";
  for (const auto& json : {training, releasing}) {
    ASSERT_EQ(prepared(json).code, SURETY_OK) << prepared(json).message;
    refuse(
        json,
        {
            // No numbers.
            {epsilon, R"("epsilon": NaN)", SURETY_BAD_DATA, "plan: target.epsilon: not JSON"},
            {epsilon, R"("epsilon": Infinity)", SURETY_BAD_DATA, "plan: target.epsilon: not JSON"},
            {epsilon, R"("epsilon": 1e400)", SURETY_BAD_DATA, "plan: target.epsilon: not JSON (a number is beyond the range of double)"},
            {epsilon, R"("epsilon": "nan")", SURETY_BAD_DATA, "target: 'epsilon' is no number"},
            {version, R"("version": 1, "noise": NaN)", SURETY_BAD_DATA, "plan: noise: not JSON"},
            {options, R"("options": {"replay-seed": NaN, )", SURETY_BAD_DATA, "plan: options.replay-seed: not JSON"},
            {options, R"("options": {"quoted-lines": "nan", )", SURETY_INVALID_ARGUMENT, "quoted-lines is 'nan', must be a whole number"},
            // Out of range.
            {epsilon, R"("epsilon": 0)", SURETY_INVALID_ARGUMENT, "epsilon of the target is 0, must be"},
            {epsilon, R"("epsilon": -1)", SURETY_INVALID_ARGUMENT, "epsilon is -1, must be"},
            {R"("delta": )", R"("delta": 1, "x": )", SURETY_BAD_DATA, "target is no object with epsilon and delta"},
            {version, R"("version": 3)", SURETY_BAD_DATA, "version is 3, must be"},
            {R"("replace-one")", R"("both")", SURETY_INVALID_ARGUMENT, "adjacency is 'both', must be"},
            {options, R"("options": {"unit": "who", "most": 0, )", SURETY_INVALID_ARGUMENT, "most is '0', must be a whole number from 1"},
            {options, R"("options": {"replay-seed": -1, )", SURETY_INVALID_ARGUMENT, "replay-seed is '-1', must be"},
            {options, R"("options": {"replay-seed": 18446744073709551616, )", SURETY_INVALID_ARGUMENT, "replay-seed is '1.84"},
            // Of another type.
            {options, R"("options": {"ledger": true, )", SURETY_BAD_DATA, "options: ledger is true, must be"},
            {options, R"("options": {"note": null, )", SURETY_BAD_DATA, "options: note is null, must be"},
            {options, R"("options": {"note": {"a": 1}, )", SURETY_BAD_DATA, "options: note is {\"a\":1}, must be"},
            {options, R"("options": {"no-limits": 1, )", SURETY_BAD_DATA, "options: no-limits is 1, must be true or false"},
            {options, R"("options": {"no-limits": "yes", )", SURETY_BAD_DATA, "options: no-limits is \"yes\", must be true or false"},
            {R"("replace-one")", "3", SURETY_BAD_DATA, "adjacency is no text"},
            // Unknown.
            {version, R"("version": 1, "surprise": 1)", SURETY_BAD_DATA, "unknown field 'surprise'"},
            {options, R"("options": {"surprise": 1, )", SURETY_BAD_DATA, "options: unknown field 'surprise'"},
            {R"("command": ")", R"("command": "audit", "x": ")", SURETY_BAD_DATA, "command is \"audit\", must be"},
            // Twice.
            {version, R"("version": 1, "version": 1)", SURETY_BAD_DATA, "plan: field 'version' appears twice"},
            {epsilon, R"("epsilon": 2, "epsilon": 1)", SURETY_BAD_DATA, "plan: target: field 'epsilon' appears twice"},
            {options, R"("options": {"note": "a", "note": "b", )", SURETY_BAD_DATA, "plan: options: field 'note' appears twice"},
            {options, R"("options": {"note": "a", "n\u006fte": "b", )", SURETY_BAD_DATA, "plan: options: field 'note' appears twice"},
            {version, R"("version": 1, "event": {"a": {"b": 1, "b": 1}})", SURETY_BAD_DATA, "plan: event.a: field 'b' appears twice"},
            // Too deep.
            {version, R"("version": 1, "surprise": )" + lists, SURETY_BAD_DATA, "plan: surprise: nested deeper than 70 levels"},
            {version, R"("version": 1, "event": )" + objects, SURETY_BAD_DATA, "plan: event.a.a.a...: nested deeper than 70 levels"},
            {options, R"("options": {"note": )" + lists + ", ", SURETY_BAD_DATA, "plan: options.note: nested deeper than 70 levels"},
            {options, R"("options": {"note": )" + objects + ", ", SURETY_BAD_DATA, "plan: options.note.a.a...: nested deeper than"},
            // What does not follow.
            {version, R"("version": 1, "event": {"gaussian": 1})", SURETY_INVALID_ARGUMENT, "event is {\"gaussian\":1}, must be"},
            {version, R"("version": 1, "event": 7)", SURETY_INVALID_ARGUMENT, "event is 7, must be"},
            {version, R"("version": 1, "noise": 3)", SURETY_INVALID_ARGUMENT, "noise is 3, must be"},
            {version, R"("version": 1, "noise": null)", SURETY_INVALID_ARGUMENT, "noise is null, must be"},
            {version, R"("version": 1, "unit": {"name": "who", "most": 3})", SURETY_INVALID_ARGUMENT, "unit is {\"most\":3,"},
            {version, R"("version": 1, "unit": [])", SURETY_INVALID_ARGUMENT, "unit is [], must be"},
            {version, R"("version": 1, "schema_sha256": "00")", SURETY_INVALID_ARGUMENT, "schema_sha256 is \"00\", must be"},
        });
  }
}

TEST_F(BadPlans, OfTrainingsAreRefusedByTheirPath) {
  const std::string steps = R"("steps": 5)";
  const auto with = [&](const std::string& more) { return steps + ", " + more; };
  constexpr auto bad = SURETY_BAD_DATA;
  constexpr auto argument = SURETY_INVALID_ARGUMENT;
  refuse(training,
         {
             {steps, R"("steps": NaN)", bad, "plan: options.steps: not JSON"},
             {steps, R"("steps": 1e999)", bad, "plan: options.steps: not JSON"},
             {steps, R"("steps": 0)", argument, "steps is '0', must be a whole number from 1"},
             {steps, R"("steps": 1e99)", argument, "steps is '1e+99', must be a whole number"},
             {steps, R"("steps": 5.5)", argument, "steps is '5.5', must be a whole number"},
             {steps, R"("steps": [5])", bad, "options: steps is a list, must be one value"},
             {steps, with(R"("clip": "nan")"), argument, "clipping norm is nan, must be finite"},
             {steps, with(R"("clip": "inf")"), argument, "clipping norm is inf, must be finite"},
             {steps, with(R"("clip": -1)"), argument, "clipping norm is -1, must be finite and greater than 0"},
             {steps, with(R"("step-size": "nan")"), argument, "step size is nan, must be finite"},
             {steps, with(R"("regularization": "nan")"), argument, "regularization is nan, must be finite"},
             {steps, with(R"("radius": 0)"), argument, "radius is 0, must be finite and greater than 0"},
             {steps, with(R"("held-out": "nan")"), argument, "held-out is nan, must be at least 0"},
             {steps, with(R"("held-out": 1)"), argument, "held-out is 1, must be at least 0 and less than 1"},
             {steps, with(R"("bounds": "a=nan,1")"), argument, "bounds of column 'a' are nan and 1, must be finite and ascend"},
             {steps, with(R"("bounds": ["b=0,1", "a=2,1"])"), argument, "bounds of column 'a' are 2 and 1, must be finite and ascend"},
             {steps, with(R"("bounds": "a=0,inf")"), argument, "bounds of column 'a' are 0 and inf, must be finite and ascend"},
             {steps, with(R"("loss": "hinges")"), argument, "loss is 'hinges', must be"},
             {steps, with(R"("microbatch": 3)"), bad, "options: microbatch is for dp-sgd, not for gradient-descent"},
             {steps, with(R"("geometry": "l1")"), bad, "options: geometry is for mirror-descent, not for gradient-descent"},
             {steps, with(R"x("query": "count()")x"), bad, "options: unknown field 'query'"},
             {steps, with(R"("steps": 6)"), bad, "plan: options: field 'steps' appears twice"},
             {R"("gradient-descent")", R"("gradient-descend")", bad, "options: algorithm is 'gradient-descend', must be one of"},
             {R"("gradient-descent")", "3", bad, "options: algorithm is 3, must be a text"},
             {R"("gradient-descent")", R"("auto")", bad, "options: algorithm is auto, must be named in a plan"},
         });
}

TEST_F(BadPlans, OfReleasesAreRefusedByTheirPath) {
  constexpr int deep = 100'000;
  const std::string where = R"("where": "b>0")";
  const std::string bounds = "[0, 2]";
  const std::string confidence = R"("confidence": 0.9)";
  const std::string query = R"x("query": "sum(a)", "bounds": [0, 2])x";
  const std::string queries = R"x([{"query": "sum(a)", "bounds": [0, 2], "where": "b>0"}])x";
  constexpr auto bad = SURETY_BAD_DATA;
  constexpr auto argument = SURETY_INVALID_ARGUMENT;
  refuse(releasing,
         {
             {bounds, "[NaN, 2]", bad, "plan: options.query.bounds: not JSON"},
             {bounds, "[0, 1e400]", bad, "plan: options.query.bounds: not JSON"},
             {bounds, R"(["nan", 2])", argument, "query: 'bounds' is [\"nan\",2], must be [lower, upper]"},
             {bounds, "[2, 0]", argument, "query: bounds are 2 and 0, must ascend"},
             {bounds, "[0]", argument, "query: 'bounds' is [0], must be [lower, upper]"},
             {confidence, R"("confidence": "nan")", argument, "confidence is nan, must be greater than 0"},
             {confidence, R"("confidence": 1)", argument, "confidence is 1, must be greater than 0 and less than 1"},
             {confidence, R"("noise": "cauchy")", argument, "noise is 'cauchy', must be"},
             {confidence, R"("label": "y")", bad, "options: unknown field 'label'"},
             {confidence, R"("steps": 3)", bad, "options: unknown field 'steps'"},
             {confidence, R"("algorithm": "svrg")", bad, "options: unknown field 'algorithm'"},
             {where, R"("where": "b>nan")", argument, "query: where is 'b>nan', compares with 'nan', which is not finite"},
             {where, R"("were": "b>0")", argument, "query: unknown field 'were'; did you mean 'where'?"},
             {where, R"("where": "b>0", "where": "b>1")", bad, "plan: options.query: field 'where' appears twice"},
             {where, R"("where": ")" + repeated("(", deep) + "b>0" + repeated(")", deep) + '"', argument, "query: where has 200003 bytes"},
             {where, R"("where": ")" + repeated("not ", 1000) + R"(b>0")", argument, "query: where "},
             {where, R"("weight": 0)", argument, "query: the weight of sum(a) is 0, must be from"},
             {where, R"("weight": NaN)", bad, "plan: options.query.weight: not JSON"},
             {where, R"("weight": 1e400)", bad, "plan: options.query.weight: not JSON"},
             {where, R"("bins": 7)", argument, "query: bins is not for sum(), must be left out"},
             {where, R"("types": )" + repeated("[", deep) + repeated("]", deep), bad, "plan: options.query.types: nested deeper than"},
             {query, R"x("query": "histogram(a)", "bounds": [0, 2], "bins": 1)x", argument, "query: the number of bins is 1, must be"},
             {query, R"x("query": "histogram(a)", "bounds": [0, 2], "bins": 1e99)x", argument, "query: 'bins' is 1e+99, must be a whole"},
             {query, R"x("query": "quantile(a, nan)", "bounds": [0, 2])x", argument, "query: query is 'quantile(a, nan)', must be"},
             {query, R"x("query": "quantile(a, 2)", "bounds": [0, 2])x", argument, "query: the fraction of a quantile is 2, must be"},
             {queries, "[]", bad, "options: query is missing"},
             {queries, R"x("{\"query\": \"sum(a)\", \"query\": \"sum(b)\"}")x", argument, "query: the object: field 'query' appears twice"},
             {queries, '"' + repeated("[", deep) + '"', argument, "query is '[[["},
         });
}

}  // namespace
}  // namespace surety::bad_plans_test
