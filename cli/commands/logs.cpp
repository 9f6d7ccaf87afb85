#include <surety/cli/commands/logs.h>

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include <nlohmann/json.hpp>

#include <surety/accounting/events/format.h>
#include <surety/accounting/logs/log_audit.h>
#include <surety/accounting/logs/log_json.h>
#include <surety/cli/commands/command.h>
#include <surety/cli/files/files.h>
#include <surety/cli/print/output.h>
#include <surety/jobs/plans/small_text.h>

namespace surety::cli {
namespace {

accounting::RunLog read_log(const std::string& file) {
  require_separate({.inputs = {NamedFile{"--log", file}}});
  const auto text = jobs::read_text(file, accounting::largest_log, "a log");
  try {
    return accounting::run_log_from_json(text);
  } catch (const Error& error) {
    throw Error{ErrorCode::bad_data, fmt::format("{}: {}", one_line(file), error.what())};
  }
}

accounting::LogQuestion question_of(const LogOptions& options) {
  accounting::LogQuestion question{.effort = {.width = options.width}};
  if (!options.adjacency.empty()) question.adjacency = parse_adjacency(options.adjacency);
  if (options.epsilon) question.epsilon = Epsilon{*options.epsilon};
  if (options.delta) question.delta = Delta{*options.delta};
  for (const auto& word : options.readings) {
    question.only.push_back(accounting::parse_logged_sampler(word));
    if (question.only.back() == accounting::LoggedSampler::unknown) invalid("--reading is unknown, must be a way to draw batches");
  }
  return question;
}

int print_json(nlohmann::json object, const LogOptions& options, int code) {
  object["log"] = options.file;
  print(object);
  return code;
}

/// One line of a table; the last column may be as long as it likes.
using Row = std::vector<std::string>;

void print_table(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t k = 0; k + 1 < row.size(); ++k) widths[k] = std::max(widths[k], row[k].size());
  }
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t k = 0; k + 1 < row.size(); ++k) line += fmt::format("{:<{}}  ", row[k], widths[k]);
    say("{}{}\n", line, row.back());
  }
}

std::string name_of(const accounting::Reading& reading) {
  const bool has_two = reading.adjacency == Adjacency::replace_one;
  return fmt::format("{} {}{}", reading.happened ? '*' : ' ', accounting::name(reading.sampler),
                     !has_two                                            ? ""
                     : reading.noise_over == accounting::NoiseOver::clip ? ", z over C"
                                                                         : ", z over 2C");
}

void print_log(const LogOptions& options, const accounting::RunLog& log, Adjacency adjacency) {
  say("{:<12} {}\n", "log", shown(options.file));
  say("{:<12} {}\n", "adjacency", name(adjacency));
  const auto steps = log.total_steps();
  say("{:<12} {} step{}{}\n", "run", steps.value(), steps == Count{1} ? "" : "s",
      log.records ? fmt::format(" of batches of {} of {} records", log.batch_size->value(), log.records->value())
                  : fmt::format(" at a sampling rate of {}", log.rate()));
  say("{:<12} {}\n", "sampler", accounting::name(log.sampler));
}

/// "poisson, allocated": of the noise that the log has.
std::string names_where(const accounting::LogAudit& audit, accounting::ClaimVerdict verdict) {
  std::string names;
  for (const auto& cost : audit.readings) {
    if (cost.claim != verdict || cost.reading.noise_over != audit.log.noise_over) continue;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", accounting::name(cost.reading.sampler));
  }
  return names;
}

void print_proved(const accounting::RunLog& log, const accounting::Reading* reading, const std::string& what) {
  if (reading != nullptr) {
    say("{:<12} {} if {}\n", "proved", what, reading->condition);
  } else if (log.sampler == accounting::LoggedSampler::unknown) {
    say("{:<12} nothing: the log does not say how batches were drawn, must have \"sampler\"\n", "proved");
  } else {
    say("{:<12} nothing: nobody has a theorem for {} here\n", "proved", accounting::name(log.sampler));
  }
}

std::string verdict_of(const accounting::LogAudit& audit) {
  using accounting::ClaimVerdict;
  if (audit.kept()) return "the claim is kept";
  const auto* proved = audit.proved();
  std::string verdict = "the claim is not proved";
  if (proved != nullptr) {
    verdict = proved->claim == ClaimVerdict::too_low ? "the claim is BROKEN: some data sets cost more"
                                                     : "the claim is not proved: the bounds lie on both sides of it";
  }
  const auto holds = names_where(audit, ClaimVerdict::holds);
  const auto too_low = names_where(audit, ClaimVerdict::too_low);
  if (!holds.empty()) verdict += "; it would hold for " + holds;
  if (!too_low.empty()) verdict += "; it is too low for " + too_low;
  return verdict;
}

}  // namespace

int audit_log(const LogOptions& options) {
  const auto audit = accounting::audit_log(read_log(options.file), question_of(options));
  const int code = audit.kept() ? exit_code::fine : exit_code::broken;
  if (options.json) return print_json(accounting::to_json(audit), options, code);
  print_log(options, audit.log, audit.adjacency);
  say("{:<12} {}, over {}\n", "noise", *audit.log.noise_multiplier,
      audit.log.noise_over == accounting::NoiseOver::clip ? "the clip" : "twice the clip");
  if (audit.claim) {
    say("{:<12} epsilon = {} at delta = {}{}\n", "claim", *audit.claim, audit.delta,
        audit.log.accountant.empty() ? "" : fmt::format(" by {}", one_line(audit.log.accountant)));
  }
  std::vector<Row> rows{{"  reading", fmt::format("epsilon at delta = {}", audit.delta), "claim", "event"}};
  if (!audit.claim) rows.front().erase(rows.front().begin() + 2);
  for (const auto& cost : audit.readings) {
    if (!cost.epsilon) {
      rows.push_back({name_of(cost.reading), "no theorem: " + cost.refusal});
      continue;
    }
    rows.push_back({name_of(cost.reading), text(*cost.epsilon)});
    if (audit.claim) rows.back().emplace_back(accounting::name(*cost.claim));
    rows.back().push_back(describe(*cost.event));
  }
  say("\n");
  print_table(rows);
  const auto* proved = audit.proved();
  say("\n");
  print_proved(audit.log, proved == nullptr ? nullptr : &proved->reading,
               proved == nullptr ? "" : fmt::format("epsilon <= {}", rounded_up(proved->epsilon->upper)));
  if (audit.claim) say("{:<12} {}\n", "verdict", verdict_of(audit));
  return code;
}

int calibrate_log(const LogOptions& options) {
  const auto found = accounting::calibrate_log(read_log(options.file), question_of(options));
  if (options.json) return print_json(accounting::to_json(found), options, exit_code::fine);
  print_log(options, found.log, found.target.adjacency);
  say("{:<12} epsilon = {} at delta = {}\n", "target", found.target.epsilon, found.target.delta);
  std::vector<Row> rows{{"  reading", "noise multiplier", "epsilon", "event"}};
  for (const auto& noise : found.readings) {
    if (!noise.multiplier) {
      rows.push_back({name_of(noise.reading), "none: " + noise.refusal});
    } else {
      rows.push_back({name_of(noise.reading), fmt::format("{}", *noise.multiplier), text(*noise.epsilon), describe(*noise.event)});
    }
  }
  say("\n");
  print_table(rows);
  const auto* proved = found.proved();
  say("\n");
  print_proved(found.log, proved == nullptr ? nullptr : &proved->reading,
               proved == nullptr ? "" : fmt::format("a noise multiplier of {} is enough", *proved->multiplier));
  return exit_code::fine;
}

}  // namespace surety::cli
