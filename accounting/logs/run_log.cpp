#include <surety/accounting/logs/run_log.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

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

constexpr std::array<std::string_view, 16> fields{"version",    "noise_multiplier", "noise_over",    "clip",      "sampler", "records",
                                                  "batch_size", "largest_batch",    "sampling_rate", "epochs",    "steps",   "drop_last",
                                                  "adjacency",  "epsilon",          "delta",         "accountant"};

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
  if (!log.batch_size) invalid("epochs are given without records and batch_size, must be given with them, or as steps");
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

void require_consistent(RunLog& log) {
  if (log.records.has_value() != log.batch_size.has_value()) {
    invalid(log.records ? "records is given without batch_size, must be given with it"
                        : "batch_size is given without records, must be given with it");
  }
  if (!log.records && !log.sampling_rate) invalid("records and batch_size are missing, or in their place sampling_rate");
  if (!log.epochs && !log.steps) invalid("steps is missing, or in its place epochs");
  if (log.records && *log.batch_size > *log.records) {
    invalid(fmt::format("batch_size is {}, must be at most the {} records", log.batch_size->value(), log.records->value()));
  }
  if (log.largest_batch && !log.records) invalid("largest_batch is given without records, must be given with it");
  if (log.records && log.sampling_rate) {
    const double least = 1 / static_cast<double>(quotient_up(*log.records, *log.batch_size));
    const double most = 1 / static_cast<double>(log.records->value() / log.batch_size->value());
    const double rate = log.sampling_rate->value();
    if (!(rate >= least * (1 - close_enough) && rate <= most * (1 + close_enough))) {
      invalid(fmt::format("sampling_rate is {}, must be that of batches of {} of {} records: {}", rate, log.batch_size->value(),
                          log.records->value(), least == most ? fmt::format("{}", least) : fmt::format("from {} to {}", least, most)));
    }
  }
  if (log.sampler == LoggedSampler::truncated_poisson && !log.largest_batch)
    invalid("sampler is truncated_poisson, must come with largest_batch");
  if (log.epsilon && !log.delta) invalid("epsilon is given without delta, must be given with it");
  settle_epochs(log);
}

}  // namespace

std::string_view name(LoggedSampler sampler) { return samplers.name(sampler); }
LoggedSampler parse_logged_sampler(std::string_view text) { return samplers.parse(text); }
std::span<const std::string_view> logged_sampler_names() { return samplers.words; }
std::string_view name(NoiseOver over) { return noise_overs.name(over); }
NoiseOver parse_noise_over(std::string_view text) { return noise_overs.parse(text); }
std::span<const std::string_view> run_log_fields() { return fields; }

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
  if (steps) return *steps;
  const auto in_an_epoch = batches();
  if (!epochs || !in_an_epoch) invalid("steps is missing, or in its place epochs with records and batch_size");
  return product(epochs->value(), in_an_epoch->value());
}

RunLog run_log_from_json(std::string_view text) {
  if (text.size() > largest_log) invalid(fmt::format("a log has {} bytes, must have at most {}", text.size(), largest_log));
  constexpr int deepest = 2;  // an object, and something inside to be refused by its name
  const auto parsed = parse_strict_json(text, deepest, "log");
  if (!parsed.is_object()) invalid(fmt::format("a log is {}, must be an object", shown_value(parsed)));
  for (const auto& item : parsed.items()) {
    if (std::find(fields.begin(), fields.end(), item.key()) == fields.end()) {
      invalid(fmt::format("unknown field '{}'{}", one_line(item.key(), 60), did_you_mean(item.key(), fields)));
    }
  }
  const auto* version = found_in(parsed, "version");
  if (version == nullptr) invalid("field 'version' is missing");
  if (!version->is_number_unsigned() || *version != log_version) {
    invalid(fmt::format("version is {}, must be {}", shown_value(*version), log_version));
  }
  RunLog log{.noise_multiplier = quantity_in<NoiseMultiplier>(parsed, "noise_multiplier"),
             .clip = quantity_in<Clip>(parsed, "clip"),
             .records = count_in(parsed, "records"),
             .batch_size = count_in(parsed, "batch_size"),
             .largest_batch = count_in(parsed, "largest_batch"),
             .sampling_rate = quantity_in<SamplingRate>(parsed, "sampling_rate"),
             .epochs = count_in(parsed, "epochs"),
             .steps = count_in(parsed, "steps"),
             .drop_last = truth_in(parsed, "drop_last"),
             .epsilon = quantity_in<Epsilon>(parsed, "epsilon"),
             .delta = quantity_in<Delta>(parsed, "delta"),
             .accountant = text_in(parsed, "accountant").value_or("")};
  if (const auto word = text_in(parsed, "noise_over")) log.noise_over = parse_noise_over(*word);
  if (const auto word = text_in(parsed, "sampler")) log.sampler = parse_logged_sampler(*word);
  if (const auto word = text_in(parsed, "adjacency")) log.adjacency = parse_adjacency(*word);
  require_consistent(log);
  return log;
}

}  // namespace surety::accounting
