#include <surety/accounting/logs/run_log.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <utility>

#include <surety/accounting/events/format.h>
#include <surety/accounting/events/json.h>
#include <surety/accounting/events/json_values.h>
#include <surety/accounting/events/words.h>

namespace surety::accounting {
namespace {

constexpr Words<LoggedSampler, 8> samplers{
    "sampler",
    {LoggedSampler::unknown, LoggedSampler::poisson, LoggedSampler::truncated_poisson, LoggedSampler::fixed_size, LoggedSampler::allocated,
     LoggedSampler::shuffled, LoggedSampler::deterministic, LoggedSampler::by_record},
    {"unknown", "poisson", "truncated_poisson", "fixed_size", "allocated", "shuffled", "deterministic", "by_record"}};

constexpr Words<NoiseOver, 2> noise_overs{"noise_over", {NoiseOver::clip, NoiseOver::twice_clip}, {"clip", "twice_clip"}};

constexpr std::array<std::string_view, 18> fields{
    "version",    "noise_multiplier",   "noise_over",    "clip",          "sampler",    "records",
    "batch_size", "accumulation_steps", "largest_batch", "sampling_rate", "epochs",     "steps",
    "drop_last",  "adjacency",          "epsilon",       "delta",         "accountant", "phases"};
/// Fields that a phase may have. A phase in list form has the first three.
constexpr std::array<std::string_view, 7> phase_fields{"noise_multiplier", "sampling_rate",     "steps", "epochs", "batch_size",
                                                       "largest_batch",    "accumulation_steps"};
constexpr std::size_t numbers_of_a_phase = 3;
constexpr std::size_t most_phases = 1000;

constexpr int log_version = 1;
constexpr std::size_t longest_text = 200;
constexpr double close_enough = 1e-6;  // of a rate that somebody rounded

/// A value in a message: what it is, not how long it is.
std::string shown_value(const nlohmann::json& value) {
  return one_line(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), 60);
}

const nlohmann::json* found_in(const nlohmann::json& log, std::string_view field) {
  const auto found = log.find(field);
  return found == log.end() ? nullptr : &*found;
}

template <class Quantity>
std::optional<Quantity> quantity_in(const nlohmann::json& log, std::string_view field) {
  const auto* value = found_in(log, field);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number()) invalid(fmt::format("{} is {}, must be a number", field, shown_value(*value)));
  return Quantity{number_of(*value, field)};
}

std::optional<Count> count_in(const nlohmann::json& log, std::string_view field) {
  const auto* value = found_in(log, field);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number_unsigned() || *value == 0U) {
    invalid(fmt::format("{} is {}, must be a whole number from 1 on, in digits alone", field, shown_value(*value)));
  }
  return Count{whole_number_of(*value, field)};
}

std::optional<std::string> text_in(const nlohmann::json& log, std::string_view field) {
  const auto* value = found_in(log, field);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string() || text_of(*value, field).size() > longest_text) {
    invalid(fmt::format("{} is {}, must be a text of at most {} bytes", field, shown_value(*value), longest_text));
  }
  return text_of(*value, field);
}

std::optional<bool> truth_in(const nlohmann::json& log, std::string_view field) {
  const auto* value = found_in(log, field);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) invalid(fmt::format("{} is {}, must be true or false", field, shown_value(*value)));
  return truth_of(*value, field);
}

std::uint64_t quotient_up(Count a, Count b) { return a.value() / b.value() + (a.value() % b.value() == 0 ? 0 : 1); }

/// \throws Error{invalid_argument} where that many cannot be counted.
Count product(std::uint64_t epochs, std::uint64_t batches) {
  std::uint64_t steps = 0;
  if (__builtin_mul_overflow(epochs, batches, &steps))
    invalid(fmt::format("{} epochs of {} batches are more than can be counted", epochs, batches));
  return Count{steps};
}

/// What the steps of all epochs say of the last batch, and whether it is what the log says.
void settle_epochs(RunLog& log) {
  if (!log.epochs) return;
  if (!log.steps) return;
  const bool is_whole = log.records->value() % log.batch_size->value() == 0;
  const Count with_last = product(log.epochs->value(), quotient_up(*log.records, *log.batch_size));
  const Count without_last = product(log.epochs->value(), log.records->value() / log.batch_size->value());
  const bool may_drop = log.drop_last.value_or(true);
  const bool may_keep = !log.drop_last.value_or(false);
  if ((may_keep && *log.steps == with_last) || (may_drop && *log.steps == without_last)) {
    if (!is_whole) log.drop_last = *log.steps == without_last;
    return;
  }
  invalid(fmt::format("steps is {}, must be {} for {} epoch{} of {} records in batches of {}", log.steps->value(),
                      may_keep && may_drop && !is_whole ? fmt::format("{} or {}", without_last.value(), with_last.value())
                                                        : fmt::format("{}", (may_keep ? with_last : without_last).value()),
                      log.epochs->value(), *log.epochs == Count{1} ? "" : "s", log.records->value(), log.batch_size->value()));
}

/// All that a log lacks, to be named at once.
class Missing {
 public:
  void add(const std::string& what) {
    if (std::find(entries_.begin(), entries_.end(), what) == entries_.end()) entries_.push_back(what);
  }
  [[nodiscard]] bool any() const { return !entries_.empty(); }
  [[noreturn]] void refuse() const {
    constexpr std::size_t most_named = 12;
    const auto named = std::min(entries_.size(), most_named);
    invalid(fmt::format("the log lacks {}{}", fmt::join(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(named), "; "),
                        named == entries_.size() ? "" : fmt::format("; and {} more", entries_.size() - named)));
  }

 private:
  std::vector<std::string> entries_;
};

/// Of one part; `where` begins each entry: "phase 2: ".
void add_missing(const RunLog& log, const std::string& where, Missing& missing) {
  const auto with = [&](const char* what, const char* other) {
    missing.add(fmt::format("{}{}, which must be given with {}", where, what, other));
  };
  if (log.records && !log.batch_size) with("batch_size", "records");
  if (log.batch_size && !log.records) with("records", "batch_size");
  if (!log.records && !log.batch_size) {
    if (log.epochs) with("records and batch_size", "epochs");
    if (log.accumulation_steps) with("records and batch_size", "accumulation_steps");
    if (log.largest_batch) with("records and batch_size", "largest_batch");
    if (!log.sampling_rate && !log.epochs && !log.accumulation_steps && !log.largest_batch) {
      missing.add(where + "records and batch_size, or in their place sampling_rate");
    }
  }
  const bool has_epochs = log.records || !log.sampling_rate;
  if (!log.epochs && !log.steps) missing.add(where + (has_epochs ? "steps, or in its place epochs" : "steps"));
  if (log.sampler == LoggedSampler::truncated_poisson && !log.largest_batch) with("largest_batch", "sampler truncated_poisson");
}

std::string where_of(const RunLog& log, std::size_t phase) { return log.phases.empty() ? "" : fmt::format("phase {}: ", phase + 1); }

/// What a question needs, of all parts.
void add_needed(const RunLog& log, const NeededFields& needed, Missing& missing) {
  const auto parts = log.parts();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (needed.noise_multiplier && !parts[i].noise_multiplier) missing.add(where_of(log, i) + "noise_multiplier");
  }
  const auto add = [&](bool is_needed, bool has, const char* what) {
    if (is_needed && !has) missing.add(fmt::format("{}, in the log or given with it", what));
  };
  add(needed.adjacency, log.adjacency.has_value(), "adjacency");
  add(needed.epsilon, log.epsilon.has_value(), "epsilon");
  add(needed.delta && !log.epsilon, log.delta.has_value(), "delta");
}

/// What one part says of its batches agrees. \pre nothing is missing.
void require_consistent(RunLog& log) {
  if (log.accumulation_steps && log.batch_size) {
    std::uint64_t together = 0;
    const auto micro = *log.batch_size;
    if (__builtin_mul_overflow(micro.value(), log.accumulation_steps->value(), &together) || together > log.records->value()) {
      invalid(fmt::format("batch_size is {}, must be with {} accumulation_steps at most the {} records", micro.value(),
                          log.accumulation_steps->value(), log.records->value()));
    }
    log.batch_size = Count{together};
  }
  if (log.records && *log.batch_size > *log.records) {
    invalid(fmt::format("batch_size is {}, must be at most the {} records", log.batch_size->value(), log.records->value()));
  }
  if (log.records && log.sampling_rate) {
    const double least = 1 / static_cast<double>(quotient_up(*log.records, *log.batch_size));
    const double most = 1 / static_cast<double>(log.records->value() / log.batch_size->value());
    const double rate = log.sampling_rate->value();
    if (!(rate >= least * (1 - close_enough) && rate <= most * (1 + close_enough))) {
      invalid(fmt::format("sampling_rate is {}, must be that of batches of {} of {} records: {}", rate, log.batch_size->value(),
                          log.records->value(), least == most ? fmt::format("{}", least) : fmt::format("from {} to {}", least, most)));
    }
  }
  settle_epochs(log);
}

/// A part's own fields, from an object.
void read_part(const nlohmann::json& said, RunLog& log) {
  log.noise_multiplier = quantity_in<NoiseMultiplier>(said, "noise_multiplier");
  log.batch_size = count_in(said, "batch_size");
  log.accumulation_steps = count_in(said, "accumulation_steps");
  log.largest_batch = count_in(said, "largest_batch");
  log.sampling_rate = quantity_in<SamplingRate>(said, "sampling_rate");
  log.epochs = count_in(said, "epochs");
  log.steps = count_in(said, "steps");
}

void require_known(const nlohmann::json& object, std::span<const std::string_view> known) {
  for (const auto& item : object.items()) {
    if (std::find(known.begin(), known.end(), item.key()) == known.end()) {
      invalid(fmt::format("unknown field '{}'{}", one_line(item.key(), 60), did_you_mean(item.key(), known)));
    }
  }
}

/// `call`, whose refusals name the phase.
template <class Call>
void in_phase(const std::string& where, Call call) {
  try {
    call();
  } catch (const Error& error) {
    throw Error{error.code(), where + error.what()};
  }
}

void require_phase_count(std::size_t count) {
  if (count == 0 || count > most_phases) invalid(fmt::format("phases are {}, must be from 1 to {}", count, most_phases));
}

/// \param log what all phases have in common; `shared` is its object.
std::vector<RunLog> phases_of(const RunLog& log, const nlohmann::json& shared, const nlohmann::json& phases) {
  if (!phases.is_array()) invalid(fmt::format("phases is {}, must be a list", shown_value(phases)));
  require_phase_count(phases.size());
  for (const auto* const of_each : {"steps", "epochs"}) {
    if (shared.contains(of_each)) invalid(fmt::format("{} is given with phases, must be given in each of them", of_each));
  }
  std::vector<RunLog> found;
  for (const auto& phase : phases) {
    in_phase(fmt::format("phase {}: ", found.size() + 1), [&] {
      auto object = phase;
      if (phase.is_array()) {
        if (phase.size() != numbers_of_a_phase) {
          invalid(fmt::format("a list of {} values, must be [noise_multiplier, sampling_rate, steps]", phase.size()));
        }
        object = nlohmann::json::object();
        for (std::size_t i = 0; i < numbers_of_a_phase; ++i) object[std::string{phase_fields[i]}] = phase[i];
      }
      if (!object.is_object()) invalid(fmt::format("it is {}, must be a list or an object", shown_value(object)));
      require_known(object, phase_fields);
      for (const auto& item : shared.items()) {
        if (object.contains(item.key())) invalid(fmt::format("{} is given here and for all phases, must be given once", item.key()));
        if (std::find(phase_fields.begin(), phase_fields.end(), item.key()) != phase_fields.end()) object[item.key()] = item.value();
      }
      RunLog part = log;
      read_part(object, part);
      found.push_back(std::move(part));
    });
  }
  return found;
}

/// The history that an accountant of Python prints: [(noise_multiplier, sampling_rate, steps), ...], with either kind of brackets.
class HistoryReader {
 public:
  explicit HistoryReader(std::string_view text) : text_{text} {}

  RunLog read() {
    RunLog log;
    open('[');
    while (!next_is(']')) {
      if (log.phases.size() == most_phases) require_phase_count(log.phases.size() + 1);
      in_phase(fmt::format("phase {}: ", log.phases.size() + 1), [&] { log.phases.push_back(phase()); });
      if (!next_is(']')) expect(',');
    }
    ++position_;
    skip_space();
    if (position_ != text_.size()) refuse("the end is expected");
    require_phase_count(log.phases.size());
    return log;
  }

 private:
  RunLog phase() {
    const char close = next_is('(') ? ')' : ']';
    open(close == ')' ? '(' : '[');
    RunLog part;
    part.noise_multiplier = NoiseMultiplier{number<double>("a noise multiplier")};
    expect(',');
    part.sampling_rate = SamplingRate{number<double>("a sampling rate")};
    expect(',');
    const auto steps = number<std::uint64_t>("a whole number of steps");
    part.steps = Count{steps};
    if (next_is(',')) ++position_;
    expect(close);
    return part;
  }

  template <class Number>
  Number number(const char* what) {
    skip_space();
    Number value{};
    const auto [end, error] = std::from_chars(text_.data() + position_, text_.data() + text_.size(), value);
    if (error != std::errc{}) refuse(fmt::format("{} is expected", what));
    position_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }
  bool next_is(char wanted) {
    skip_space();
    return position_ < text_.size() && text_[position_] == wanted;
  }
  void open(char wanted) {
    if (!next_is(wanted)) refuse("a history has the form [(noise_multiplier, sampling_rate, steps), ...]");
    ++position_;
  }
  void expect(char wanted) {
    if (!next_is(wanted)) refuse(fmt::format("'{}' is expected", wanted));
    ++position_;
  }
  void skip_space() {
    while (position_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[position_])) != 0) ++position_;
  }
  [[noreturn]] void refuse(const std::string& reason) const {
    invalid(fmt::format("history of a log: {} at position {}", reason, position_ + 1));
  }

  std::string_view text_;
  std::size_t position_ = 0;
};

RunLog log_from_object(std::string_view text, Missing& missing) {
  constexpr int deepest = 3;  // the log, its phases, and one of them
  const auto parsed = parse_strict_json(text, deepest, "log");
  if (!parsed.is_object()) invalid(fmt::format("a log is {}, must be an object", shown_value(parsed)));
  require_known(parsed, fields);
  const auto* version = found_in(parsed, "version");
  if (version == nullptr) {
    missing.add(fmt::format("version, which must be {}", log_version));
  } else if (!version->is_number_unsigned() || *version != log_version) {
    invalid(fmt::format("version is {}, must be {}", shown_value(*version), log_version));
  }
  RunLog log{.clip = quantity_in<Clip>(parsed, "clip"),
             .records = count_in(parsed, "records"),
             .drop_last = truth_in(parsed, "drop_last"),
             .epsilon = quantity_in<Epsilon>(parsed, "epsilon"),
             .delta = quantity_in<Delta>(parsed, "delta"),
             .accountant = text_in(parsed, "accountant").value_or("")};
  if (const auto word = text_in(parsed, "noise_over")) log.noise_over = parse_noise_over(*word);
  if (const auto word = text_in(parsed, "sampler")) log.sampler = parse_logged_sampler(*word);
  if (const auto word = text_in(parsed, "adjacency")) log.adjacency = parse_adjacency(*word);
  if (const auto* const phases = found_in(parsed, "phases")) {
    log.phases = phases_of(log, parsed, *phases);
  } else {
    read_part(parsed, log);
  }
  return log;
}

}  // namespace

std::string_view name(LoggedSampler sampler) { return samplers.name(sampler); }
LoggedSampler parse_logged_sampler(std::string_view text) { return samplers.parse(text); }
std::span<const std::string_view> logged_sampler_names() { return samplers.words; }
std::string_view name(NoiseOver over) { return noise_overs.name(over); }
NoiseOver parse_noise_over(std::string_view text) { return noise_overs.parse(text); }
std::span<const std::string_view> run_log_fields() { return fields; }

std::vector<RunLog> RunLog::parts() const { return phases.empty() ? std::vector{*this} : phases; }

bool RunLog::accumulates() const {
  const auto all = parts();
  return std::any_of(all.begin(), all.end(), [](const RunLog& part) { return part.accumulation_steps.value_or(Count{1}) != Count{1}; });
}

SamplingRate RunLog::rate() const {
  if (sampling_rate) return *sampling_rate;
  if (!records) invalid("batch_size and records are missing");
  return SamplingRate{static_cast<double>(batch_size->value()) / static_cast<double>(records->value())};
}

std::optional<Count> RunLog::batches() const {
  if (!records) return std::nullopt;
  return drop_last.value_or(false) ? Count{records->value() / batch_size->value()} : Count{quotient_up(*records, *batch_size)};
}

Count RunLog::total_steps() const {
  if (!phases.empty()) {
    std::uint64_t sum = 0;
    for (const auto& phase : phases) {
      if (__builtin_add_overflow(sum, phase.total_steps().value(), &sum)) invalid("the steps of all phases are more than can be counted");
    }
    return Count{sum};
  }
  if (steps) return *steps;
  const auto in_an_epoch = batches();
  if (!epochs || !in_an_epoch) invalid("steps is missing, or in its place epochs with records and batch_size");
  return product(epochs->value(), in_an_epoch->value());
}

void require_needed(const RunLog& log, const NeededFields& needed) {
  Missing missing;
  add_needed(log, needed, missing);
  if (missing.any()) missing.refuse();
}

RunLog run_log_from_json(std::string_view text, const NeededFields& needed) {
  if (text.size() > largest_log) invalid(fmt::format("a log has {} bytes, must have at most {}", text.size(), largest_log));
  const auto first = std::find_if(text.begin(), text.end(), [](char c) { return std::isspace(static_cast<unsigned char>(c)) == 0; });
  Missing missing;
  auto log = first != text.end() && *first == '[' ? HistoryReader{text}.read() : log_from_object(text, missing);
  const auto parts = log.parts();
  for (std::size_t i = 0; i < parts.size(); ++i) add_missing(parts[i], where_of(log, i), missing);
  if (log.epsilon && !log.delta) missing.add("delta, which must be given with epsilon");  // also where the question has one
  if (missing.any()) {
    add_needed(log, needed, missing);
    missing.refuse();
  }
  if (log.phases.empty()) {
    require_consistent(log);
  } else {
    for (std::size_t i = 0; i < log.phases.size(); ++i) in_phase(where_of(log, i), [&] { require_consistent(log.phases[i]); });
  }
  return log;
}

}  // namespace surety::accounting
