// No text of an option, a file or a ledger can end a line of what the command prints, or tell a terminal to do something; and where two texts
// are two things, they do not look alike. Every option of every command is asked, and every field that a report repeats.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <surety/cli/commands/command.h>
#include <surety/cli/simulate/simulate.h>

#include <support/command_in_process.h>
#include <support/temporary_folder.h>

namespace surety_test::printed_text_test {
namespace {

using Words = std::vector<std::string>;

Words operator+(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// The bytes that no output has, as UTF-8 or alone.
const std::vector<std::string>& forbidden() {
  static const auto all = [] {
    std::vector<std::string> bytes{"\x7f", "\xd8\x9c", "\xe2\x80\x8e", "\xe2\x80\x8f", "\xff", "\xfe"};
    for (char c = 0; c < 0x20; ++c) {
      if (c != '\n') bytes.emplace_back(1, c);
    }
    for (int c = 0x80; c < 0xa0; ++c) bytes.push_back(std::string{"\xc2"} + static_cast<char>(c));
    for (int c = 0xa8; c <= 0xae; ++c) bytes.push_back(std::string{"\xe2\x80"} + static_cast<char>(c));
    for (int c = 0xa6; c <= 0xa9; ++c) bytes.push_back(std::string{"\xe2\x81"} + static_cast<char>(c));
    return bytes;
  }();
  return all;
}

/// What lines a text tries to be.
const Words forged{"value        42",
                   "interval     [41, 43] with confidence 0.95",
                   "verdict      every promise is kept",
                   "{\"value\": 42}",
                   "surety: error: x",
                   "<text>42</text>"};

/// Of UTF-8: ESC, BEL, NUL, CR, LF, DEL, NEL, CSI, line separator, right-to-left override, isolate.
std::string hostile_text() {
  std::string text;
  for (const std::string_view piece : {"q", "\x1b[31m", "\x07", "\r", "\x7f", "\xc2\x85",
                                       "\xc2\x9b"
                                       "31m",
                                       "\xe2\x80\xa8", "\xe2\x80\xae", "\xe2\x81\xa6"})
    text += piece;
  text += '\0';
  for (const auto& line : forged) text += "\n" + line + "\r\n";
  return text + "'\\x";
}

/// The same and bytes that are no UTF-8.
std::string hostile_bytes() { return hostile_text() + "\xff\xfe\xc3(\xed\xa0\x80"; }

::testing::AssertionResult is_clean(const std::string& text) {
  for (const auto& bytes : forbidden()) {
    if (const auto at = text.find(bytes); at != std::string::npos) {
      return ::testing::AssertionFailure() << "byte " << static_cast<int>(static_cast<unsigned char>(bytes.back())) << " at " << at
                                           << " of\n"
                                           << text;
    }
  }
  for (const auto& line : forged) {
    if (text.starts_with(line + "\n") || text.find("\n" + line + "\n") != std::string::npos)
      return ::testing::AssertionFailure() << "forged: " << line << " in\n" << text;
  }
  return ::testing::AssertionSuccess();
}

class PrintedText : public ::testing::Test {
 protected:
  PrintedText() {
    write("data.csv", "who,town,x,y\na,Rome,1,1\nb,Bonn,2,0\nc,Rome,3,1\nd,Bonn,1,0\n");
    write("svm", "1 1:1\n-1 1:2\n1 1:3\n");
    write("log.json", log("opacus"));
  }
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void write(const std::string& name, const std::string& text) const { std::ofstream{path(name), std::ios::binary} << text; }
  [[nodiscard]] std::string contents(const std::string& name) const {
    std::ifstream file{path(name), std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
  }
  static std::string log(const std::string& accountant) {
    return nlohmann::json{{"version", 1},          {"sampler", "poisson"},     {"records", 1000}, {"batch_size", 10}, {"steps", 100},
                          {"noise_multiplier", 2}, {"accountant", accountant}, {"epsilon", 3},    {"delta", 1e-5}}
        .dump();
  }
  /// Runs it without the files of the run before, and holds what it says to what no text may do.
  Said run(const Words& words, bool keeps_files = false) const {
    if (!keeps_files) {
      for (const char* old : {"run.db", "model.json", "out.rec", "picture.svg"}) std::filesystem::remove(path(old));
    }
    auto said = command_in_process(words, path("."));
    std::string shown;
    for (const auto& word : words) shown += "'" + word.substr(0, 60) + "' ";
    EXPECT_TRUE(is_clean(said.out)) << shown;
    EXPECT_TRUE(is_clean(said.err)) << shown;
    EXPECT_EQ(std::count(said.err.begin(), said.err.end(), '\n'), said.err.empty() ? 0 : 1) << shown << said.err;
    return said;
  }
  [[nodiscard]] Words release(const Words& more) const {
    return Words{"release", path("data.csv"), "--epsilon", "40", "--delta", "1e-6", "--ledger", path("run.db"), "--replay-seed", "1"} +
           more;
  }
  [[nodiscard]] Words train(const Words& more) const {
    return Words{"train",   path("data.csv"),   "--epsilon",     "1", "--delta", "1e-5", "--ledger", path("run.db"),
                 "--model", path("model.json"), "--replay-seed", "1"} +
           more;
  }

  TemporaryFolder folder_;
};

/// Every option of `command`, on top of words that run it.
void for_each_option(const surety::cli::Command& command, const std::function<void(const surety::cli::Option&)>& see) {
  for (const auto* table : {&command.options, &command.hidden}) {
    for (const auto& group : table->groups()) {
      for (const auto& option : group.options) {
        if (!option.is_flag()) see(option);
      }
    }
  }
}

TEST_F(PrintedText, OfAnyOptionOfAnyCommandEndsNoLineAndMovesNoTerminal) {
  using namespace surety::cli;
  const GivenArguments given{};
  Command ledger = ledger_command();
  const auto subcommand = [&](const char* name) {
    return *std::find_if(ledger.commands.begin(), ledger.commands.end(), [&](const Command& one) { return one.name == name; });
  };
  const Words event{"--event", "gaussian(2)", "--adjacency", "replace-one"};
  const Words small{"--label", "y>0", "--drop", "who", "--drop", "town", "--algorithm", "gradient-descent", "--steps", "1"};
  ASSERT_EQ(run(train(small)).code, 0);
  std::filesystem::copy(path("model.json"), path("kept.json"));
  std::filesystem::copy(path("run.db"), path("kept.db"));
  struct Asked {
    Command command;
    Words words;  ///< that it runs by
  };
  const std::vector<Asked> all{
      {account_command(), Words{"account", "--delta", "1e-5"} + event},
      {calibrate_command(),
       {"calibrate", "--event", "gaussian(z)", "--solve", "z", "--epsilon", "1", "--delta", "1e-5", "--adjacency", "zero-out"}},
      {curve_command(), Words{"curve", "--points", "2"} + event},
      {release_command(given), release({"--query", "sum(x)", "--bounds", "0,5"})},
      {train_command(given), train(small)},
      {convert_command(), {"convert", path("data.csv"), path("out.rec"), "--label", "y>0", "--drop", "who", "--drop", "town"}},
      {predict_command(), {"predict", path("kept.json"), path("data.csv")}},
      {show_command(), {"show", path("kept.json")}},
      {schema_command(), {"schema", path("data.csv")}},
      {simulate_command({}), {"simulate", "--algorithm", "hdb", "--steps", "20", "--seeds", "1", "--arms", "2", "--without-noise"}},
      {audit_command(), {"audit", path("kept.db"), "--delta", "1e-5"}},
      {subcommand("create"), {"ledger", "create", path("run.db"), "--adjacency", "zero-out"}},
      {subcommand("list"), {"ledger", "list", path("kept.db")}},
      {subcommand("show"), {"ledger", "show", path("kept.db")}},
  };
  std::size_t asked = 0;
  for (const auto& [command, words] : all) {
    const auto fine = run(words);
    EXPECT_TRUE(fine.code == 0 || command.name == "simulate" || command.name == "audit") << words.front() << fine.err;
    for_each_option(command, [&, &words = words](const Option& option) {
      for (const auto& text : {hostile_text(), hostile_bytes()}) {
        const auto more = option.is_positional() ? Words{text} : Words{option.name() + "=" + text};
        static_cast<void>(run(words + more));
        // In the place of a word that is there, so that it is not the repetition which is refused.
        auto replaced = words;
        const auto at = std::find(replaced.begin(), replaced.end(), option.name());
        if (option.is_positional()) {
          replaced[1] = text;
        } else if (at != replaced.end()) {
          at[1] = text;
        } else {
          continue;
        }
        static_cast<void>(run(replaced));
        ++asked;
      }
    });
    static_cast<void>(run(words + Words{"--" + hostile_text()}));
    static_cast<void>(run(words + Words{hostile_bytes()}));
  }
  EXPECT_GT(asked, 60U);
  static_cast<void>(run({hostile_bytes()}));
  static_cast<void>(run({"ledger", hostile_bytes()}));
}

// What a report repeats of names, conditions, notes and cells, in every format.
TEST_F(PrintedText, OfWhatWasReleasedIsRepeatedOnOneLine) {
  const auto name = hostile_text();
  std::string quoted;
  for (const char c : name) quoted += c == '"' ? "\"\"" : std::string(1, c);
  // Its NUL leaves a record damaged or a header refused: those of files go without.
  const auto without_zero = [](std::string text) {
    text.erase(std::remove(text.begin(), text.end(), '\0'), text.end());
    return text;
  };
  const auto column = without_zero(quoted);
  write("hostile.csv", "\"" + column + "\",town,x\n\"" + column + "\",Rome,1\nb,\"" + column + "\",2\n");
  const auto plain = without_zero(name);
  const auto in_hostile = [&](const Words& more) {
    auto words = release(more);
    words[1] = path("hostile.csv");
    return words;
  };
  const std::string literal = "\"" + std::string{"it\x1b[1m\nvalue        42\n\xe2\x80\xae"} + "\"";
  const std::string quoted_name = "\"" + column + "\"";
  std::size_t went_well = 0;
  for (const auto& words : std::vector<Words>{
           in_hostile({"--query", "histogram(town)", "--categories", "Rome," + quoted_name}),
           in_hostile({"--query", "count()", "--by", "town", "--keys", "Rome," + quoted_name}),
           in_hostile({"--query", "count()", "--query", "sum(x)", "--bounds", "0,5", "--by", "town", "--keys", "Rome," + quoted_name}),
           in_hostile({"--query", "count()", "--where", "town==" + literal}),
           in_hostile({"--query", "count() where town==" + literal, "--query", "sum(x)", "--bounds", "0,1"}),
           in_hostile({"--query", "sum(" + plain + ")", "--bounds", "0,1", "--missing", quoted_name + "=1"}),
           in_hostile({"--query", "sum(x)", "--bounds", "0,1", "--note", hostile_bytes()}),
           in_hostile({"--query", "keys(town)", "--unit", "x", "--most", "1"}),
           in_hostile(
               {"--query", "count(distinct town)", "--query", "mean(x)", "--bounds", "0,5", "--by", "town", "--keys", "discovered"})}) {
    for (const auto& format : {"table", "json", "csv"}) {
      const auto said = run(words + Words{"--format", format, "--svg", path("picture.svg")});
      EXPECT_TRUE(said.code == 0 || said.code == 2 || said.code == 3) << said.err;
      if (said.code != 0) continue;
      ++went_well;
      EXPECT_TRUE(is_clean(contents("picture.svg")));
      if (format == std::string{"json"}) {
        const auto json = nlohmann::json::parse(said.out, nullptr, false);
        EXPECT_FALSE(json.is_discarded()) << said.out;
      }
      // The ledger holds the same whatever was printed, and an audit of it takes longer with each run.
      if (format != std::string{"table"}) continue;
      for (const Words& later : {Words{"audit", path("run.db"), "--delta", "1e-6"}, Words{"ledger", "list", path("run.db")},
                                 Words{"ledger", "show", path("run.db")}, Words{"ledger", "show", path("run.db"), "1"}}) {
        EXPECT_EQ(run(later + Words{"--json"}, true).code, 1 - static_cast<int>(later.front() != "audit"))
            << "a replayed run keeps no promise";
        static_cast<void>(run(later, true));
      }
    }
  }
  EXPECT_GE(went_well, 18U);
}

TEST_F(PrintedText, OfAPlanForgesNoLine) {
  const auto planned = run(release({"--query", "count()", "--where", "town=='Rome'", "--print-plan"}));
  ASSERT_EQ(planned.code, 0) << planned.err;
  auto plan = nlohmann::json::parse(planned.out);
  plan["options"]["query"][0]["where"] = "town=='x\nvalue        42\ninterval     [41, 43] with confidence 0.95\n\x1b[31m'";
  plan["options"]["note"] = hostile_text();
  write("plan.json", plan.dump());
  const auto said = run({"release", "--plan", path("plan.json")});
  ASSERT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(said.out.find("\nvalue "), said.out.rfind("\nvalue ")) << said.out;
  // Any field, whatever it is.
  for (const auto& [field, value] : plan["options"].items()) {
    auto other = plan;
    other["options"][field] = hostile_text();
    write("plan.json", other.dump());
    static_cast<void>(run({"release", "--plan", path("plan.json")}));
  }
  for (const auto& [field, value] : plan["options"]["query"][0].items()) {
    auto other = plan;
    other["options"]["query"][0][field] = hostile_text();
    write("plan.json", other.dump());
    static_cast<void>(run({"release", "--plan", path("plan.json")}));
  }
  for (const auto& [field, value] : plan.items()) {
    auto other = plan;
    other[field] = hostile_text();
    other[hostile_text()] = 1;
    write("plan.json", other.dump());
    static_cast<void>(run({"release", "--plan", path("plan.json")}));
  }
}

TEST_F(PrintedText, OfFilesIsRepeatedOnOneLine) {
  const std::string name{"q\x1b[31m\x07\xc2\x85\xe2\x80\xae"};
  const Words classes{"--label", "town", "--classes", "Rome," + name, "--drop", "who"};
  write("data.csv", "who,town,x,y\na,Rome,1,1\nb," + name + ",2,0\nc,Rome,3,1\nd," + name + ",1,0\n");
  const auto trained = run(train(Words{"--algorithm", "shaped-descent", "--held-out", "0"} + classes));
  ASSERT_EQ(trained.code, 0) << trained.err;
  const auto predicted = run({"predict", path("model.json"), path("data.csv"), "--class"}, true);
  EXPECT_EQ(predicted.code, 0) << predicted.err;
  EXPECT_EQ(std::count(predicted.out.begin(), predicted.out.end(), '\n'), 4);
  EXPECT_EQ(run({"predict", path("model.json"), path("data.csv"), "--class", "--json"}, true).code, 0);
  // A header, in what lists it, in a schema that is made of it, and in what reads that.
  write("data.csv", name + ",x,y\n1,1,1\n2,2,0\n");
  EXPECT_EQ(run(release({"--query", "sum(z)", "--bounds", "0,1"})).code, 3);
  const auto schema = run({"schema", path("data.csv")});
  ASSERT_EQ(schema.code, 0) << schema.err;
  auto json = nlohmann::json::parse(schema.out);
  EXPECT_EQ(json["columns"][0]["name"], name) << "it means the same";
  for (const auto& [field, value] : json.items()) {
    auto other = json;
    other[field] = hostile_text();
    write("schema.json", other.dump());
    static_cast<void>(run(release({"--query", "sum(x)", "--bounds", "0,1", "--schema", path("schema.json")})));
  }
  for (const auto& [field, value] : json["columns"][0].items()) {
    auto other = json;
    other["columns"][0][field] = hostile_text();
    write("schema.json", other.dump());
    static_cast<void>(run(release({"--query", "sum(x)", "--bounds", "0,1", "--schema", path("schema.json")})));
  }
  // A query list, a log, and a model, field by field.
  const nlohmann::json query{{"query", "count()"}, {"where", "x>1"}, {"by", "y"}, {"keys", {"0", "1"}}};
  for (const auto& [field, value] : query.items()) {
    auto other = query;
    other[field] = hostile_text();
    write("queries.json", nlohmann::json::array({other}).dump());
    static_cast<void>(run(release({"--queries", path("queries.json")})));
    static_cast<void>(run(release({"--query", other.dump()})));
  }
  const auto good = nlohmann::json::parse(log(hostile_text()));
  write("log.json", good.dump());
  EXPECT_LE(run({"audit", "--log", path("log.json"), "--adjacency", "zero-out"}).code, 1);
  EXPECT_LE(run({"audit", "--log", path("log.json"), "--adjacency", "zero-out", "--json"}).code, 1);
  for (const auto& [field, value] : good.items()) {
    auto other = good;
    other[field] = hostile_text();
    other.erase("accountant");
    write("log.json", other.dump());
    static_cast<void>(run({"audit", "--log", path("log.json"), "--adjacency", "zero-out"}));
  }
  ASSERT_EQ(run(train({"--label", "y>0", "--algorithm", "gradient-descent", "--steps", "1"})).code, 0);
  const auto model = nlohmann::json::parse(contents("model.json"));
  for (const auto& [field, value] : model.items()) {
    auto other = model;
    other[field] = hostile_text();
    write("other.json", other.dump());
    static_cast<void>(run({"predict", path("other.json"), path("data.csv")}));
  }
}

// A key is shown as what it is: those that differ differ in print, and each is one line.
/// Of a line of CSV, with its quotes.
std::string third_field(const std::string& line) {
  int commas = 0;
  bool is_quoted = false;
  std::string field;
  for (const char c : line) {
    if (c == '"') is_quoted = !is_quoted;
    if (c == ',' && !is_quoted) {
      if (++commas == 3) break;
      continue;
    }
    if (commas == 2) field += c;
  }
  return field;
}

TEST_F(PrintedText, OfTwoKeysIsNeverTheSame) {
  const Words keys{"\xff\xfe",
                   "\\xff\\xfe",
                   "\\\\xff\\\\xfe",
                   "li\nne",
                   "li ne",
                   "li\\x0ane",
                   "li\\nne",
                   "a\x1b",
                   "a\\x1b",
                   "a ",
                   "\xe2\x80\xae",
                   "\\u202e",
                   "\xc2\x85",
                   "\\u0085",
                   "\\x85",
                   "\x85",
                   "=1",
                   "'=1",
                   "''=1",
                   "'",
                   "tab\there",
                   "tab here",
                   "a,b",
                   "\"a\"",
                   "a",
                   "1",
                   "\\",
                   "\\\\"};
  std::string text = "who,key\n";
  for (std::size_t k = 0; k < keys.size(); ++k) {
    std::string cell;
    for (const char c : keys[k]) cell += c == '"' ? "\"\"" : std::string(1, c);
    for (int n = 0; n < 40; ++n) text += fmt::format("u{},\"{}\"\n", 100 * k + static_cast<std::size_t>(n), cell);
  }
  write("data.csv", text);
  for (const auto& format : {"table", "json", "csv"}) {
    const auto said = run(release({"--query", "keys(key)", "--noise", "laplace", "--adjacency", "add-or-remove-one", "--format", format}));
    ASSERT_EQ(said.code, 0) << said.err;
    std::set<std::string> shown;
    if (format == std::string{"json"}) {
      const auto report = nlohmann::json::parse(said.out);
      for (const auto& cell : report["cells"]) shown.insert(cell["cell"].dump() + cell.value("cell_bytes", ""));
    } else {
      const bool is_csv = format == std::string{"csv"};
      const auto lines = said.out.substr(said.out.find(is_csv ? "query,group,cell," : "cell "));
      std::size_t begin = lines.find('\n') + 1;
      for (std::size_t end = 0; (end = lines.find('\n', begin)) != std::string::npos; begin = end + 1) {
        const auto line = lines.substr(begin, end - begin);
        // Behind the text stand numbers.
        shown.insert(is_csv ? third_field(line) : line.substr(0, line.rfind("   [")).substr(0, line.rfind("   [") - 12));
      }
    }
    EXPECT_EQ(shown.size(), keys.size()) << said.out;
  }
}

TEST_F(PrintedText, OfNoiseIsSaidOnceForAllGroups) {
  const auto count = [](const std::string& text, const std::string& what) {
    std::size_t found = 0;
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++found;
    return found;
  };
  const auto one = run(release({"--query", "count()", "--by", "town", "--keys", "Rome,Bonn,Genf"}));
  ASSERT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(count(one.out, "standard deviation"), 1U) << one.out;
  const auto two = run(release({"--query", "count()", "--query", "sum(x)", "--bounds", "0,5", "--by", "town", "--keys", "Rome,Bonn,Genf"}));
  ASSERT_EQ(two.code, 0) << two.err;
  EXPECT_EQ(count(two.out, "standard deviation"), 2U) << two.out;
}

}  // namespace
}  // namespace surety_test::printed_text_test
