// What becomes of the files that a command is given, however their paths are written: no output ever takes the place of the ledger, of what
// SQLite keeps beside it or of an input, nothing is charged for what is refused, and nothing is left behind.
#include <sys/stat.h>

#include <chrono>
#include <random>
#include <thread>

#include <support/path_spellings.h>
#include <support/surety_process.h>

namespace surety_test::files_test {
namespace {

namespace fs = std::filesystem;

/// As far as anybody looks before it is replaced.
const std::string an_older_model = R"({"surety_model":1,"loss":"squared"})";

class Files : public CommandTest {
 protected:
  Files() { fs::create_directories(path("sub/deep")); }

  /// The cheapest runs that make a model, with these paths.
  [[nodiscard]] static Words train(const std::string& data, const std::string& ledger, const std::string& model) {
    return {"train", data,        "--label", "label>0", "--algorithm", "one-pass-sgd", "--steps", "20",      "--radius",
            "1",     "--epsilon", "1",       "--delta", "1e-5",        "--ledger",     ledger,    "--model", model};
  }
  [[nodiscard]] static Words gossip(const std::string& data, const std::string& ledger, const std::string& model) {
    return {"train",   data,   "--label",    "label>0",  "--algorithm", "gossip", "--learners", "1",    "--records", "20", "--radius", "1",
            "--delta", "1e-5", "--topology", "complete", "--epsilon",   "1",      "--ledger",   ledger, "--model",   model};
  }
  [[nodiscard]] static Words release(const std::string& data, const std::string& ledger) {
    return {"release", data, "--query", "sum(x)", "--bounds", "-3,3", "--epsilon", "1", "--ledger", ledger};
  }
  [[nodiscard]] Outcome here(const Words& arguments) const { return surety(arguments, {.folder = path("").c_str()}); }

  /// Runs it in the folder of the test: refused with `code`, and every file is as before.
  void expect_untouched(const Words& arguments, int code, const Words& words = {}, Surroundings around = {}) const {
    const std::string folder = path("");
    around.folder = folder.c_str();
    const auto before = files();
    const auto outcome = Process{arguments, around}.finish();
    EXPECT_EQ(outcome.code, code) << joined(arguments) << outcome.err;
    for (const auto& word : words) EXPECT_NE(outcome.err.find(word), std::string::npos) << joined(arguments) << outcome.err;
    EXPECT_TRUE(files() == before) << joined(arguments) << " changed a file: " << outcome.err;
  }
};

// The files that are meant are drawn first and the ways to write their paths then, so what must happen is known without asking anybody.
TEST_F(Files, AreNeverLostHoweverTheirPathsAreWritten) {
  const std::string here = path("");
  const auto data_text = contents(small_data(20));
  fs::remove(path("small.csv"));
  write(path("template.csv"), data_text);
  ASSERT_EQ(surety(release(path("template.csv"), path("template.db"))).code, 0);

  std::mt19937_64 random{20261122};
  const auto one_of = [&](const auto& list) { return list[random() % list.size()]; };
  std::map<std::string, int> seen;
  const int combinations = sanitized ? 60 : 160;
  for (int i = 0; i < combinations; ++i) {
    const std::string world = path("world" + std::to_string(i));
    const std::string folder = one_of(Words{"sub", "sub/deep", "ünïcødé mit Leerzeichen"});
    fs::create_directories(world + "/sub/deep");
    fs::create_directories(world + "/" + folder);
    const auto in_world = [&](const std::string& name) { return world + "/" + folder + "/" + name; };
    const bool has_ledger = random() % 2 == 0;
    const bool has_model = random() % 2 == 0;
    fs::copy_file(path("template.csv"), in_world("data.csv"));
    if (has_ledger) fs::copy_file(path("template.db"), in_world("run.db"));
    if (has_model) write(in_world("model.json"), an_older_model);

    // Half of all runs are as they should be, in the others two of the three files are one.
    const bool is_right = random() % 2 == 0;
    const std::string ledger_name = is_right || random() % 4 != 0 ? "run.db" : "data.csv";
    std::string model_name = "model.json";
    if (!is_right && ledger_name == "run.db") {
      model_name = one_of(Words{"run.db", "run.db", "run.db", "data.csv", "run.db-journal", "run.db-wal", "run.db-shm"});
    }
    const auto written = [&](const std::string& name, const std::string& tag) { return one_of(path_spellings(world, folder, name, tag)); };
    std::string model = written(model_name, "m");
    const std::string data = written("data.csv", "d");
    const std::string ledger = written(ledger_name, "l");
    if ((model_name == "data.csv" || (model_name == "run.db" && has_ledger)) && random() % 4 == 0) {
      fs::create_hard_link(in_world(model_name), world + "/twin");
      model = "twin";
    }
    const bool makes_model = random() % 5 != 0 || model_name != "model.json";
    const Words arguments = !makes_model        ? release(data, ledger)
                            : random() % 2 == 0 ? gossip(data, ledger, model)
                                                : train(data, ledger, model);
    const auto before = files();
    const auto outcome = surety(arguments, {.folder = world.c_str()});
    const std::string said = joined(arguments) + " in " + world + ": " + outcome.err;
    ++seen[is_right ? (makes_model ? "trained" : "released") : model_name + " as model, ledger in " + ledger_name];
    if (!is_right) {
      EXPECT_EQ(outcome.code, 2) << said;
      EXPECT_NE(outcome.err.find("must be another file than"), std::string::npos) << said;
      EXPECT_TRUE(files() == before) << said;
    } else {
      // A link to a ledger that is not there is refused: a new one would forget what was spent. It must not cost anything either.
      const bool leads_nowhere =
          !has_ledger && fs::is_symlink(fs::symlink_status(fs::path{ledger}.is_absolute() ? ledger : world + "/" + ledger));
      ASSERT_EQ(outcome.code, leads_nowhere ? 5 : 0) << said;
      if (leads_nowhere) {
        EXPECT_TRUE(files() == before) << said;
      } else {
        EXPECT_EQ(runs_in(in_world("run.db")), has_ledger ? 2U : 1U) << said;
        EXPECT_EQ(contents(in_world("data.csv")), data_text) << said;
        if (makes_model) {
          EXPECT_TRUE(nlohmann::json::parse(contents(in_world("model.json")), nullptr, false).contains("surety_model")) << said;
        } else if (has_model) {
          EXPECT_EQ(contents(in_world("model.json")), an_older_model) << said;
        }
        // And nothing else: no journal, nothing half made, no link replaced.
        std::set<std::string> after;
        for (const auto& [name, text] : files()) after.insert(name);
        std::set<std::string> expected;
        for (const auto& [name, text] : before) expected.insert(name);
        expected.insert(in_world("run.db"));
        if (makes_model) expected.insert(in_world("model.json"));
        EXPECT_EQ(after, expected) << said;
      }
    }
    fs::remove_all(world);
  }
  EXPECT_GE(seen["trained"], combinations / 4);
  EXPECT_GE(seen["released"], 1);
  EXPECT_GE(seen["run.db as model, ledger in run.db"], combinations / 12);
}

TEST_F(Files, OfAnotherKindAreRefusedBeforeAnythingIsCharged) {
  const auto data = small_data(20);
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  fs::create_symlink("pipe", path("to_pipe"));
  fs::create_symlink("circle", path("circle"));
  // As /dev/stdout is one, which a defect must not be able to harm when root runs this.
  fs::create_symlink("/proc/self/fd/1", path("stdout"));
  fs::create_symlink("stdout", path("to_stdout"));
  const std::vector<std::pair<std::string, int>> places{{"", 2},
                                                        {"/dev/null", 2},
                                                        {"/dev/full", 2},
                                                        {"stdout", 2},
                                                        {"to_stdout", 2},
                                                        {"/dev/fd/1", 2},
                                                        {"/proc/self/fd/2", 2},
                                                        {"pipe", 2},
                                                        {"to_pipe", 2},
                                                        {"sub", 2},
                                                        {"sub/", 2},
                                                        {".", 2},
                                                        {"/", 2},
                                                        {"new.db-wal", 2},
                                                        {"new.db-journal", 2},
                                                        {"new/", 5},
                                                        {"no/file", 5},
                                                        {"small.csv/x", 5},
                                                        {"circle", 5},
                                                        {std::string(300, 'x'), 5},
                                                        {std::string(5000, 'x'), 5}};
  for (const auto& [place, code] : places) {
    expect_untouched(train(data, "run.db", place), code, {"--model is '" + place.substr(0, 100)});
    expect_untouched(train(data, place, "model.json"), code, {"--ledger is '" + place.substr(0, 100)});
    expect_untouched(release(data, place), code, {"--ledger is '" + place.substr(0, 100)});
  }
  for (const Words& command :
       std::vector<Words>{{"audit", "--delta", "1e-5"}, {"ledger", "list"}, {"ledger", "create", "--adjacency", "replace-one"}}) {
    for (const auto& place : {"/dev/null", "/dev/full", "sub"})
      expect_untouched(command + Words{place}, 2, {place, "must be a regular file"});
  }
  // Sent to a file, standard output has a place of its own on the disk; the link stays what it is.
  const auto file = path("output");
  write(file, "");
  expect_untouched(train(data, "run.db", "stdout"), 2, {"--model is 'stdout'"}, {.standard_output = file.c_str()});
  EXPECT_EQ(fs::read_symlink(path("stdout")), "/proc/self/fd/1");
}

TEST_F(Files, AreNotMixedWithStandardStreams) {
  const auto data = small_data(20);
  ASSERT_EQ(here(train(data, "run.db", "model.json")).code, 0);
  for (const char* name : {"run.db", "small.csv", "model.json"}) {
    const auto file = path(name);
    const auto again = train(data, "run.db", "model.json");
    expect_untouched(again, 2, {"standard output", "must be another"}, {.standard_output = file.c_str()});
    expect_untouched(again, 2, {}, {.standard_error = file.c_str()});
    expect_untouched(again, 2, {}, {.standard_output = file.c_str(), .standard_error = file.c_str()});
  }
  const auto ledger = path("run.db");
  expect_untouched({"audit", "run.db", "--delta", "1e-5"}, 2, {"standard output"}, {.standard_output = ledger.c_str()});
  expect_untouched({"ledger", "list", "run.db"}, 2, {"standard output"}, {.standard_output = ledger.c_str()});
  expect_untouched({"predict", "model.json", "small.csv"}, 2, {"standard output"}, {.standard_output = data.c_str()});
  expect_untouched(release(data, "run.db"), 2, {"standard output"}, {.standard_output = ledger.c_str()});
  // What comes by standard input is a file as well, which the model would take the name of.
  const Words stream{"train", "-",         "--label", "label>0", "--algorithm", "one-pass-sgd", "--steps", "5",       "--radius",
                     "1",     "--epsilon", "1",       "--delta", "1e-5",        "--ledger",     "run.db",  "--model", "small.csv"};
  expect_untouched(stream, 2, {"--model", "must be another file than the data file"}, {.standard_input = data.c_str()});
}

TEST_F(Files, OfAllLearnersAndTheGraphAreKept) {
  for (int i = 0; i < 3; ++i) write(path("of" + std::to_string(i)), "+1 1:1\n-1 2:1\n");
  write(path("edges"), "0 1\n1 2\n");
  const auto gossip = [&](const std::string& ledger, const std::string& model) {
    return Words{"train",     "of{learner}", "--format", "libsvm",  "--features", "2",     "--algorithm", "gossip", "--learners", "3",
                 "--records", "6",           "--radius", "1",       "--topology", "graph", "--graph",     "edges",  "--epsilon",  "1",
                 "--delta",   "0",           "--noise",  "laplace", "--ledger",   ledger,  "--model",     model};
  };
  for (const char* name : {"of0", "./of2", "sub/../of1"}) {
    expect_untouched(gossip("run.db", name), 2, {"--model", "another file than the data file"});
    expect_untouched(gossip(name, "model.json"), 2, {"data file", "another file than the ledger"});
  }
  expect_untouched(gossip("run.db", "edges"), 2, {"--model", "another file than --graph"});
  EXPECT_EQ(here(gossip("run.db", "model.json")).code, 0);
}

// A run that waits for its records holds a model in the making.
TEST_F(Files, InTheMakingAreGoneWhenASignalEndsTheRun) {
  ASSERT_EQ(mkfifo(path("records").c_str(), 0600), 0);
  const int records = open(path("records").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(records, 0);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGKILL}) {
    ASSERT_EQ(::write(records, "x,label\n1,1\n", 12), 12);
    const auto input = path("records");
    const auto ledger = path("run" + std::to_string(signal) + ".db");
    Process process{{"train", "-", "--label", "label>0", "--algorithm", "one-pass-sgd", "--steps", "5", "--radius", "1", "--epsilon", "1",
                     "--delta", "1e-5", "--ledger", ledger, "--model", path("model.json")},
                    {.standard_input = input.c_str()}};
    const auto charged = [&] {
      const auto listed = Process{{"ledger", "list", ledger, "--json"}}.finish();
      return listed.code == 0 && !listed.json()["runs"].empty();
    };
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes{1};
    while (!charged()) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << "nothing is charged";
      std::this_thread::sleep_for(std::chrono::milliseconds{5});
    }
    ASSERT_EQ(::kill(process.id(), signal), 0);
    EXPECT_EQ(process.finish().signal, signal);
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator{path("")}) names.push_back(entry.path().filename().string());
    for (const auto& name : names) {
      EXPECT_TRUE(name == "records" || name == "sub" || (name.starts_with("run") && name.ends_with(".db"))) << name << " is left";
    }
  }
  close(records);
}

TEST_F(Files, AreNotMadeForWhatCannotBeKeptOrMeansNothing) {
  const auto data = small_data(20);
  Words hopeless{"train", data, "--label", "label>0", "--algorithm", "gradient-descent", "--clip", "1", "--steps", "2"};
  hopeless = hopeless + Words{"--epsilon", "1e-100", "--delta", "1e-300", "--ledger", path("run.db"), "--model", path("model.json")};
  expect_untouched(hopeless, 6, {"epsilon = 1e-100 at delta = 1e-300 is out of reach", "2^32"});
  expect_untouched(train(data, path("run.db"), path("model.json")) + Words{"--categories", "x="}, 2,
                   {"--categories is 'x=', must be column=text,text,..."});
}

TEST_F(Files, WithNamesThatAreNoTextAreRefusedUncharged) {
  const auto with = [&](const std::string& header, const Words& more) {
    write(path("names.csv"), header + "\n1,2,1\n2,1,0\n");
    return train("names.csv", "run.db", "model.json") + more;
  };
  const std::string bad =
      "gr\xf6\xdf"
      "e";
  const std::string shown = "gr\\xf6\\xdfe";
  expect_untouched(with(bad + ",y,label", {}), 2, {"column '" + shown + "'", "UTF-8", "drop"});
  expect_untouched(with("x,y,label", {"--categories", "x=1," + bad}), 2, {"category '" + shown + "'", "UTF-8"});
  auto labelled = with("x,y," + bad, {});
  labelled[3] = bad + ">0";
  expect_untouched(labelled, 2, {"label '" + shown, "UTF-8"});
  const Words stream{"--algorithm", "one-pass-sgd", "--radius", "1", "--steps", "2"};
  const Words gossip{"--algorithm", "gossip", "--radius", "1", "--learners", "1", "--records", "2", "--topology", "complete"};
  for (const auto& algorithm : {stream, gossip}) {
    write(path("names.csv"), bad + ",y,label\n1,2,1\n2,1,0\n");
    const Words words{"train",   "names.csv", "--label",  "label>0", "--epsilon", "1",
                      "--delta", "1e-5",      "--ledger", "run.db",  "--model",   "model.json"};
    expect_untouched(words + algorithm, 2, {"column '" + shown + "'", "UTF-8"});
  }
  // What is dropped is named nowhere, and a statistic needs the name for its note alone.
  EXPECT_EQ(here(with(bad + ",y,label", {"--drop", bad})).code, 0);
  write(path("names.csv"), bad + "\n1\n2\n");
  const auto released =
      here({"release", "names.csv", "--query", "sum(" + bad + ")", "--bounds", "0,1", "--epsilon", "1", "--ledger", "run.db", "--json"});
  EXPECT_EQ(released.code, 0) << released.err;
  EXPECT_TRUE(released.json().contains("value"));
  // A path is no text either.
  write(path("pl\xe4tze.csv"), "x,label\n1,1\n2,0\n");
  EXPECT_EQ(here(Words{"train", "pl\xe4tze.csv", "--label", "label>0", "--epsilon", "1", "--delta", "1e-5", "--ledger", "run.db", "--model",
                       "m\xf6.json", "--json"} +
                 gossip)
                .code,
            0);
  EXPECT_TRUE(fs::exists(path("m\xf6.json")));
}

TEST_F(Files, AreNamedInShortLinesWithoutWhatATerminalObeys) {
  static_cast<void>(small_data(20));
  ASSERT_EQ(here(train("small.csv", "run.db", "model.json")).code, 0);
  const std::string colour =
      "\x1b[31m\xc2\x9b"
      "31m\n\x07\xe2\x80\xae";
  for (const std::string& text :
       {std::string(100'000, 'x'), "no/" + std::string(50'000, '/') + "x", "no/" + colour, std::string(3000, '\xff')}) {
    for (const auto& arguments :
         std::vector<Words>{train(text, "run.db", "model.json"),
                            train("small.csv", text, "model.json"),
                            train("small.csv", "run.db", "no/" + text),
                            train("small.csv", "run.db", "model.json") + Words{"--drop", text},
                            train("small.csv", "run.db", "model.json") + Words{"--bounds", text},
                            train("small.csv", "run.db", "model.json") + Words{"--categories", text},
                            train("small.csv", "run.db", "model.json") + Words{"--loss", text},
                            train("small.csv", "run.db", "model.json") + Words{"--graph", text},
                            release(text, "run.db"),
                            release("small.csv", "no/" + text),
                            release("small.csv", "run.db") + Words{"--where", text},
                            {"predict", text, "small.csv"},
                            {"predict", "model.json", text},
                            {"predict", "small.csv", text},
                            {"audit", text, "--delta", "1e-5"},
                            {"audit", "small.csv", "--delta", "1e-5", text},
                            {"ledger", "list", text},
                            {"ledger", "create", "no/" + text, "--adjacency", "replace-one"},
                            {"ledger", "create", "sub/new.db", "--adjacency", text},
                            {"calibrate", "--event", text, "--solve", text, "--epsilon", "1", "--delta", "0", "--adjacency", "zero-out"},
                            {text}}) {
      const auto outcome = here(arguments);
      EXPECT_GT(outcome.code, 1) << arguments[0];
      EXPECT_LT(outcome.err.size(), 1100U) << outcome.err.substr(0, 2000);
      for (const char* bad : {"\x1b", "\xc2\x9b", "\x07", "\xe2\x80\xae", "\xff"})
        EXPECT_EQ(outcome.err.find(bad), std::string::npos) << outcome.err;
    }
  }
  // Nor in a report of what went well.
  const auto listed = here(train("small.csv", colour + ".db", colour + ".json"));
  EXPECT_EQ(listed.code, 0) << listed.err;
  for (const char* bad : {"\x1b", "\xc2\x9b", "\x07", "\xe2\x80\xae"}) EXPECT_EQ(listed.out.find(bad), std::string::npos) << listed.out;
}

}  // namespace
}  // namespace surety_test::files_test
