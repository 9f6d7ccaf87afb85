// What one record holds, or whether it is there where that is private, decides neither the exit code of release and train nor one byte of
// what they say, apart from released values and from what is labelled as not private. Whole files of hostile records, through the command.
//
// SURETY_NEIGHBOURS=n compares n times as many files.
#include <cstdint>
#include <functional>
#include <random>

#include <support/surety_process.h>

namespace surety_test::neighbour_test {
namespace {

using Random = std::mt19937_64;

std::size_t below(Random& random, std::size_t count) { return std::uniform_int_distribution<std::size_t>{0, count - 1}(random); }

const std::string& one_of(Random& random, const Words& words) { return words[below(random, words.size())]; }

/// The whole text of one record: its quotes are closed, unless nothing comes behind it.
std::string random_csv_record(Random& random, bool is_last) {
  static const Words cells{"3",     "-1",      "0",     "1",        "",         "nan",     "-inf", "1e400",        "1e-400",  "x",
                           " 2 ",   "\"a,b\"", "\"1\"", "\"x\ny\"", "\"\"\"\"", "\"1\n\"", "5\"",  "\"x\"y",       "\r",      "#1",
                           "1e308", "5e-324",  "+4",    "0x10",     "\xff\xfe", "\"\"",    "a\rb", "HIV positive", "\xc3\xa9"};
  static const Words whole{
      "", ",", ",,", ",,,,,,", "#", "# 1,2,1", "\r", " ", "1,2", "1,2,1,1", "\"1,2,1\"", "\"\n\n\n\"", std::string{"1\0,2,1", 6}};
  static const Words unclosed{"\"", "1,\"2,1", "1,2,\"1\n\n1,2,1"};
  const std::size_t kind = below(random, 16);
  if (kind < 3) return one_of(random, whole);
  if (kind == 3 && is_last) return one_of(random, unclosed);
  if (kind == 4 && below(random, 4) == 0) return std::string(1'000'000, '1') + ",2,1";
  const std::string label = below(random, 2) == 0 ? one_of(random, {"0", "1"}) : one_of(random, cells);
  return one_of(random, cells) + "," + one_of(random, cells) + "," + label;
}

std::string random_libsvm_record(Random& random) {
  static const Words parts{" 1:1",   " 2:-3",    " 3:1e-400", " 3:0.5", " 9:1", " 0:1", " 1:x",
                           " 2:nan", " 3:1e400", " # 3:1",    " \xff",  "\r",   " 1"};
  static const Words labels{"1", "-1", "+1", "0", "7", "", "#", "yes", "nan", std::string{"\0", 1}};
  std::string record = one_of(random, labels);
  for (std::size_t k = below(random, 4); k > 0; --k) record += one_of(random, parts);
  return record;
}

/// One question to the command, which reads `data`.
struct Question {
  std::string name;
  std::function<Words(std::size_t records)> words;  ///< what follows the file; `records` is the number where it is public, else a guess
  Words adjacencies;
  bool is_libsvm = false;
};

const Words every_adjacency{"replace-one", "zero-out", "add-or-remove-one"};
const Words fixed_places{"replace-one", "zero-out"};
const Words adding{"add-or-remove-one"};

std::vector<Question> questions() {
  const auto release = [](const std::string& query, const Words& more, const Words& adjacencies) {
    return Question{"release " + query, [=](std::size_t) { return Words{"--query", query, "--epsilon", "1"} + more; }, adjacencies};
  };
  const auto train = [](const std::string& algorithm, const Words& adjacencies, const std::function<Words(std::size_t)>& more) {
    const auto words = [=](std::size_t records) {
      return Words{"--label", "label>0", "--algorithm", algorithm, "--epsilon", "1", "--delta", "1e-5"} + more(records);
    };
    return Question{"train " + algorithm, words, adjacencies};
  };
  const auto libsvm = [](const std::string& algorithm, const Words& adjacencies, const std::function<Words(std::size_t)>& more) {
    const auto words = [=](std::size_t records) {
      return Words{"--format", "libsvm", "--features", "3", "--algorithm", algorithm, "--epsilon", "1", "--delta", "1e-5"} + more(records);
    };
    return Question{"train " + algorithm + " on LIBSVM text", words, adjacencies, true};
  };
  const auto some = [](const Words& words) { return [=](std::size_t) { return words; }; };
  const auto with_records = [](const Words& words) {
    return [=](std::size_t records) { return words + Words{"--records", std::to_string(records)}; };
  };
  const Words squared{"--loss", "squared", "--label-bound", "2", "--radius", "1"};
  const Words several{"--bounds", "-2,20",
                      "--query",  json_text("{'query': 'histogram(y)', 'categories': ['1', 'x'], 'by': 'label', 'keys': ['1']}"),
                      "--query",  json_text("{'query': 'count()', 'where': 'y>0', 'weight': 3}")};
  return {
      release("count()", {"--where", "x>0"}, every_adjacency),
      release("count()", {}, adding),
      release("sum(x)", {"--bounds", "-2,20"}, every_adjacency),
      release("sum(x)", {"--bounds", "18, 90", "--where", "y!=3"}, every_adjacency),
      release("mean(x)", {"--bounds", "1,5"}, every_adjacency),
      release("mean(x)", {"--bounds", "-5,1", "--where", "label==1"}, every_adjacency),
      release("histogram(x)", {"--categories", "3, x,\"a,b\""}, every_adjacency),
      release("histogram(x)", {"--bounds", "-1,4", "--bins", "3"}, every_adjacency),
      release("histogram(x)", {"--edges", "-1,0,4"}, every_adjacency),
      release("mode(x)", {"--categories", "3,x,2", "--top", "2", "--missing", "x=x"}, every_adjacency),
      release("median(x)", {"--bounds", "-5,5", "--candidates", "11"}, every_adjacency),
      release("sum(x)", {"--bounds", "18, 90", "--complete", "x,y"}, every_adjacency),
      release("mean(x)", {"--bounds", "-5,1", "--complete", "x"}, every_adjacency),
      release("count()", {"--where", "missing(x) or not missing(y)"}, every_adjacency),
      release("sum(y)", {"--bounds", "2,5", "--where", "present(x) and not (missing(label) or label==1)", "--decimal", ","},
              every_adjacency),
      release("variance(x)", {"--bounds", "-5,5"}, every_adjacency),
      release("count()", {"--by", "y", "--keys", "1,3,x"}, every_adjacency),
      release("sum(x)", {"--bounds", "-2,20", "--by", "y", "--key-bounds", "0,4", "--key-bins", "2"}, every_adjacency),
      release("histogram(x)", {"--categories", "3,x,2", "--by", "label", "--keys", "0,1"}, every_adjacency),
      release("sum(x)", several, every_adjacency),
      release("count()", {"--where", "not (x>0 and y!=x) or label==1 and not y=='a,b'"}, every_adjacency),
      release("sum(x)", {"--bounds", "-5,5", "--missing", "x=-5", "--missing", "y=x"}, every_adjacency),
      release("count()", {"--where", "not (x>2)", "--missing", "x=1"}, every_adjacency),
      release("histogram(x)", {"--categories", "3,x", "--missing", "x=x", "--delimiter", ";"}, every_adjacency),
      release("mean(x)", {"--bounds", "-5,5", "--where", "y!=3", "--missing", "x=5", "--columns", "x,y,label"}, every_adjacency),
      train("gradient-descent", fixed_places, some({"--steps", "2", "--categories", "y=x,3"})),
      train("gradient-descent", fixed_places, some({"--steps", "2", "--missing", "x=2", "--missing", "y=x", "--categories", "y=x,3"})),
      train("gradient-descent", every_adjacency, some({"--steps", "2", "--public-count", "5", "--drop", "y", "--delimiter", "tab"})),
      train("gradient-descent", adding, some({"--steps", "2", "--public-count", "5", "--drop", "y"})),
      train("accelerated-gradient-descent", adding, some(Words{"--steps", "2", "--public-count", "5"} + squared)),
      train("mirror-descent", fixed_places, some({"--steps", "2", "--radius", "1", "--loss", "smoothed-hinge"})),
      train("output-perturbation", fixed_places, some({"--held-out", "0"})),
      train("output-perturbation", adding, some({"--public-count", "5"})),
      train("dp-sgd", every_adjacency, with_records({"--steps", "2", "--batch-size", "1", "--noise-multiplier", "50"})),
      train("online-frank-wolfe", fixed_places, some({"--steps", "5", "--radius", "1", "--every", "2"})),
      train("polyhedral-frank-wolfe", fixed_places, some({"--steps", "5", "--radius", "1", "--categories", "x=3,1"})),
      train("one-pass-sgd", fixed_places, some(Words{"--steps", "5"} + squared)),
      train("noisy-sgd", fixed_places, with_records({"--radius", "1", "--batch-size", "1"})),
      train("noisy-sgd", fixed_places, with_records({"--radius", "1", "--batch-size", "2", "--publish", "last"})),
      train("gradient-descent", fixed_places, some({"--steps", "2", "--publish", "last"})),
      train("snowball-sgd", fixed_places, with_records({"--steps", "2"})),
      train("noisy-frank-wolfe", fixed_places, some({"--radius", "1", "--steps", "2"})),
      train("gossip", fixed_places, with_records({"--radius", "1", "--learners", "2"})),
      libsvm("gradient-descent", every_adjacency, some({"--steps", "2", "--public-count", "5"})),
      libsvm("private-ftrl", fixed_places, some({"--steps", "6", "--radius", "1", "--step-size", "0.1"})),
  };
}

/// Takes out of a JSON object what is released or labelled.
nlohmann::json without_what_may_differ(const nlohmann::json& json) {
  nlohmann::json rest = nlohmann::json::object();
  for (const auto& [key, value] : json.items()) {
    if (key.ends_with("_not_private") || key == "value" || key == "interval" || key == "weights" || key == "warning" || key == "warnings")
      continue;
    if (key == "used") {
      // Of a count that was released; which total stands with it is public.
      rest[key] = value.contains("total");
      continue;
    }
    if (key == "usable") {
      rest[key] = value.at("of");
      continue;
    }
    if (key == "held_out_score") {
      rest[key] = value;
      for (const char* released : {"value", "usable_records", "over_noise", "over_noise_and_sampling"}) rest[key].erase(released);
      continue;
    }
    const bool is_list = key == "cells" || key == "groups" || key == "queries";
    if (!is_list) rest[key] = value;
    if (is_list) {
      for (const auto& one : value) rest[key].push_back(without_what_may_differ(one));
    }
  }
  return rest;
}

/// A line of the table of numbers, or of CSV, without them and without the room that they take.
std::string without_numbers(const std::string& line, bool is_csv) {
  static const std::regex in_csv{R"((,[^,]*){3}((,[^,]*){5})(,[^,]*){4},("[^"]*"|[^,]*)((,[^,]*){2})$)"};
  static const std::regex in_table{R"( +(-|\d)[-+.e\d]* +\[[^\]]*\]( +\d[-+.e\d]* in \[[^\]]*\]( of \d[-+.e\d]*)?)? *)"};
  static const std::regex blanks{" +"};
  return is_csv ? std::regex_replace(line, in_csv, "$2$6") : std::regex_replace(std::regex_replace(line, in_table, " # "), blanks, " ");
}

/// Takes out of what is printed what is released or labelled.
std::string without_what_may_differ(const std::string& out) {
  if (out.starts_with("{\n")) return without_what_may_differ(nlohmann::json::parse(out)).dump();
  std::istringstream lines{out};
  std::string rest;
  bool are_cells = false;
  bool are_numbers = false;
  const bool is_csv = out.starts_with("query,");
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("scores on ")) break;  // "... (computed on private data, so not private themselves: do not publish them)"
    if (line.starts_with("damaged ") && line.find("do not publish") != std::string::npos) continue;
    if (line.starts_with("value ") || line.starts_with("interval ") || line.starts_with("used ") || line.starts_with("usable ") ||
        line.starts_with("score ") || line.starts_with("WARNING")) {
      continue;
    }
    if (line.starts_with("{\"step\"")) line = without_what_may_differ(nlohmann::json::parse(line)).dump();
    rest += are_cells ? line.substr(0, line.find("  ")) : are_numbers || is_csv ? without_numbers(line, is_csv) : line;
    rest += '\n';
    are_cells = are_cells || line.starts_with("cell ");
    are_numbers = are_numbers || line.starts_with("Intervals have confidence");
  }
  return rest;
}

/// All that a run lets be seen but for what may differ.
struct Seen {
  int code;
  std::string out;
  std::string err;
  std::string model;
  friend bool operator==(const Seen&, const Seen&) = default;
};

class Neighbours : public CommandTest {
 protected:
  using Records = Words;

  [[nodiscard]] Outcome run(const Question& question, const Records& records, const Words& more) const {
    const auto value = [&](const std::string& option) {
      const auto found = std::find(more.begin(), more.end(), option);
      return found == more.end() ? std::string{} : *(found + 1);
    };
    std::string text = question.is_libsvm || !value("--columns").empty() ? "" : "x,y,label\n";
    for (const auto& record : records) text += record + "\n";
    if (const auto delimiter = value("--delimiter"); !delimiter.empty()) {
      std::replace(text.begin(), text.end(), ',', delimiter == "tab" ? '\t' : delimiter.front());
    }
    // The last line end is optional, but where it is all there is of the last record.
    if (!records.empty() && !records.back().empty() && text.size() % 2 == 0) text.pop_back();
    write(path("data"), text);
    for (const char* old : {"run.db", "model.json"}) std::filesystem::remove(path(old));
    Words words{question.name.substr(0, question.name.find(' ')), path("data"), "--ledger", path("run.db"), "--replay-seed", "3"};
    if (words.front() == "train") words = words + Words{"--model", path("model.json")};
    return surety(words + more);
  }

  [[nodiscard]] Seen seen(const Outcome& outcome) const {
    const auto model = nlohmann::json::parse(contents(path("model.json")), nullptr, false);
    return {outcome.code, outcome.code == 0 ? without_what_may_differ(outcome.out) : outcome.out, outcome.err,
            model.is_discarded() ? "" : without_what_may_differ(model).dump()};
  }

  static Records random_records(const Question& question, Random& random, std::size_t least) {
    Records records(least + below(random, 6));
    for (auto& record : records) {
      if (below(random, 2) == 0) {
        record = question.is_libsvm ? one_of(random, {"1 1:1 3:2", "-1 2:1"}) : one_of(random, {"1,2,1", "-3,3,0"});
      } else {
        record = question.is_libsvm ? random_libsvm_record(random) : random_csv_record(random, false);
      }
    }
    return records;
  }

  /// One record replaced, zeroed, added or removed, at the first, a middle or the last place.
  static Records neighbour(const Question& question, const std::string& adjacency, Records records, Random& random) {
    const bool comes = adjacency == "add-or-remove-one" && (records.empty() || below(random, 2) == 0);
    const std::size_t places = records.size() + (comes ? 1 : 0);
    const std::size_t place = std::vector<std::size_t>{0, places / 2, places - 1}[below(random, 3)];
    const auto at = records.begin() + static_cast<std::ptrdiff_t>(place);
    const auto fresh = [&] { return question.is_libsvm ? random_libsvm_record(random) : random_csv_record(random, place + 1 == places); };
    if (comes) {
      records.insert(at, fresh());
    } else if (adjacency == "add-or-remove-one") {
      records.erase(at);
    } else {
      *at = adjacency == "zero-out" ? "" : fresh();
    }
    return records;
  }
};

std::size_t rounds() {
  const char* const asked = std::getenv("SURETY_NEIGHBOURS");
  return asked != nullptr ? std::stoul(asked) : 1;
}

/// How far two releases with the same noise are apart, in l1.
double distance(const nlohmann::json& a, const nlohmann::json& b) {
  for (const char* list : {"groups", "cells"}) {
    if (!a.contains(list)) continue;
    double sum = 0;
    for (std::size_t k = 0; k < a[list].size(); ++k) sum += distance(a[list][k], b[list][k]);
    return sum;
  }
  return std::abs(a["value"].get<double>() - b["value"].get<double>());
}

/// What is released is computed from noisy sums.
bool is_quotient(const std::string& query) { return query.starts_with("mean") || query.starts_with("variance"); }

/// That of each query is at most its sensitivity. Means are no sums.
void expect_within_sensitivity(const nlohmann::json& a, const nlohmann::json& b, const std::string& what) {
  if (a.contains("queries")) {
    for (std::size_t k = 0; k < a["queries"].size(); ++k) expect_within_sensitivity(a["queries"][k], b["queries"][k], what);
  } else if (a.contains("l1_sensitivity") && !is_quotient(a["query"].get<std::string>())) {
    EXPECT_LE(distance(a, b), a["l1_sensitivity"].get<double>() * (1 + 1e-9)) << what;
  }
}

TEST_F(Neighbours, AreToldApartByNothingButNoisyAndLabelledNumbers) {
  Random random{20261122};
  for (std::size_t round = 0; round < rounds(); ++round) {
    for (const auto& question : questions()) {
      const auto& adjacency = one_of(random, question.adjacencies);
      const bool is_count_private = adjacency == "add-or-remove-one";
      const auto base = random_records(question, random, is_count_private ? 0 : 4);
      Words words = question.words(is_count_private ? 5 : base.size()) + Words{"--adjacency", adjacency};
      const bool is_json = question.name.starts_with("release") ? below(random, 4) > 0 : below(random, 2) == 0;
      const bool shows_lines = std::find(words.begin(), words.end(), "--every") != words.end();
      if (is_json && !shows_lines) words = words + Words{"--json"};
      if (!is_json && question.name.starts_with("release") && below(random, 2) == 0) words = words + Words{"--format", "csv"};
      const auto first = run(question, base, words);
      const auto expected = seen(first);
      EXPECT_EQ(first.code, 0) << joined(words) << "\n" << first.err;
      for (int k = 0; k < 3; ++k) {
        const auto other = neighbour(question, adjacency, base, random);
        const auto outcome = run(question, other, words);
        const auto what = [&] {
          std::string text;
          for (const auto* records : {&base, &other}) {
            for (const auto& record : *records) text += "\n  [" + record.substr(0, 50) + "]";
            text += "\n";
          }
          return joined(words) + text + first.out + first.err + outcome.out + outcome.err;
        };
        EXPECT_TRUE(seen(outcome) == expected) << what();
        if (question.name.starts_with("release") && is_json && outcome.code == 0 && first.code == 0) {
          expect_within_sensitivity(first.json(), outcome.json(), what());
        }
      }
    }
  }
}

// The same comparison sees the strict reader, which is what --form-is-public asks for, and a private number without its label.
TEST_F(Neighbours, AreToldApartByAStrictReaderAndByAnUnlabelledCount) {
  const auto all = questions();
  const auto named = [&](const std::string& name) {
    return *std::find_if(all.begin(), all.end(), [&](const auto& question) { return question.name == name; });
  };
  const Records whole{"1,2,1", "2,3,0", "1,2,1", "2,3,0", "1,2,1"};
  for (const auto& name : {"release sum(x)", "train gradient-descent"}) {
    const auto question = named(name);
    const auto words = question.words(5);
    for (const auto& damaged : Words{"HIV,2,1", "nan,2,1", "1e400,2,1", ",2,1", "1,2", "", "\"1,2,1", std::string{"1\0,2,1", 6}}) {
      auto other = whole;
      other.back() = damaged;
      const auto strict = words + Words{"--form-is-public"};
      const auto expected = seen(run(question, whole, strict));
      EXPECT_EQ(expected.code, 0);
      const auto refused = seen(run(question, other, strict));
      EXPECT_EQ(refused.code, 3) << damaged;
      EXPECT_NE(refused.err.find("row 5 (line 6)"), std::string::npos) << refused.err;
      EXPECT_FALSE(std::filesystem::exists(path("run.db"))) << "refused, so not charged";
      EXPECT_FALSE(refused == expected);
      EXPECT_TRUE(seen(run(question, whole, words)) == seen(run(question, other, words))) << damaged;
    }
  }
  const auto question = named("train gradient-descent");
  auto other = whole;
  other.back() = "";
  const auto relabelled = [&](const Records& records) {
    auto outcome = run(question, records, question.words(5) + Words{"--json"});
    const std::string label = "damaged_records_not_private";
    outcome.out.replace(outcome.out.find(label), label.size(), "damaged_records");
    return seen(outcome);
  };
  EXPECT_FALSE(relabelled(whole) == relabelled(other));
}

// ---- Neighbours that differ in one unit, all of whose rows give way to any others, at any places of the file ------------------------------

/// A row of `unit` with hostile cells, of which none decides whose row it is.
std::string random_row_of(Random& random, const std::string& unit) {
  static const Words cells{"3", "-1",  "20",      "1",        "",         "nan",  "-inf",    "1e400",
                           "x", " 2 ", "\"a,b\"", "\"x\ny\"", "\"\"\"\"", "0x10", "\xff\xfe"};
  return unit + "," + one_of(random, cells) + "," + one_of(random, cells) + "," + one_of(random, {"0", "1", "1", "0", "nan", ""});
}

/// Of the unit without a name: damaged records, and rows whose name is empty.
std::string random_row_of_nobody(Random& random) {
  static const Words rows{"", ",", "a,1", "a,1,2,1,1", "\"a,1,2,1\"", "a,1\"2,3,1", "\r", ",3,nan,1", "\"\",20,1,1"};
  return one_of(random, rows);
}

struct UnitQuestion {
  std::string command;
  Words words;
  Words adjacencies;
};

std::vector<UnitQuestion> unit_questions() {
  const auto release = [](const std::string& query, const Words& more) {
    return UnitQuestion{"release", Words{"--query", query, "--epsilon", "1"} + more, every_adjacency};
  };
  const auto train = [](const std::string& algorithm, const Words& adjacencies, const Words& more) {
    return UnitQuestion{
        "train", Words{"--label", "label>0", "--algorithm", algorithm, "--epsilon", "1", "--delta", "1e-5", "--held-out", "0.4"} + more,
        adjacencies};
  };
  // Units a, b, c and one more.
  const Words batches{"--records", "4", "--steps", "2", "--batch-size", "1", "--noise-multiplier", "50"};
  return {release("count()", {"--where", "x>0"}),
          release("sum(x)", {"--bounds", "-2,20"}),
          release("sum(x)", {"--bounds", "18,90", "--where", "y!=3"}),
          release("mean(x)", {"--bounds", "1,5"}),
          release("sum(x)", {"--bounds", "2,5", "--complete", "x"}),
          release("count()", {"--where", "missing(x) or not missing(y)"}),
          release("sum(x)", {"--bounds", "-5,5", "--missing", "x=-5", "--missing", "y=x"}),
          release("count()", {"--where", "not (x>2)", "--missing", "x=1"}),
          release("variance(x)", {"--bounds", "1,5"}),
          release("median(x)", {"--bounds", "1,5"}),
          release("histogram(x)", {"--categories", "3, x,\"a,b\""}),
          release("histogram(x)", {"--bounds", "-1,4", "--bins", "3"}),
          release("sum(x)", {"--bounds", "-2,20", "--by", "y", "--keys", "1,3,x"}),
          release("count() where x>0", {"--query", json_text("{'query': 'mean(x)', 'bounds': [1, 5], 'by': 'label', 'keys': ['0', '1']}")}),
          train("gradient-descent", fixed_places, {"--steps", "2", "--categories", "y=x,3"}),
          train("gradient-descent", adding, {"--steps", "2", "--public-count", "5", "--drop", "y"}),
          train("accelerated-gradient-descent", fixed_places, {"--steps", "2"}),
          train("mirror-descent", fixed_places, {"--steps", "2", "--radius", "1"}),
          train("dp-sgd", every_adjacency, batches),
          train("dp-sgd", every_adjacency, batches + Words{"--clip-by", "row"}),
          train("dp-sgd", {"add-or-remove-one", "zero-out"}, batches + Words{"--sampling", "allocated"})};
}

class UnitNeighbours : public Neighbours {
 protected:
  static Words mixed_in(Words records, const Words& rows, Random& random) {
    for (const auto& row : rows) records.insert(records.begin() + static_cast<std::ptrdiff_t>(below(random, records.size() + 1)), row);
    return records;
  }
  /// What another unit in the place of x may own.
  static Words other_unit(const std::string& adjacency, Random& random) {
    if (adjacency == "zero-out") return {"x,,,"};
    if (adjacency == "add-or-remove-one" && below(random, 2) == 0) return {};
    const std::size_t kind = below(random, 3);
    Words rows(1 + below(random, 5));
    for (auto& row : rows)
      row = kind == 0 ? random_row_of_nobody(random) : random_row_of(random, kind == 1 ? "x" : "somebody with a long name");
    return rows;
  }
  [[nodiscard]] Outcome run_on(const UnitQuestion& question, const Words& records, const Words& more) const {
    std::string text = "who,x,y,label\n";
    for (const auto& record : records) text += record + "\n";
    write(path("data"), text);
    for (const char* old : {"run.db", "model.json"}) std::filesystem::remove(path(old));
    Words words{question.command, path("data"), "--ledger", path("run.db"), "--replay-seed", "3", "--unit", "who"};
    if (question.command == "train") words = words + Words{"--model", path("model.json")};
    return surety(words + question.words + more);
  }
};

TEST_F(UnitNeighbours, AreToldApartByNothingButNoisyAndLabelledNumbers) {
  Random random{20261123};
  for (std::size_t round = 0; round < rounds(); ++round) {
    for (const auto& question : unit_questions()) {
      const auto& adjacency = one_of(random, question.adjacencies);
      Words words{"--adjacency", adjacency, "--most", one_of(random, {"1", "2", "3"})};
      const bool is_json = below(random, 4) > 0;
      if (is_json) words = words + Words{"--json"};
      Words others;
      for (const auto& unit : {"a", "b", "c", "a", "b"}) others.push_back(random_row_of(random, unit));
      Words its(1 + below(random, 4));
      for (auto& row : its) row = random_row_of(random, "x");
      const auto first = run_on(question, mixed_in(others, its, random), words);
      const auto expected = seen(first);
      EXPECT_EQ(first.code, 0) << joined(question.words + words) << "\n" << first.err;
      EXPECT_NE(first.out.find("who"), std::string::npos) << "the unit is said";
      for (int k = 0; k < 3; ++k) {
        const auto outcome = run_on(question, mixed_in(others, other_unit(adjacency, random), random), words);
        EXPECT_TRUE(seen(outcome) == expected) << joined(question.words + words) << first.out << first.err << outcome.out << outcome.err;
        if (question.command == "release" && is_json && outcome.code == 0 && first.code == 0) {
          expect_within_sensitivity(first.json(), outcome.json(), joined(question.words + words));
        }
      }
    }
  }
}

// The same comparisons see one row too many of a unit, and the number of rows that are kept where it is taken for public.
TEST_F(UnitNeighbours, AreToldApartByOneRowTooManyAndByTheNumberOfRows) {
  const auto questions = unit_questions();
  const auto& sum = questions[1];
  const Words others{"a,1,1,1", "b,2,1,0", "c,3,1,0", "c,2,1,0"};
  const auto with = [&](const Words& rows) { return others + rows; };
  const Words some{"x,20,1,1", "x,20,1,1", "x,20,1,1"};
  const Words zeroed{"x,0,1,1"};
  const auto apart = [&](const std::string& most) {
    const Words words{"--adjacency", "zero-out", "--json", "--most", most};
    return distance(run_on(sum, with(some), words).json(), run_on(sum, with(zeroed), words).json());
  };
  const auto allowed = run_on(sum, with(some), {"--adjacency", "zero-out", "--json", "--most", "2"}).json()["l1_sensitivity"].get<double>();
  EXPECT_LE(apart("2"), allowed * (1 + 1e-9));
  EXPECT_GT(apart("3"), allowed * (1 + 1e-9));
  const auto& training = *std::find_if(questions.begin(), questions.end(), [](const UnitQuestion& one) { return one.command == "train"; });
  const auto relabelled = [&](const Words& rows) {
    auto outcome = run_on(training, with(rows), {"--adjacency", "replace-one", "--json", "--most", "3"});
    for (const std::string label : {"training_records_not_private", "held_out_records_not_private"}) {
      outcome.out.replace(outcome.out.find(label), label.size(), label.substr(0, label.find("_not")));
    }
    return seen(outcome);
  };
  EXPECT_FALSE(relabelled(some) == relabelled(zeroed));
}

}  // namespace
}  // namespace surety_test::neighbour_test
