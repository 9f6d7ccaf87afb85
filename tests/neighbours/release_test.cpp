// Tens of thousands of neighbouring pairs of tiny files, and of tables as Arrow streams and in parts, through the code of `surety release` and through C: what is computed before the noise moves by no more than the
// noise is charged for, and nothing else that the command lets be seen moves at all. Released values are held fixed (watched_release.h), so a report that
// differs has looked past the noise. Mistakes that are planted must be found by the same comparison.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include <support/temporary_folder.h>
#include <support/watched_release.h>

namespace surety_test::release_test {
namespace {

using Words = std::vector<std::string>;
using Rows = std::vector<std::string>;
using Random = std::mt19937_64;

Words operator+(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::size_t below(Random& random, std::size_t count) { return static_cast<std::size_t>(random() % count); }
template <class All>
const auto& one_of(Random& random, const All& all) {
  return all[below(random, all.size())];
}

/// What is asked. Columns are who, x, y and t.
struct Question {
  Words words;
  bool is_of_keys = false;  ///< whose noise is on as many numbers as there are keys
  bool has_means = false;   ///< of those keys, which have a sum beside their count
  std::string more = {};    ///< a word of --format
  TableSource source = {};  ///< of which every run has another seed
  bool is_public = false;   ///< no noise is on it, and nothing may move
};

/// \param most rows of a unit; 0: a row. Some questions are refused where their answer is public, or ask for a unit.
std::vector<Question> questions(const std::string& adjacency, std::size_t most) {
  const bool has_private_count = adjacency == "add-or-remove-one" || most > 1;
  std::vector<Question> all;
  const auto ask = [&](const Words& words) { all.push_back({words + Words{"--epsilon", "1", "--noise", "laplace"}}); };
  const auto gaussian = [&](const Words& words) {
    all.push_back({words + Words{"--epsilon", "1", "--delta", "1e-6", "--noise", "gaussian"}});
  };
  if (has_private_count) ask({"--query", "count()"});
  if (has_private_count) ask({"--query", "count()", "--query", "sum(x)", "--bounds", "-2,20"});
  ask({"--query", "sum(x)", "--bounds", "-2,20"});
  ask({"--query", "sum(x)", "--bounds", "5,7"});
  ask({"--query", "sum(x)", "--clip-unit-sum", "0,20"});
  gaussian({"--query", "sum(x)", "--clip-unit-sum", "-9,-3", "--where", "x!=1"});
  gaussian({"--query", "sum(x)", "--clip-unit-sum", "-4,4", "--by", "t", "--keys", "p,q,x"});
  gaussian({"--query", "sum(x)", "--bounds", "-9,-3"});
  ask({"--query", "mean(x)", "--bounds", "1,5"});
  gaussian({"--query", "mean(x)", "--bounds", "10,20", "--query", "variance(x)"});
  ask({"--query", "variance(x)", "--bounds", "-2,4"});
  ask({"--query", "count()", "--where", "x>0"});
  ask({"--query", "count()", "--where", "not (x>2)", "--missing", "x=1"});
  ask({"--query", "count()", "--where", "t==p or not (y!=1)"});
  ask({"--query", "sum(x)", "--bounds", "3,9", "--where", "y!=3"});
  gaussian({"--query", "mean(x)", "--bounds", "3,9", "--where", "t!=q"});
  ask({"--query", "variance(x)", "--bounds", "3,9", "--where", "y>=1"});
  ask({"--query", "sum(x)", "--bounds", "-5,5", "--missing", "x=-5"});
  ask({"--query", "mean(x)", "--bounds", "4,9", "--missing", "x=7"});
  ask({"--query", "sum(x)", "--bounds", "5,8", "--complete", "x"});
  ask({"--query", "mean(x)", "--bounds", "5,9", "--complete", "x"});
  gaussian({"--query", "variance(x)", "--bounds", "-7,-2", "--complete", "x"});
  ask({"--query", "count()", "--where", "present(x) and x<3"});
  ask({"--query", "median(x)", "--bounds", "1,5", "--candidates", "9"});
  gaussian({"--query", "quantile(x, 0.9)", "--bounds", "-3,5", "--candidates", "5", "--where", "y<3"});
  ask({"--query", "quantile(x, 0.25)", "--bounds", "2,5", "--candidates", "4", "--missing", "x=4"});
  ask({"--query", "quantile(x, 0.25, 0.5, 0.75)", "--bounds", "-1,6", "--candidates", "8"});
  ask({"--query", "quantile(x, 0.1, 0.3, 0.9)", "--bounds", "0,5", "--candidates", "3", "--query", "count()", "--where", "y>0"});
  ask({"--query", "median(x)", "--bounds", "1,5", "--candidates", "5", "--by", "t", "--keys", "p,q"});
  ask({"--query", "quantile(x, 0.2, 0.9)", "--bounds", "0,8", "--candidates", "9", "--by", "t", "--keys", "q,p,x"});
  ask({"--query", "histogram(t)", "--categories", "p,q,\"a,b\",x"});
  gaussian({"--query", "histogram(x)", "--bounds", "-1,4", "--bins", "3"});
  ask({"--query", "histogram(x)", "--edges", "-1,0,3,10"});
  ask({"--query", "mode(t)", "--categories", "p,q,\"a,b\",x"});
  gaussian({"--query", "mode(t)", "--categories", "p,q,x", "--top", "2", "--where", "x>0"});
  ask({"--query", "mode(t)", "--categories", "p,q,x,k", "--top", "2", "--by", "y", "--key-edges", "0,2,9", "--missing", "t=q"});
  gaussian({"--query", "sum(x)", "--bounds", "2,6", "--by", "y", "--key-edges", "0,2,9"});
  ask({"--query", "histogram(t)", "--categories", "p,q", "--where", "x>0", "--missing", "t=q"});
  ask({"--query", "count()", "--by", "t", "--keys", "p,q"});
  gaussian({"--query", "sum(x)", "--bounds", "2,6", "--by", "t", "--keys", "p,q,x"});
  ask({"--query", "mean(x)", "--bounds", "2,6", "--by", "y", "--key-bounds", "0,4", "--key-bins", "2"});
  gaussian({"--query", "count()", "--by", "t,y", "--keys", "p,q,k;1,3"});
  if (most > 2) {
    gaussian({"--query", "count()", "--by", "t", "--keys", "p,q,x,k", "--most-per-group", "1"});
    ask({"--query", "sum(x)", "--bounds", "-2,6", "--by", "t", "--keys", "p,q", "--most-per-group", "2"});
    ask({"--query", "median(x)", "--bounds", "1,5", "--candidates", "5", "--by", "t", "--keys", "p,q", "--most-per-group", "1"});
  }
  gaussian({"--query", "count(units)", "--query", "sum(x)", "--clip-unit-sum", "-4,4", "--by", "y,t", "--keys", "1,3;q,p"});
  ask({"--query", R"j({"query": "mean(x)", "bounds": [3, 9], "by": ["t", "y"], "keys": [["p", "q"], {"bounds": [0, 4], "bins": 2}]})j"});
  ask({"--query", "median(x)", "--bounds", "1,5", "--candidates", "5", "--by", "t,y", "--keys", "p,q;1,3"});
  ask({"--query", "count() where x>0", "--query", "sum(x)", "--query", "median(x)", "--bounds", "0,5", "--candidates", "6"});
  ask({"--query", "count(units)"});
  all.back().is_public = adjacency != "add-or-remove-one";
  ask({"--query", "count(units)", "--where", "x>0 or t==k"});
  gaussian({"--query", "count(units)", "--by", "t", "--keys", "p,q,x"});
  ask({"--query", "count(distinct t)", "--query", "count(units)"});
  if (most > 1) gaussian({"--query", "count(distinct t)", "--where", "x>0", "--most-keys", "2"});
  all.push_back({{"--query", "keys(t)", "--epsilon", "1", "--delta", "1e-6", "--noise", "laplace"}, true});
  all.push_back(
      {{"--query", "keys(t)", "--epsilon", "1", "--delta", "1e-6", "--noise", "gaussian", "--where", "x>0", "--most-keys", "2"}, true});
  if (most < 2) all.pop_back();
  if (most == 3) {
    all.push_back({{"--query", "count(units)", "--by", "t,y", "--keys", "discovered", "--most-keys", "2", "--epsilon", "1", "--delta",
                    "1e-6", "--noise", "gaussian"},
                   true});
  }
  // Whose threshold takes a tenth of a second each time.
  if ((adjacency == "replace-one" && most == 2) || (adjacency == "add-or-remove-one" && most == 3)) {
    all.push_back({.words = {"--query", "mean(x)", "--bounds", "-3,5", "--by", most == 2 ? "t" : "t,y", "--keys", "discovered", "--epsilon",
                             "1", "--delta", "1e-6", "--noise", "laplace"},
                   .is_of_keys = true,
                   .has_means = true});
  }
  return all;
}

/// Of expressions, some of which have no number in a row whose cells have one.
std::vector<Question> questions_of_expressions() {
  std::vector<Question> all;
  const auto ask = [&](const Words& words) { all.push_back({words + Words{"--epsilon", "1", "--noise", "laplace"}}); };
  const auto gaussian = [&](const Words& words) {
    all.push_back({words + Words{"--epsilon", "1", "--delta", "1e-6", "--noise", "gaussian"}});
  };
  ask({"--query", "sum(x * y)", "--bounds", "-2,20"});
  ask({"--query", "mean(x / (y - 2))", "--bounds", "-1,4"});
  gaussian({"--query", "mean(log(x) + y)", "--bounds", "1,5", "--where", "t!=q"});
  gaussian({"--query", "variance(sqrt(x))", "--bounds", "-7,-2"});
  ask({"--query", "mean(x - y)", "--bounds", "5,9", "--complete", "x,y"});
  ask({"--query", "mean(x / y)", "--bounds", "4,9", "--missing", "x=7"});
  ask({"--query", "sum(min(x, 3) / y)", "--bounds", "x=-9,2", "--bounds", "y=1,2", "--by", "t", "--keys", "p,q"});
  ask({"--query", "median(exp(min(x, 9)))", "--bounds", "1,5", "--candidates", "9", "--missing", "x=1"});
  ask({"--query", "quantile(-x * abs(y), 0.25)", "--bounds", "-1,6", "--candidates", "8"});
  ask({"--query", "histogram(x * x)", "--edges", "0,1,9,100"});
  gaussian({"--query", "sum(x * y)", "--clip-unit-sum", "-4,4", "--by", "t", "--keys", "p,q,x"});
  return all;
}

const Words numbers{"1",    "2",     "3", "20",  "-9",    "0",       "4.5",      "",       " ",    "nan",      "inf",
                    "-inf", "1e400", "x", " 2 ", "\"5\"", "\"a,b\"", "\"x\ny\"", "5e-324", "0x10", "\xff\xfe", "\"\"\"\""};
const Words texts{"p", "q", "p", "q", "", " p", "x", "\"a,b\"", "\"p\"", "\xff", "\"li\nne\"", "nan"};

/// A row of `owner` that nothing stops from being one.
std::string row_of(Random& random, const std::string& owner) {
  return owner + "," + one_of(random, numbers) + "," + one_of(random, Words{"1", "3", "0", "", "nan", "2"}) + "," + one_of(random, texts);
}

const Words unclosed{"\"b,1,2,p", "b,1,2,\"p"};

/// A row of nobody: damaged, or without a name.
std::string row_of_nobody(Random& random) {
  static const Words rows{"",   ",",      "a,1",           "a,1,2,p,1",      "\"a,1,2,p\"",  "a,1\"2,3,p",
                          "\r", ",3,1,p", "\"\",20,nan,q", unclosed.front(), unclosed.back()};
  return one_of(random, rows);
}

struct Setting {
  std::string adjacency;
  std::size_t most = 0;  ///< K rows of a unit; 0: a row
  bool empty_is_each = false;
  bool lines_are_records = false;  ///< --quoted-lines 0: a quote that nobody closes takes in no other record
  bool is_combined = false;        ///< a unit is a combination of who and day
};

/// A row of who, x, y and t as one of who, x, y, t and day: other owners are other combinations, some of which read alike where their texts are joined.
std::string with_day(const std::string& row) {
  static const std::map<std::string, std::pair<std::string, std::string>> combinations{
      {"a", {"u", "12"}}, {"b", {"\"u,1\"", "2"}}, {" a", {"u1", "2"}}, {"u", {"u", "1"}}, {"", {"u", ""}}};
  const auto comma = row.find(',');
  if (comma == std::string::npos || row.starts_with('"')) return row;
  const auto found = combinations.find(row.substr(0, comma));
  const auto& [who, day] = found == combinations.end() ? std::pair{row.substr(0, comma), std::string{"2024-01-01"}} : found->second;
  return who + row.substr(comma) + "," + day;
}

/// A file, and its neighbours.
struct Pairs {
  Rows base;
  std::vector<Rows> neighbours;
};

Pairs pairs_of_rows(const Setting& setting, std::size_t neighbours, Random& random) {
  const auto fresh = [&] { return below(random, 4) == 0 ? row_of_nobody(random) : row_of(random, one_of(random, Words{"a", "b"})); };
  Pairs pairs;
  for (std::size_t n = 1 + below(random, 4); n > 0; --n) pairs.base.push_back(fresh());
  for (std::size_t k = 0; k < neighbours; ++k) {
    auto rows = pairs.base;
    const bool comes = setting.adjacency == "add-or-remove-one" && below(random, 2) == 0;
    const auto at = rows.begin() + static_cast<std::ptrdiff_t>(below(random, rows.size() + (comes ? 1 : 0)));
    if (comes) {
      rows.insert(at, fresh());
    } else if (setting.adjacency == "add-or-remove-one") {
      rows.erase(at);
    } else {
      *at = setting.adjacency == "zero-out" ? "" : fresh();
    }
    pairs.neighbours.push_back(std::move(rows));
  }
  return pairs;
}

Rows mixed(Rows rows, const Rows& more, Random& random) {
  for (const auto& row : more) rows.insert(rows.begin() + static_cast<std::ptrdiff_t>(below(random, rows.size() + 1)), row);
  return rows;
}

/// One unit, u, has other rows, or another takes its place, or it goes. All others keep theirs, wherever they stand.
Pairs pairs_of_units(const Setting& setting, std::size_t neighbours, Random& random) {
  Rows others;
  const Words owners{"a", "b", " a", "a name of more than fifteen bytes"};
  for (std::size_t n = below(random, 4); n > 0; --n) {
    const auto& owner = one_of(random, owners);
    for (std::size_t k = 1 + below(random, 3); k > 0; --k) others.push_back(row_of(random, owner));
  }
  const bool has_nobody = below(random, 3) == 0;
  if (has_nobody) others.push_back(row_of_nobody(random));
  const auto rows_of = [&](const std::string& owner) {
    Rows rows(1 + below(random, 4));
    for (auto& row : rows) row = row_of(random, owner);
    if (below(random, 3) == 0) rows.resize(4, rows.front());
    return rows;
  };
  // Nobody's rows are one unit, where there are no others of them, or each is one.
  const auto nobody = [&] {
    Rows rows(setting.empty_is_each ? 1 : 1 + below(random, 3));
    for (auto& row : rows) row = row_of_nobody(random);
    return rows;
  };
  Pairs pairs{.base = mixed(others, rows_of("u"), random), .neighbours = {}};
  for (std::size_t k = 0; k < neighbours; ++k) {
    Rows instead;
    const std::size_t kind = below(random, 4);
    if (setting.adjacency == "zero-out") {
      instead = {"u,,,"};
    } else if (setting.adjacency == "add-or-remove-one") {
      // It goes.
    } else if (kind == 0 && (setting.empty_is_each || !has_nobody)) {
      instead = nobody();
    } else {
      instead = rows_of(kind == 1 ? "another unit whose name is long" : "u");
    }
    pairs.neighbours.push_back(mixed(others, instead, random));
  }
  return pairs;
}

/// The bounds of the first --bounds, or any.
std::pair<double, double> bounds_of(const Question& question) {
  const auto found = std::find(question.words.begin(), question.words.end(), "--bounds");
  if (found == question.words.end()) return {0, 1};
  const auto text = (found + 1)->substr((found + 1)->find('=') + 1);
  return {std::stod(text), std::stod(text.substr(text.find(',') + 1))};
}

/// What moves a statistic farthest: a unit's rows without its name, all alike or of several keys, beyond the bounds, between them, that meet each
/// condition or none.
std::vector<Rows> extremes(const Question& question, std::size_t most) {
  const auto [lower, upper] = bounds_of(question);
  const std::size_t rows = std::max<std::size_t>(most, 1);
  std::vector<Rows> all;
  for (const auto& cells :
       {std::string{"1e9,1,p"}, std::string{"-1e9,1,p"}, std::string{",,q"}, std::string{"1e9,1,q"}, std::string{"1e9,3,p"},
        std::string{"-1e9,3,q"}, std::string{"1e9,,q"}, fmt::format("{},1,p", (lower + upper) / 2),
        // As a variance has it: where one that becomes another is farthest from the bound (docs/proofs/statistics.md).
        fmt::format("{},1,p", (lower + upper) / 2 - (upper - lower) / 10),
        fmt::format("{},1,p", (lower + upper) / 2 + (upper - lower) / 10)}) {
    all.emplace_back(rows, cells);
  }
  if (most > 0) all.emplace_back(most + 4, "1e9,1,p");  // of which `most` are used
  if (most > 1) {
    all.push_back({"1e9,1,p"});
    all.push_back({"-1e9,1,p"});
    // In two groups, at one bound.
    for (const char* const number : {"1e9", "-1e9"}) {
      all.emplace_back();
      for (std::size_t k = 0; k < rows; ++k) all.back().push_back(fmt::format("{},1,{}", number, k % 2 == 0 ? "p" : "q"));
    }
    for (const Words& keys : {Words{"p", "q", "x", "\"a,b\""}, Words{"k", "l", "m", "n"}}) {
      all.emplace_back();
      for (std::size_t k = 0; k < rows; ++k) all.back().push_back("1e9,1," + keys[k]);
    }
  }
  return all;
}

/// One row, or the rows of one unit, are those of each extreme instead of nothing, of zeros, or of one of them.
Pairs pairs_of_extremes(const Setting& setting, const Question& question, std::size_t visit, Random& random) {
  const auto all = extremes(question, setting.most);
  const auto owned = [&](Rows rows) {
    for (auto& row : rows) row = "u," + row;
    return rows;
  };
  Rows others;
  if (visit % 3 == 2) {
    for (std::size_t n = below(random, 3); n > 0; --n) others.push_back(row_of(random, one_of(random, Words{"a", "b"})));
  } else {
    // Far to one side, as a rank has it.
    for (const char* const owner : {"a,", "b,", "c,"}) {
      others.insert(others.end(), std::max<std::size_t>(setting.most, 1), owner + (visit % 3 == 0 ? all[1] : all[0]).front());
    }
  }
  Rows instead;
  if (setting.adjacency == "zero-out") {
    instead = {setting.most == 0 ? "" : "u,,,"};
  } else if (setting.adjacency == "replace-one") {
    instead = owned(all[visit % 2 == 0 ? visit / 2 % all.size() : all.size() - 1 - visit / 2 % all.size()]);
  }
  Pairs pairs{.base = mixed(others, instead, random), .neighbours = {}};
  for (const auto& rows : all) pairs.neighbours.push_back(mixed(others, owned(rows), random));
  return pairs;
}

/// What is found between two runs that should not be there; empty where nothing is. `reached` takes the largest move over what is charged.
class Comparison {
 public:
  ReleaseRun run(const Question& question, const Setting& setting, const Rows& rows, const ReleaseRun* recorded, Mistake mistake) {
    std::string text = setting.is_combined ? "who,x,y,t,day\n" : "who,x,y,t\n";
    for (const auto& row : rows) text += (setting.is_combined ? with_day(row) : row) + "\n";
    std::ofstream{path_, std::ios::binary | std::ios::trunc} << text;
    Words words{path_,
                "--ledger",
                ledger_,
                "--replay-seed",
                "1",
                "--adjacency",
                setting.adjacency,
                "--quoted-lines",
                setting.lines_are_records ? "0" : "1"};
    if (setting.most > 0) words = words + Words{"--unit", setting.is_combined ? "who,day" : "who", "--most", std::to_string(setting.most)};
    if (setting.empty_is_each) words = words + Words{"--empty-unit", "each"};
    words = words + question.words + Words{"--format", question.is_of_keys ? "json" : question.more};
    return run_release(words, recorded == nullptr || question.is_of_keys ? nullptr : &recorded->released, mistake,
                       {question.source.form, question.source.has_types, ++runs_});
  }

  std::string difference(const Question& question, const ReleaseRun& a, const ReleaseRun& b, double& reached) {
    if (a.code != b.code) return fmt::format("exit codes {} and {}", a.code, b.code);
    constexpr int defect = 70;
    if (a.code == defect) return "a defect: " + a.err;
    if (a.code != 0) return a.err == b.err ? "" : "messages differ";
    if (a.err != b.err) return "standard error differs";
    if (question.has_means) return difference_of_means(a, b, reached);
    if (question.is_of_keys) return difference_of_keys(a, b, reached);
    if (a.releases.size() != b.releases.size()) return "another number of releases";
    double moved = 0;
    for (std::size_t k = 0; k < a.releases.size(); ++k) {
      const auto found = move(a.releases[k], b.releases[k]);
      if (!found) return fmt::format("release {} is another: {} and {}", k, a.releases[k].charged, b.releases[k].charged);
      // The choices of a level move by no more together.
      moved = a.releases[k].shares_charge ? moved + *found : *found;
      reached = std::max(reached, moved);
      if (moved > 1 + 1e-9) return fmt::format("release {}, {}, moves by {} times what is charged", k, a.releases[k].charged, moved);
    }
    return a.out == b.out ? "" : fmt::format("reports differ:\n{}\n{}", a.out, b.out);
  }

 private:
  /// Of keys all are shown with their exact counts: those on both sides move as charged, and one that is on one side alone is held by one unit.
  static std::string difference_of_keys(const ReleaseRun& a, const ReleaseRun& b, double& reached) {
    if (a.releases.size() != 1 || b.releases.size() != 1) return "another number of releases";
    const auto& [charged, content, sensitivity, norm, shares] = a.releases.front();
    if (charged != b.releases.front().charged || sensitivity != b.releases.front().sensitivity) return "what is charged differs";
    auto first = nlohmann::json::parse(a.out);
    auto second = nlohmann::json::parse(b.out);
    const auto counts = [](nlohmann::json& report) {
      std::map<std::string, double> found;
      // Of one column they are cells, of several groups.
      const bool has_groups = report.contains("groups");
      for (const auto& cell : report[has_groups ? "groups" : "cells"]) {
        const auto name = has_groups ? cell["group"].dump() + cell["columns"].dump() + cell.value("group_bytes", "")
                                     : cell["cell"].dump() + cell.value("cell_bytes", "");
        found[name] = cell["value"].get<double>() - reveal;
      }
      report.erase(has_groups ? "groups" : "cells");
      return found;
    };
    const auto of_first = counts(first);
    const auto of_second = counts(second);
    if (first != second) return fmt::format("reports differ:\n{}\n{}", first.dump(), second.dump());
    std::set<std::string> keys;
    for (const auto& [key, count] : of_first) keys.insert(key);
    for (const auto& [key, count] : of_second) keys.insert(key);
    double moved = 0;
    std::size_t of_first_alone = 0;
    std::size_t of_second_alone = 0;
    for (const auto& key : keys) {
      const auto in_first = of_first.find(key);
      const auto in_second = of_second.find(key);
      if (in_first == of_first.end() || in_second == of_second.end()) {
        const double count = in_first == of_first.end() ? in_second->second : in_first->second;
        if (count != 1) return fmt::format("a key that one file alone has is held by {} units", count);
        ++(in_first == of_first.end() ? of_second_alone : of_first_alone);
      }
      const double apart =
          std::abs((in_first == of_first.end() ? 0 : in_first->second) - (in_second == of_second.end() ? 0 : in_second->second));
      moved += norm == Release::Norm::l2 ? apart * apart : apart;
    }
    const double found = (norm == Release::Norm::l2 ? std::sqrt(moved) : moved) / sensitivity;
    reached = std::max(reached, found);
    if (found > 1 + 1e-9) return fmt::format("keys move by {} times what is charged", found);
    return "";
  }

  /// Of groups that nobody listed all are shown: sums and counts on both sides move as charged, and a group on one side alone has the count of one unit.
  static std::string difference_of_means(const ReleaseRun& a, const ReleaseRun& b, double& reached) {
    if (a.releases.size() != 1 || b.releases.size() != 1) return "another number of releases";
    const auto& left = a.releases.front();
    const auto& right = b.releases.front();
    if (left.charged != right.charged || left.sensitivity != right.sensitivity) return "what is charged differs";
    auto first = nlohmann::json::parse(a.out);
    auto second = nlohmann::json::parse(b.out);
    std::map<std::string, std::array<std::optional<std::pair<double, double>>, 2>> groups;
    double least = HUGE_VAL;
    const auto take = [&](const Release& release, nlohmann::json& report, std::size_t side) {
      const auto shown = report["groups"];
      report.erase("groups");
      if (2 * shown.size() != release.content.size()) return false;
      for (std::size_t k = 0; k < shown.size(); ++k) {
        const double count = release.content[2 * k + 1];
        groups[shown[k]["group"].dump() + shown[k].value("columns", nlohmann::json{}).dump() + shown[k].value("group_bytes", "")].at(
            side) = {release.content[2 * k], count};
        least = std::min(least, count);
      }
      return true;
    };
    if (!take(left, first, 0) || !take(right, second, 1)) return "a group is not shown";
    if (first != second) return fmt::format("reports differ:\n{}\n{}", first.dump(), second.dump());
    double moved = 0;
    for (const auto& [name, sides] : groups) {
      const auto& [one, other] = sides;
      if ((!one && other->second != least) || (!other && one->second != least))
        return "a group that one file alone has is of several units";
      const auto [sum, count] = one.value_or(std::pair{0.0, 0.0});
      const auto [other_sum, other_count] = other.value_or(std::pair{0.0, 0.0});
      const auto add = [&](double apart) { moved += left.norm == Release::Norm::l2 ? apart * apart : std::abs(apart); };
      add(sum - other_sum);
      add(count - other_count);
    }
    const double found = (left.norm == Release::Norm::l2 ? std::sqrt(moved) : moved) / left.sensitivity;
    reached = std::max(reached, found);
    if (found > 1 + 1e-9) return fmt::format("groups move by {} times what is charged", found);
    return "";
  }

  /// In memory, where there is such a place: a file is written for each run.
  bool is_in_memory_ = std::filesystem::is_directory("/dev/shm") && setenv("TMPDIR", "/dev/shm", 1) == 0;
  TemporaryFolder folder_;
  std::string path_ = (folder_ / "data.csv").string();
  std::string ledger_ = (folder_ / "run.db").string();
  std::uint64_t runs_ = 0;
};

const std::vector<Setting>& settings() {
  static const auto all = [] {
    std::vector<Setting> made;
    for (const std::string adjacency : {"replace-one", "zero-out", "add-or-remove-one"}) {
      made.push_back({.adjacency = adjacency});
      for (std::size_t most = 1; most <= 4; ++most) made.push_back({.adjacency = adjacency, .most = most, .empty_is_each = most % 2 == 0});
    }
    return made;
  }();
  return all;
}

/// Makes each row the text of one record: without line ends in quotes, or with every quote closed.
void make_records(Pairs& pairs, const Setting& setting) {
  const auto make = [&](Rows& rows) {
    for (auto& row : rows) {
      if (setting.lines_are_records) {
        std::replace(row.begin(), row.end(), '\n', '.');
      } else if (row == unclosed.front() || row == unclosed.back()) {
        row = "a,1";
      }
    }
  };
  make(pairs.base);
  for (auto& rows : pairs.neighbours) make(rows);
}

struct Kind {
  Setting setting;
  Question question;
  std::string text;
  std::size_t visits = 0;
  double reached = 0;  ///< the largest move over what is charged
};

enum class Asked { columns, expressions };

std::vector<Kind> every_kind(Asked asked) {
  std::vector<Kind> kinds;
  for (const auto& setting : settings()) {
    for (const auto& question : asked == Asked::expressions ? questions_of_expressions() : questions(setting.adjacency, setting.most)) {
      kinds.push_back({setting, question, fmt::format("{} {} {}", fmt::join(question.words, " "), setting.adjacency, setting.most)});
    }
  }
  return kinds;
}

const std::vector<TableForm> forms{TableForm::csv, TableForm::csv,   TableForm::csv,   TableForm::csv, TableForm::csv,
                                   TableForm::csv, TableForm::arrow, TableForm::parts, TableForm::c,   TableForm::parts_of_c};

struct Found {
  std::size_t pairs = 0;
  std::size_t differences = 0;
  std::string first;  ///< of them
  std::vector<Kind> kinds;
};

/// Until so many pairs, or until a mistake is found.
Found compare_pairs(std::size_t pairs, std::uint64_t seed, Mistake mistake, std::optional<TableForm> form = std::nullopt,
                    Asked asked = Asked::columns) {
  constexpr std::size_t neighbours = 10;
  Random random{seed};
  Comparison comparison;
  Found found;
  found.kinds = every_kind(asked);
  // All kinds are asked of extremes first; where a mistake is looked for, half of them.
  for (std::size_t k = 0; mistake != Mistake::none && k < found.kinds.size(); ++k) found.kinds[k].visits = k % 2;
  while (found.pairs < pairs) {
    std::shuffle(found.kinds.begin(), found.kinds.end(), random);
    for (auto& kind : found.kinds) {
      if (found.pairs >= pairs) break;
      auto setting = kind.setting;
      setting.lines_are_records = below(random, 3) == 0;
      setting.is_combined = setting.most > 0 && below(random, 3) == 0;
      auto question = kind.question;
      question.more = one_of(random, Words{"json", "json", "csv", "table"});
      // Two of five tables come from another program, whole or in parts, half of them through C. Mistakes are planted in what reads files.
      if (mistake == Mistake::none) question.source = {.form = one_of(random, forms), .has_types = below(random, 2) == 0};
      if (form) question.source.form = *form;
      const std::size_t visit = kind.visits++;
      auto made = visit % 2 == 0      ? pairs_of_extremes(setting, question, visit / 2, random)
                  : setting.most == 0 ? pairs_of_rows(setting, neighbours, random)
                                      : pairs_of_units(setting, neighbours, random);
      make_records(made, setting);
      const auto base = comparison.run(question, setting, made.base, nullptr, mistake);
      for (const auto& rows : made.neighbours) {
        const auto other = comparison.run(question, setting, rows, &base, mistake);
        ++found.pairs;
        // Nothing is refused here: what is charged for it is known, and every file has a header.
        const auto what = mistake == Mistake::none && base.code != 0 ? fmt::format("exit code {}", base.code)
                                                                     : comparison.difference(question, base, other, kind.reached);
        if (what.empty()) continue;
        if (found.differences++ == 0) {
          found.first = fmt::format("{}\n{}{} as form {}\nbase\n  {}\nneighbour\n  {}\n{}{}", what, kind.text,
                                    setting.is_combined ? " of combinations" : "", static_cast<int>(question.source.form),
                                    fmt::join(made.base, "\n  "), fmt::join(rows, "\n  "), base.err, other.err);
        }
        if (mistake != Mistake::none) return found;
      }
    }
  }
  return found;
}

/// What 20 seconds of a processor suffice for, unless SURETY_NEIGHBOURING_PAIRS says more.
std::size_t asked_pairs() {
  const char* const asked = std::getenv("SURETY_NEIGHBOURING_PAIRS");
  return asked != nullptr ? std::stoul(asked) : 26'000;
}

void expect_no_difference(const Found& found, std::size_t pairs) {
  EXPECT_EQ(found.differences, 0U) << found.first;
  EXPECT_GE(found.pairs, pairs);
  // What is charged is moved: a factor of two would be seen in every kind of question.
  std::size_t reached = 0;
  for (const auto& kind : found.kinds) {
    reached += kind.reached >= 0.99 || kind.question.is_public ? 1 : 0;
    // A zeroed cell that is promised to be there is one at the nearer bound, and a statistic that is charged for more than that is not wrong.
    const bool has_zeroed_cell = kind.setting.adjacency == "zero-out" &&
                                 (kind.text.find("--complete") != std::string::npos || kind.text.find("--missing") != std::string::npos);
    EXPECT_GT(kind.reached, kind.question.is_public ? -1 : has_zeroed_cell ? 0.37 : 0.51) << kind.text;
    if (kind.reached < 0.99 && std::getenv("SURETY_SHOW_REACHED") != nullptr) fmt::print("{:.3f} {}\n", kind.reached, kind.text);
  }
  EXPECT_GE(static_cast<double>(reached), 0.9 * static_cast<double>(found.kinds.size())) << reached << " of " << found.kinds.size();
  fmt::print("{} pairs, {} kinds of question, {} of which moved .99 of what they are charged\n", found.pairs, found.kinds.size(), reached);
}

TEST(ReleaseNeighbours, DifferInWhatIsChargedAlone) {
  expect_no_difference(compare_pairs(asked_pairs(), 20261202, Mistake::none), asked_pairs());
}

TEST(ReleaseNeighbours, DifferWhereAMistakeIsPlanted) {
  for (const auto mistake : every_mistake) {
    const auto found = compare_pairs(3'000, 1, mistake);
    EXPECT_GT(found.differences, 0U) << static_cast<int>(mistake);
    fmt::print("mistake {}: after {} pairs, {}\n", static_cast<int>(mistake), found.pairs,
               found.first.substr(0, std::getenv("SURETY_SHOW_REACHED") != nullptr ? std::string::npos : found.first.find('\n')));
  }
}

// Whoever reads the table, what is wrong with its noise and with its charge is seen.
TEST(ReleaseNeighbours, DifferWhereAMistakeIsPlantedInTheirNoise) {
  for (const auto form : {TableForm::arrow, TableForm::parts, TableForm::c, TableForm::parts_of_c}) {
    for (const auto mistake : {Mistake::half_the_noise, Mistake::charge_forgotten}) {
      EXPECT_GT(compare_pairs(1'000, 1, mistake, form).differences, 0U) << static_cast<int>(form) << " " << static_cast<int>(mistake);
    }
  }
}

// The value of an expression comes of one row alone, and a row that has none is a missing cell.
TEST(ReleaseNeighbours, OfExpressionsDifferInWhatIsChargedAlone) {
  const std::size_t pairs = std::max<std::size_t>(4'000, asked_pairs() / 8);
  expect_no_difference(compare_pairs(pairs, 20261201, Mistake::none, std::nullopt, Asked::expressions), pairs);
}

}  // namespace
}  // namespace surety_test::release_test
