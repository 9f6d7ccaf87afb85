// What an output may take the place of: nothing, an empty file, and another of its own kind; with --overwrite what is of another kind, and an
// SQLite database never, since a ledger that is lost forgets what was released.
#include <support/surety_process.h>

namespace surety_test::output_test {
namespace {

namespace fs = std::filesystem;

/// One kind of thing that an output finds under its name.
struct Found {
  std::string what;
  bool may_go;           ///< as it is
  bool may_be_insisted;  ///< with --overwrite
};

class Output : public CommandTest {
 protected:
  Output() : data_{small_data(20)} {
    EXPECT_EQ(surety({"convert", data_, path("kept.records"), "--label", "label"}).code, 0);
    EXPECT_EQ(surety(of_model(path("kept.model"))).code, 0);
    EXPECT_EQ(surety(of_picture(path("kept.svg"))).code, 0);
    fs::copy_file(path("run.db"), path("kept.db"));
  }

  [[nodiscard]] Words of_records(const std::string& output) const { return {"convert", data_, output, "--label", "label"}; }
  [[nodiscard]] Words of_model(const std::string& output) const {
    return {"train", data_,     "--label", "label>0", "--algorithm", "one-pass-sgd", "--steps", "20",       "--radius",
            "1",     "--delta", "1e-5",    "--model", output,        "--epsilon",    "0.01",    "--ledger", path("run.db")};
  }
  [[nodiscard]] Words of_picture(const std::string& output) const {
    return {"release", data_, "--query", "sum(x)", "--bounds", "-3,3", "--svg", output, "--epsilon", "0.01", "--ledger", path("run.db")};
  }

  /// Puts it at `name`, which is free.
  void put(const std::string& what, const std::string& name) const {
    if (what == "nothing") return;
    if (what == "an empty file") return write(name, "");
    if (what == "a CSV file") return write(name, "x,label\n1,1\n");
    if (what == "a text") return write(name, "what I have to remember");
    if (what == "a folder") {
      fs::create_directory(name);
      return;
    }
    // As a crash leaves it that tore the first page: without the journal nobody knows what it is.
    if (what == "a torn ledger with its journal" || what == "an empty database with its log") {
      write(name, what == "a torn ledger with its journal" ? std::string(4096, 'x') : "");
      return write(name + (what == "a torn ledger with its journal" ? "-journal" : "-wal"), std::string(512, 'j'));
    }
    const std::map<std::string, std::string> kept{
        {"a record file", "kept.records"}, {"a model", "kept.model"}, {"a picture", "kept.svg"}, {"a ledger", "kept.db"}};
    fs::copy_file(path(kept.at(what)), name);
  }

  [[nodiscard]] static std::string beginning(const std::string& kind) {
    if (kind == "a record file") return "surety records\n";
    return kind == "a model" ? "{\"surety_model\":" : "<svg ";
  }

  /// Runs it: either it is refused and every file is as before, or `name` holds what is of this kind.
  void expect(const Words& words, const std::string& kind, const std::string& name, bool is_done, const std::string& said) const {
    const auto before = files();
    const auto outcome = surety(words);
    if (is_done) {
      EXPECT_EQ(outcome.code, 0) << said << outcome.err;
      EXPECT_TRUE(contents(name).starts_with(beginning(kind))) << said;
    } else {
      EXPECT_EQ(outcome.code, 2) << said << outcome.err;
      EXPECT_TRUE(files() == before) << said << " changed a file";
    }
  }

  /// Nine things under the name of one output: as a name, through a link, with --overwrite, and from a plan.
  void expect_all(const std::string& kind, const std::string& other, const std::function<Words(const std::string&)>& words,
                  const std::string& option) const {
    const std::vector<Found> all{{"nothing", true, true},
                                 {"an empty file", true, true},
                                 {kind, true, true},
                                 {other, false, true},
                                 {"a CSV file", false, true},
                                 {"a text", false, true},
                                 {"a ledger", false, false},
                                 {"a torn ledger with its journal", false, false},
                                 {"an empty database with its log", false, false},
                                 {"a folder", false, false}};
    for (const auto& found : all) {
      const std::string said = kind + " on " + found.what;
      const std::string name = path("output");
      const auto again = [&] {
        for (const char* suffix : {"", "-journal", "-wal"}) fs::remove_all(name + suffix);
        put(found.what, name);
      };
      again();
      expect(words(name), kind, name, found.may_go, said);
      again();
      fs::remove(path("link"));
      fs::create_symlink("output", path("link"));
      expect(words(path("link")), kind, name, found.may_go, said + " through a link");
      EXPECT_TRUE(fs::is_symlink(path("link"))) << said;
      fs::remove(path("link"));
      if (!found.may_go) {
        again();
        expect(words(name) + Words{"--overwrite"}, kind, name, found.may_be_insisted, said + " with --overwrite");
      }
      if (option.empty()) continue;
      again();
      const auto planned = surety(words(path("free")) + Words{"--print-plan"});
      ASSERT_EQ(planned.code, 0) << planned.err;
      auto plan = planned.json();
      plan["options"][option] = name;
      write(path("plan.json"), plan.dump());
      expect({words(name).front(), "--plan", path("plan.json")}, kind, name, found.may_go, said + " from a plan");
    }
  }

 private:
  std::string data_;
};

TEST_F(Output, OfConvertTakesTheNameOfNothingElse) {
  expect_all(
      "a record file", "a model", [&](const std::string& output) { return of_records(output); }, "");
}

TEST_F(Output, OfTrainTakesTheNameOfNothingElse) {
  expect_all(
      "a model", "a record file", [&](const std::string& output) { return of_model(output); }, "model");
}

TEST_F(Output, OfReleaseTakesTheNameOfNothingElse) {
  expect_all(
      "a picture", "a model", [&](const std::string& output) { return of_picture(output); }, "svg");
}

TEST_F(Output, IsInsistedOnByWhoRunsThePlanAlone) {
  const auto name = path("output");
  put("a text", name);
  const auto planned = surety(of_model(path("free")) + Words{"--overwrite", "--print-plan"});
  ASSERT_EQ(planned.code, 0) << planned.err;
  auto plan = planned.json();
  EXPECT_FALSE(plan["options"].contains("overwrite"));
  plan["options"]["model"] = name;
  plan["options"]["overwrite"] = true;
  write(path("plan.json"), plan.dump());
  expect_refused_untouched({"train", "--plan", path("plan.json")}, 3, {"overwrite", "where the plan is run"});
  plan["options"].erase("overwrite");
  write(path("plan.json"), plan.dump());
  expect_refused_untouched({"train", "--plan", path("plan.json")}, 2, {"--model is '" + name, "does not hold a model", "--overwrite"});
  EXPECT_EQ(surety({"train", "--plan", path("plan.json"), "--overwrite"}).code, 0);
  EXPECT_TRUE(contents(name).starts_with(beginning("a model")));
}

}  // namespace
}  // namespace surety_test::output_test
