// JSON that somebody else wrote: each value of a model, a plan, a schema, a log, an event and a ledger's entries gives way to values of all types. What is
// then refused is refused by surety::Error in one line, never by an exception of the JSON library, which the command would call internal (70).
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/event.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/accounting/ledger/ledger_contents.h>
#include <surety/accounting/ledger/memory_store.h>
#include <surety/accounting/logs/run_log.h>
#include <surety/base/text/error.h>
#include <surety/jobs/plans/schema.h>
#include <surety/jobs/release/written_release.h>
#include <surety/jobs/train/written_plan.h>
#include <surety/optimizers/models/model.h>

#include <support/command_in_process.h>
#include <support/json_values.h>
#include <support/temporary_folder.h>

namespace surety_test::json_from_outside_test {
namespace {

using namespace surety;
using nlohmann::json;

std::string contents(const std::filesystem::path& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

class JsonFromOutside : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  [[nodiscard]] std::string written(const std::string& name, const std::string& text) const {
    std::ofstream{path(name), std::ios::binary} << text;
    return path(name);
  }

  /// Calls `visit` with each document that differs from this one in one value.
  static std::size_t each_change(const json& document, const std::function<void(const json& changed, const std::string& what)>& visit) {
    std::size_t changes = 0;
    for (const auto& place : places_in(document)) {
      for (const auto& value : json_values()) {
        auto changed = document;
        changed[place] = value;
        visit(changed, fmt::format("{} is {}", place.to_string(), value.dump()));
        ++changes;
      }
    }
    return changes;
  }

  /// Reads each kept input of a target of tests/fuzz, and each change of it, as `read` does.
  static std::size_t read_changes_of(const std::string& target, std::size_t choices, const std::function<void(const std::string&)>& read) {
    std::size_t changes = 0;
    for (const auto& file : std::filesystem::directory_iterator{std::filesystem::path{SURETY_FUZZ_CORPUS} / target}) {
      if (!file.path().filename().string().starts_with("made_")) continue;
      const auto document = json::parse(contents(file.path()).substr(choices), nullptr, false);
      if (document.is_discarded()) continue;
      changes += each_change(document, [&](const json& changed, const std::string& what) {
        SCOPED_TRACE(file.path().filename().string() + ": " + what);
        expect_read_or_refused(changed.dump(), read);
      });
    }
    return changes;
  }

  static void expect_read_or_refused(const std::string& text, const std::function<void(const std::string&)>& read) {
    try {
      read(text);
    } catch (const Error& error) {
      const std::string message = error.what();
      EXPECT_NE(error.code(), ErrorCode::internal) << message;
      EXPECT_FALSE(message.empty());
      EXPECT_EQ(message.find('\n'), std::string::npos) << message;
      EXPECT_EQ(message.find("json.exception"), std::string::npos) << message;
    } catch (const std::exception& error) {
      ADD_FAILURE() << "another exception: " << error.what();
    }
  }

  /// Runs the command on each change, as `words` say of the changed text. \return how often it was refused
  std::size_t run_changes_of(const json& document, const std::function<std::vector<std::string>(const std::string&)>& words) {
    std::size_t refused = 0;
    each_change(document, [&](const json& changed, const std::string& what) {
      SCOPED_TRACE(what);
      const auto said = command_in_process(words(written("changed.json", changed.dump())), path(""));
      EXPECT_TRUE(said.code == 0 || said.code == 1 || said.code == 2 || said.code == 3 || said.code == 4 || said.code == 6)
          << said.code << ": " << said.err;
      if (said.code <= 1) return;  // a broken promise is an answer, too
      ++refused;
      EXPECT_EQ(std::count(said.err.begin(), said.err.end(), '\n'), 1) << said.err;
      EXPECT_TRUE(said.err.starts_with("surety: ")) << said.err;
    });
    return refused;
  }

  TemporaryFolder folder_;
};

TEST_F(JsonFromOutside, IsReadOrRefusedInOneLineWhateverItsValuesAre) {
  EXPECT_GT(read_changes_of("model", 0, [](const auto& text) { static_cast<void>(optimizers::parse_model(text, "model")); }), 5000U);
  EXPECT_GT(read_changes_of("log", 1, [](const auto& text) { static_cast<void>(accounting::run_log_from_json(text)); }), 1000U);
  EXPECT_GT(read_changes_of("event", 1, [](const auto& text) { static_cast<void>(event_from_json(text)); }), 1000U);
  EXPECT_GT(read_changes_of("schema", 0, [&](const auto& text) { static_cast<void>(jobs::read_schema(written("schema.json", text))); }),
            500U);
  EXPECT_GT(read_changes_of("plan", 1,
                            [](const auto& text) {
                              if (text.find("\"command\":\"release\"") != std::string::npos) {
                                static_cast<void>(jobs::read_release_plan(text));
                              } else {
                                static_cast<void>(jobs::read_train_plan(text));
                              }
                            }),
            5000U);
}

TEST_F(JsonFromOutside, OfALedgersEntriesIsALedgerOrDamage) {
  const auto open = [](const std::string& text) {
    const auto list = json::parse(text);
    const auto memory = std::make_shared<accounting::LedgerMemory>();
    accounting::StoredHead head{0, 0};
    for (const auto& entry : list) {
      memory->entries.push_back(accounting::entry_after(head, entry.dump()));
      head = {memory->entries.back().number, memory->entries.back().checksum};
    }
    memory->head = head;
    try {
      static_cast<void>(accounting::Ledger::open(std::make_shared<accounting::MemoryStore>(memory)));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::damaged_ledger) << error.what();
      throw;
    }
  };
  EXPECT_GT(read_changes_of("ledger", 1, open), 3000U);
}

TEST_F(JsonFromOutside, IsNeverInternalToTheCommand) {
  const auto of_corpus = [](const std::string& name, std::size_t choices) {
    return json::parse(contents(std::filesystem::path{SURETY_FUZZ_CORPUS} / name).substr(choices));
  };
  const auto data = written("a.csv", "x,z,w,y\n1,2,3,1\n0,1,2,0\n");
  EXPECT_GT(run_changes_of(of_corpus("model/made_v6_rule", 0),
                           [&](const auto& file) {
                             return std::vector<std::string>{"predict", file, data};
                           }),
            300U);
  const json target{{"epsilon", 1}, {"delta", 1e-5}};
  const json release{
      {"version", 1},
      {"command", "release"},
      {"adjacency", "replace-one"},
      {"target", target},
      {"options", {{"data", data}, {"ledger", path("run.db")}, {"query", {"mean(x)"}}, {"bounds", "0,1"}, {"confidence", 0.9}}}};
  const auto planned = [](const std::string& command) {
    return [command](const std::string& file) { return std::vector<std::string>{command, "--plan", file, "--print-plan"}; };
  };
  EXPECT_GT(run_changes_of(release, planned("release")), 100U);
  const json train{{"version", 1},
                   {"command", "train"},
                   {"adjacency", "replace-one"},
                   {"target", target},
                   {"options",
                    {{"data", data},
                     {"ledger", path("run.db")},
                     {"model", path("m.json")},
                     {"label", "y>0"},
                     {"algorithm", "gradient-descent"},
                     {"steps", 3}}}};
  EXPECT_GT(run_changes_of(train, planned("train")), 100U);
  const auto schema = of_corpus("schema/made_no_header", 0);
  EXPECT_GT(run_changes_of(schema,
                           [&](const auto& file) {
                             return std::vector<std::string>{"release",  data,           "--schema",    file,        "--query",
                                                             "mean(b)",  "--bounds",     "0,1",         "--epsilon", "1",
                                                             "--ledger", path("run.db"), "--print-plan"};
                           }),
            50U);
  const auto log = of_corpus("log/made_poisson", 1);
  EXPECT_GT(run_changes_of(log, [](const auto& file) { return std::vector<std::string>{"audit", "--log", file}; }), 100U);
  EXPECT_FALSE(std::filesystem::exists(path("run.db")));
}

TEST_F(JsonFromOutside, NamesAPathByATextAlone) {
  const auto data = written("a.csv", "x,y\n1,1\n0,0\n");
  const json base{{"version", 1}, {"adjacency", "replace-one"}, {"target", {{"epsilon", 1}, {"delta", 1e-5}}}};
  auto release = base;
  release["command"] = "release";
  release["options"] = {{"data", data}, {"ledger", path("run.db")}, {"query", "mean(x)"}, {"bounds", "0,1"}};
  auto train = base;
  train["command"] = "train";
  train["options"] = {
      {"data", data}, {"ledger", path("run.db")}, {"model", path("m.json")}, {"label", "y>0"}, {"algorithm", "gradient-descent"}};
  const auto refused = [&](json plan, const std::string& field, const json& value) {
    plan["options"][field] = value;
    const auto text = plan.dump();
    const auto needed = fmt::format("{} is {}, must be a text", field, value.dump());
    SCOPED_TRACE(needed);
    const auto said = command_in_process({plan["command"].get<std::string>(), "--plan", written("plan.json", text)}, path(""));
    EXPECT_EQ(said.code, 3) << said.err;
    EXPECT_NE(said.err.find(needed), std::string::npos) << said.err;
    try {
      if (plan["command"] == "release") {
        static_cast<void>(jobs::read_release_plan(text));
      } else {
        static_cast<void>(jobs::read_train_plan(text));
      }
      ADD_FAILURE() << "it is a plan";
    } catch (const Error& error) {
      EXPECT_NE(std::string{error.what()}.find(needed), std::string::npos) << error.what();
    }
  };
  for (const json& value : {json(1e308), json(0), json(7)}) {
    for (const char* field :
         {"data", "ledger", "schema", "svg", "note", "unit", "by", "where", "columns", "complete", "missing", "delimiter"}) {
      refused(release, field, value);
    }
    for (const char* field : {"data", "ledger", "model", "schema", "note", "label", "drop", "pairs", "bounds", "categories", "unit"}) {
      refused(train, field, value);
    }
  }
  // Nothing was made under such a name.
  for (const char* name : {"0", "7", "1e+308"}) EXPECT_FALSE(std::filesystem::exists(name)) << name;
  // A list of values may be one number.
  release["options"]["query"] = "count()";
  release["options"].erase("bounds");
  release["options"]["by"] = "x";
  release["options"]["keys"] = 1;
  EXPECT_EQ(jobs::read_release_plan(release.dump()).plan.queries.size(), 1U);
}

}  // namespace
}  // namespace surety_test::json_from_outside_test
