#include <surety/accounting/ledger/ledger_contents.h>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <exception>
#include <limits>
#include <utility>

#include <surety/accounting/events/json.h>
#include <surety/accounting/events/json_values.h>

namespace surety::accounting {

namespace {

constexpr std::size_t most_known_events = 1024;

/// Checksum of an entry over itself and, through `before`, all entries before it: 64-bit FNV-1a. A change of one byte is
/// always noticed, since every step is a bijection of the state; other accidents with probability 1 - 2^-64.
std::uint64_t checksum_after(std::uint64_t before, std::string_view content) {
  constexpr std::uint64_t prime = 0x100000001b3;
  std::uint64_t state = 0xcbf29ce484222325;
  const auto take = [&state](unsigned char byte) { state = (state ^ byte) * prime; };
  for (int shift = 0; shift < 64; shift += 8) take(static_cast<unsigned char>(before >> shift));
  for (const char c : content) take(static_cast<unsigned char>(c));
  return state;
}

std::string now() { return utc_text(present_time()); }

void require(bool holds, const std::string& reason) {
  if (!holds) invalid(reason);
}

}  // namespace

std::time_t present_time() {
  const std::time_t time = std::time(nullptr);
  if (time == -1) throw Error{ErrorCode::environment, fmt::format("cannot read the clock: {}", std::strerror(errno))};
  return time;
}

std::string utc_text(std::time_t time) { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(time)); }

std::optional<std::time_t> time_of_text(const std::string& text) {
  std::tm parts{};
  int year = 0;
  int month = 0;
  int length = 0;
  const int found = std::sscanf(text.c_str(), "%d-%2d-%2dT%2d:%2d:%2dZ%n", &year, &month, &parts.tm_mday, &parts.tm_hour, &parts.tm_min,
                                &parts.tm_sec, &length);
  if (found != 6 || static_cast<std::size_t>(length) != text.size() || year < std::numeric_limits<int>::min() + 1900) return std::nullopt;
  parts.tm_year = year - 1900;
  parts.tm_mon = month - 1;
  const std::time_t time = ::timegm(&parts);
  return utc_text(time) == text ? std::optional{time} : std::nullopt;
}

std::int64_t version_of(const UnitOfPrivacy& unit) noexcept {
  return unit.is_row() || !unit.says_rule() ? ledger_version_without_rule : ledger_version;
}

std::string open_entry(Adjacency adjacency, const UnitOfPrivacy& unit) {
  return nlohmann::json{{"open", {{"time", now()}, {"adjacency", surety::name(adjacency)}, {"unit", to_json(unit)}}}}.dump();
}

std::string budget_entry(const Budget& budget) {
  nlohmann::json fields{
      {"time", now()}, {"epsilon", budget.target.epsilon.value()}, {"delta", budget.target.delta.value()}, {"filter", name(budget.filter)}};
  // Written down, lest another version choose another one for the same numbers.
  if (const auto order = Filter{budget}.budget().order) fields["order"] = order->value();
  return nlohmann::json{{"budget", std::move(fields)}}.dump();
}

std::string reserve_entry(const Plan& plan, const std::string& time) {
  nlohmann::json promise;
  if (plan.promise) promise = {{"epsilon", plan.promise->epsilon.value()}, {"delta", plan.promise->delta.value()}};
  const nlohmann::json entry{
      {"reserve",
       {{"time", time}, {"event", to_json(plan.event)}, {"promise", promise}, {"note", plan.note}, {"not_private", plan.not_private}}}};
  // A note may be any bytes, and a run must not fail over one.
  return entry.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string settle_entry(RunId run, const std::string& time, const std::optional<Event>& released, Stopping stopping) {
  nlohmann::json event;
  if (released) event = to_json(*released);
  return nlohmann::json{{"settle", {{"time", time}, {"run", run.value}, {"released", event}, {"stopping", name(stopping)}}}}.dump();
}

void require_part(const Run& run, const std::optional<Event>& released) {
  if (run.settlement) invalid(fmt::format("run {} is settled already, a run settles once", run.id.value));
  if (!released) return;
  if (released->adjacency() != run.plan.event.adjacency()) {
    invalid(fmt::format("adjacency of the released event is {}, must be the ledger's, {}", surety::name(released->adjacency()),
                        surety::name(run.plan.event.adjacency())));
  }
  if (!Releases::of(*released).is_part_of(Releases::of(run.plan.event))) {
    invalid(
        fmt::format("run {} released '{}', must be part of its plan '{}'", run.id.value, describe(*released), describe(run.plan.event)));
  }
}

namespace {

/// The fields of one entry, each kind of which changes the contents in its own way. What it refuses it refuses before it changes anything.
class Entry {
 public:
  Entry(LedgerContents& contents, const std::string& kind, const nlohmann::json& fields)
      : contents_{contents}, kind_{kind}, fields_{fields} {}

  void open() const {
    const bool has_unit = fields_.is_object() && fields_.contains("unit");
    has_unit ? require_fields(fields_, {"time", "adjacency", "unit"}, kind_) : require_fields(fields_, {"time", "adjacency"}, kind_);
    const Adjacency written = parse_adjacency(text_in("adjacency"));
    if (has_unit) contents_.unit = unit_from_json(fields_.at("unit"));
    contents_.version = has_unit ? version_of(contents_.unit) : ledger_version_without_unit;
    contents_.last_time = text_in("time");
    contents_.adjacency = written;
    contents_.charged.emplace(written);
    contents_.counted.emplace(written);
  }

  void budget() const {
    const bool has_order = fields_.is_object() && fields_.contains("order");
    has_order ? require_fields(fields_, {"time", "epsilon", "delta", "filter", "order"}, kind_)
              : require_fields(fields_, {"time", "epsilon", "delta", "filter"}, kind_);
    require(!contents_.budget && contents_.runs.empty(), "a budget comes after another budget or after a run");
    Budget written{.target = target_of(fields_), .filter = parse_filter_kind(text_in("filter"))};
    if (has_order) written.order = RenyiOrder{number_of(fields_.at("order"), "order")};
    require(has_order == (written.filter == FilterKind::renyi), "an order goes with a filter of kind renyi, and only with it");
    contents_.budget = Filter{written}.budget();
    contents_.last_time = text_in("time");
  }

  void reserve() const {
    require_fields(fields_, {"time", "event", "promise", "note", "not_private"}, kind_);
    Plan plan{.event = event_of(fields_.at("event")),
              .unit = contents_.unit,
              .note = text_in("note"),
              .not_private = truth_of(fields_.at("not_private"), "not_private")};
    if (const auto& promise = fields_.at("promise"); !promise.is_null()) {
      require_fields(promise, {"epsilon", "delta"}, "promise");
      plan.promise = target_of(promise);
    }
    // Sums of counts that reserve has admitted; what is counted is part of what is charged.
    const auto planned = Releases::of(plan.event);
    contents_.charged->add(planned);
    contents_.count(planned);
    contents_.last_time = text_in("time");
    contents_.runs.push_back(
        {.id = {contents_.runs.size() + 1}, .created = contents_.last_time, .plan = std::move(plan), .settlement = std::nullopt});
  }

  void settle() const {
    require_fields(fields_, {"time", "run", "released", "stopping"}, kind_);
    const auto id = whole_number_of(fields_.at("run"), "run");
    require(id >= 1 && id <= contents_.runs.size(), "an unknown run is settled");
    Settlement settlement{.time = text_in("time"), .released = std::nullopt, .stopping = parse_stopping(text_in("stopping"))};
    if (!fields_.at("released").is_null()) settlement.released = event_of(fields_.at("released"));
    auto& run = contents_.runs[id - 1];
    require_part(run, settlement.released);
    const auto planned = Releases::of(run.plan.event);
    run.settlement = std::move(settlement);
    contents_.charged->subtract(planned);
    if (const auto charged = run.charged()) contents_.charged->add(Releases::of(*charged));
    contents_.count_no_more(planned);
    if (const auto counted = run.counted()) contents_.count(Releases::of(*counted));
  }

 private:
  [[nodiscard]] std::string text_in(const char* field) const { return text_of(fields_.at(field), field); }
  [[nodiscard]] Target target_of(const nlohmann::json& written) const {
    return {.epsilon = Epsilon{number_of(written.at("epsilon"), "epsilon")},
            .delta = Delta{number_of(written.at("delta"), "delta")},
            .adjacency = *contents_.adjacency};
  }
  [[nodiscard]] Event event_of(const nlohmann::json& written) const {
    auto& known = contents_.known_events;
    std::string text = written.dump();
    if (const auto found = known.find(text); found != known.end()) return found->second;
    Event event = event_from_json(text);
    require(event.adjacency() == *contents_.adjacency, "an event has another adjacency than the ledger");
    // As many kinds as a ledger is likely to have; of more, those that come next.
    if (known.size() == most_known_events) known.clear();
    known.emplace(std::move(text), event);
    return event;
  }

  LedgerContents& contents_;
  const std::string& kind_;
  const nlohmann::json& fields_;
};

}  // namespace

namespace {

/// Changes a running cost. It is a cache: where a price fails, it is given up, and made again when it is needed.
template <class Change>
void change(std::optional<RunningCost>& cost, Change by) noexcept {
  if (!cost) return;
  try {
    by(*cost);
  } catch (const std::exception&) {
    cost.reset();
  }
}

}  // namespace

void LedgerContents::count(const Releases& releases) {
  counted->add(releases);
  change(cost, [&](RunningCost& sum) { sum.add(releases); });
}

void LedgerContents::count_no_more(const Releases& releases) {
  counted->subtract(releases);
  change(cost, [&](RunningCost& sum) { sum.subtract(releases); });
}

void LedgerContents::take(const std::string& entry) {
  // An event is at most 3 Event::max_depth + 3 levels of JSON, within the two levels of its entry.
  const auto json = parse_strict_json(entry, 3 * Event::max_depth + 5, "entry");
  require(json.is_object() && json.size() == 1, "not an object with one field");
  const auto& kind = json.begin().key();
  require(adjacency.has_value() == (kind != "open"), "the ledger does not start with its adjacency, and only so");
  const Entry read{*this, kind, json.begin().value()};
  if (kind == "open") return read.open();
  if (kind == "budget") return read.budget();
  if (kind == "reserve") return read.reserve();
  if (kind == "settle") return read.settle();
  invalid("an entry of unknown kind");
}

void read_on(const LedgerStore& store, LedgerContents& contents) {
  const std::string& name = store.name();
  if (contents.entries > 0 && store.checksum_of(contents.entries) != contents.checksum) {
    damaged(name, fmt::format("entry {} is no longer what it was", contents.entries));
  }
  const auto take = [&](const StoredEntry& entry) {
    const auto next = entry_after({contents.entries, contents.checksum}, entry.content);
    if (entry.number != next.number || entry.checksum != next.checksum) {
      damaged(name, fmt::format("the checksum of entry {} is wrong", next.number));
    }
    try {
      translating_json_errors("an entry", [&] { contents.take(entry.content); });
    } catch (const Error& error) {
      if (error.code() == ErrorCode::stopped) throw;
      damaged(name, fmt::format("entry {}: {}", next.number, error.what()));
    }
    contents.entries = next.number;
    contents.checksum = next.checksum;
  };
  store.each_after(contents.entries > 0 ? contents.entries : std::numeric_limits<std::int64_t>::min(), take);
  if (store.head() != StoredHead{contents.entries, contents.checksum} || !contents.adjacency) {
    damaged(name, fmt::format("entries are missing after entry {}", contents.entries));
  }
}

StoredEntry entry_after(const StoredHead& last, std::string content) {
  const auto checksum = checksum_after(last.checksum, content);
  return {last.entries + 1, std::move(content), checksum};
}

std::vector<StoredEntry> first_entries(Adjacency adjacency, const UnitOfPrivacy& unit, const std::optional<Budget>& budget) {
  std::vector<StoredEntry> entries{entry_after({0, 0}, open_entry(adjacency, unit))};
  if (budget) entries.push_back(entry_after({1, entries.front().checksum}, budget_entry(*budget)));
  return entries;
}

}  // namespace surety::accounting
