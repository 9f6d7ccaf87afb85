// What a log's run cost under each of its readings, whether what was claimed of it holds, and the other way: how much noise a target takes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <surety/accounting/answers/best.h>
#include <surety/accounting/answers/risk.h>
#include <surety/accounting/calibration/solve.h>
#include <surety/accounting/logs/readings.h>
#include <surety/base/numbers/enclosure.h>

namespace surety::accounting {

/// What is asked of a log beside what it says itself.
struct LogQuestion {
  std::optional<Adjacency> adjacency = std::nullopt;
  std::optional<Epsilon> epsilon = std::nullopt;  ///< what is claimed; of calibrate_log the target
  std::optional<Delta> delta = std::nullopt;
  /// Of these ways to draw batches alone, beside the one that happened; of all where there are none.
  std::vector<LoggedSampler> only = {};
  Effort effort = {};
};

/// What each answer needs of the log where the question leaves it open.
[[nodiscard]] NeededFields needed_by_audit(const LogQuestion& question);
[[nodiscard]] NeededFields needed_by_calibration(const LogQuestion& question);

/// What is known of a claim: a bound meets it, a bound exceeds it, or the bounds lie on both sides.
enum class ClaimVerdict { holds, too_low, not_proved };
[[nodiscard]] std::string_view name(ClaimVerdict verdict);

struct ReadingCost {
  Reading reading;
  std::optional<Event> event;         ///< nothing where there is none
  std::optional<Enclosure> epsilon;   ///< the cost at the delta; nothing where nobody has a theorem
  std::string accountant = {};        ///< whose upper end it is
  std::string refusal = {};           ///< empty where there is an epsilon
  std::optional<ClaimVerdict> claim;  ///< nothing without a claim or an epsilon
};

struct LogAudit {
  RunLog log;
  Adjacency adjacency;
  Delta delta;
  std::optional<Epsilon> claim;
  std::vector<ReadingCost> readings;

  /// The reading that happened, where its cost is proved; null where the log does not say its sampler, or nobody has a theorem for it.
  [[nodiscard]] const ReadingCost* proved() const;
  /// Without a claim true; else whether it holds for what happened.
  [[nodiscard]] bool kept() const;
};

/// \throws Error{invalid_argument} where adjacency, noise multiplier or delta is said neither by the log nor by the question, or both say it and
///         differently.
[[nodiscard]] LogAudit audit_log(const RunLog& log, const LogQuestion& question);

struct ReadingRisk {
  Reading reading;
  std::optional<Event> event = std::nullopt;
  std::optional<Risk> risk = std::nullopt;  ///< what an attacker gets, as in accounting/answers/risk.h; nothing where there is no bound
  std::string refusal = {};                 ///< empty where there is a risk
};

struct LogRisk {
  RunLog log;
  Adjacency adjacency;
  std::vector<ReadingRisk> readings;
  [[nodiscard]] const ReadingRisk* proved() const;
};

[[nodiscard]] NeededFields needed_by_risk(const LogQuestion& question);
/// What an attacker gets who sees what the run released, under each reading. Epsilon and delta are not used. \throws as audit_log.
[[nodiscard]] LogRisk risk_of_log(const RunLog& log, const LogQuestion& question, const RiskQuestions& questions = {});

struct ReadingNoise {
  Reading reading;
  std::optional<NoiseMultiplier> multiplier = std::nullopt;  ///< the least that is proved to meet the target, in the log's unit
  std::optional<double> failing = std::nullopt;              ///< as in Solution
  bool failing_is_proved = false;
  double gap = 0;                                   ///< as in Solution
  std::optional<Event> event = std::nullopt;        ///< at that multiplier
  std::optional<Enclosure> epsilon = std::nullopt;  ///< its cost
  std::string accountant = {};
  std::string refusal = {};  ///< empty where there is a multiplier

  [[nodiscard]] bool is_tight() const { return gap <= tight_gap; }
};

struct LogCalibration {
  RunLog log;
  Target target;
  std::vector<ReadingNoise> readings;
  [[nodiscard]] const ReadingNoise* proved() const;
};

/// The target is that of the question, and what it leaves open that of the log. \throws as audit_log, of the target; Error{invalid_argument} when
/// its epsilon is 0.
[[nodiscard]] LogCalibration calibrate_log(const RunLog& log, const LogQuestion& question);

}  // namespace surety::accounting
