#include <support/train_command.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

namespace surety_test {
namespace {

/// What the command may call missing, and what is said then.
std::map<std::string, std::string> said(std::size_t count) {
  const std::string number = std::to_string(count);
  return {{"--records", number}, {"--steps", number},    {"--public-count", number}, {"--radius", "1"},
          {"--learners", "2"},   {"--step-size", "0.1"}, {"--label-bound", "2"}};
}

}  // namespace

std::vector<std::string> TrainCommand::words(const Question& question, std::size_t count) const {
  std::vector<std::string> words{"train", path("data"), "--json"};
  const auto say = [&](const std::string& option, const std::string& value) { words.insert(words.end(), {option, value}); };
  say("--label", "label>0");
  say("--algorithm", question.algorithm);
  say("--loss", question.loss);
  say("--epsilon", "1");
  say("--delta", "1e-5");
  say("--adjacency", question.adjacency);
  say("--ledger", path("run.db"));
  say("--model", path("model.json"));
  say("--replay-seed", "3");
  if (!question.classes.empty()) say("--classes", question.classes);
  if (question.has_units) words.insert(words.end(), {"--unit", "owner", "--most", std::to_string(question.most)});
  if (question.has_units && question.most == 1) words.insert(words.end(), {"--held-out", "0"});
  for (const auto& option : required_) say(option, said(count).at(option));
  words.insert(words.end(), question.more.begin(), question.more.end());
  return words;
}

void TrainCommand::write(const Question& question, const Records& records) const {
  std::ofstream file{path("data"), std::ios::binary};
  file << (question.has_units ? "owner,x,y,label\n" : "x,y,label\n");
  for (const auto& record : records) file << record << '\n';
}

TrainCommand::Seen TrainCommand::run(const Question& question, const Records& records, std::size_t count) const {
  write(question, records);
  for (const char* old : {"run.db", "model.json"}) std::filesystem::remove(path(old));
  Seen seen{.said = command_in_process(words(question, count), path("")), .report = {}, .model = {}};
  std::ifstream model{path("model.json"), std::ios::binary};
  seen.model = {std::istreambuf_iterator<char>{model}, {}};
  if (seen.said.code == 0) seen.report = without_what_is_not_private(nlohmann::json::parse(seen.said.out));
  return seen;
}

bool TrainCommand::accepts(std::size_t count, std::string& defect, const std::function<Said()>& ask) {
  required_.clear();
  for (;;) {
    const auto answer = ask();
    if (answer.code == 0) return true;
    if (answer.code != 2) {
      defect = fmt::format("exit code {}: {}", answer.code, answer.err);
      return false;
    }
    const auto missing = answer.err.find(" is missing: ");
    if (missing == std::string::npos) return false;
    const auto begin = answer.err.find("--");
    const auto option = answer.err.substr(begin, answer.err.find(' ', begin) - begin);
    if (!said(count).contains(option) || std::find(required_.begin(), required_.end(), option) != required_.end()) {
      defect = fmt::format("{} is required, and no value for it is among those that are said here: {}", option, answer.err);
      return false;
    }
    required_.push_back(option);
  }
}

bool TrainCommand::accepts(const Question& question, const Records& records, std::size_t count, std::string& defect) {
  return accepts(count, defect, [&] { return run(question, records, count).said; });
}

std::optional<std::string> TrainCommand::accepted_plan(const Question& question, const Records& records, std::size_t count,
                                                       std::string& defect) {
  write(question, records);
  std::string plan;
  const bool is_accepted = accepts(count, defect, [&] {
    auto asked = words(question, count);
    std::replace(asked.begin(), asked.end(), std::string{"--json"}, std::string{"--print-plan"});
    auto answer = command_in_process(asked, path(""));
    plan = answer.out;
    return answer;
  });
  return is_accepted ? std::optional{plan} : std::nullopt;
}

TrainCommand::Records ordinary_records(std::size_t count) {
  TrainCommand::Records records;
  for (std::size_t i = 0; i < count; ++i)
    records.push_back(fmt::format("{},{},{}", static_cast<int>(i * 5 % 7) - 3, i * 3 % 5, i * 5 % 7 / 4));
  if (count > 6) {
    records[3] = "1e300,-40,1";
    records[5] = ",x,0";
  }
  return records;
}

TrainCommand::Records rows_of_units(int units) {
  constexpr std::string_view names = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  TrainCommand::Records rows;
  for (int k = 0; k < 2 * units; ++k)
    rows.push_back(fmt::format("{},{},{},{}", names[static_cast<std::size_t>(k * 7 % units)], k % 7 - 3, k % 5, k % 7 / 4));
  rows.push_back("c,1e300,-40,1");
  rows.push_back("j,x,,1");
  return rows;
}

}  // namespace surety_test
