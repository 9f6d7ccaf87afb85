#include "private_run.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>

#include <surety/accounting/best.h>
#include <surety/accounting/releases.h>

#include "validators.h"

namespace surety::cli {

using accounting::Ledger;

Error usage(const std::string& message) { return {ErrorCode::invalid_argument, message}; }

double parse_double(std::string_view text, std::string_view option) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    throw usage(fmt::format("{} has '{}', must be a number there", option, text));
  return value;
}

std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> values{""};
  for (const char c : text) {
    if (c == ',') {
      values.emplace_back();
    } else {
      values.back() += c;
    }
  }
  return values;
}

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code ignored;
  return std::filesystem::equivalent(a, b, ignored) ||
         std::filesystem::weakly_canonical(a, ignored) == std::filesystem::weakly_canonical(b, ignored);
}

void require_not_the_ledger(const std::string& ledger, const std::vector<NamedFile>& files) {
  std::error_code ignored;
  const std::string canonical = std::filesystem::weakly_canonical(ledger, ignored).string();
  for (const char* suffix : {"", "-journal", "-wal", "-shm"}) {
    for (const auto& file : files) {
      if (is_same_file(file.path, canonical + suffix)) {
        throw usage(fmt::format("{} is '{}', must be another file than the ledger{}", file.name, file.path,
                                *suffix == 0 ? "" : " and what SQLite keeps beside it"));
      }
    }
  }
}

void PrivateRunOptions::add_promise_to(CLI::App& group, bool delta_is_required) {
  group.add_option("--epsilon", epsilon, "The promise's epsilon")->required()->check(number());
  group.add_option("--delta", delta, delta_is_required ? "The promise's delta" : "The promise's delta; default: 0")
      ->required(delta_is_required)
      ->check(number());
  group.add_option("--adjacency", adjacency, "add-or-remove-one, replace-one or zero-out")->capture_default_str();
}

void PrivateRunOptions::add_ledger_to(CLI::App& group) {
  group.add_option("--ledger", ledger, "The ledger's file, made when missing")->required();
  group.add_option("--note", note, "A word about this run for the ledger");
  group.add_option("--replay-seed", replay_seed, "Replay noise from this seed: NOT PRIVATE, for experiments")->check(whole_number());
}

Target PrivateRunOptions::target() const {
  return {.epsilon = Epsilon{epsilon}, .delta = Delta{delta}, .adjacency = parse_adjacency(adjacency)};
}

accounting::Plan PrivateRunOptions::plan(const Event& event, const std::string& said) const {
  return {.event = event, .promise = target(), .note = note.empty() ? said : note, .not_private = replay_seed.has_value()};
}

void PrivateRunOptions::check(const accounting::Plan& plan) const {
  if (std::filesystem::exists(ledger)) Ledger::open_or_create(ledger, plan.event.adjacency()).check(plan);
}

accounting::Reservation PrivateRunOptions::reserve(const accounting::Plan& plan) const {
  return Ledger::open_or_create(ledger, plan.event.adjacency()).reserve(plan);
}

std::string as_charged(const Event& event) { return describe(accounting::Releases::of(event).event().value_or(event)); }

Released released_by(const accounting::Reservation& reservation, const Event& plan, const Enclosure& epsilon, Delta delta) {
  const auto planned = as_charged(plan);
  const auto event = reservation.released().event();
  if (!event) return {planned, "nothing", {0, 0}};
  const auto text = describe(*event);
  return {planned, text, text == planned ? epsilon : accounting::quick_epsilon(*event, delta)};
}

RunBits::RunBits(const std::optional<std::uint64_t>& replay_seed) {
  if (replay_seed) {
    replay_.emplace(*replay_seed);
  } else {
    system_.emplace();
  }
}

}  // namespace surety::cli
