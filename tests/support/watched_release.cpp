#include <support/watched_release.h>

#include <calls.h>
#include <fmt/format.h>
#include <surety.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <surety/cli/commands/command.h>
#include <surety/cli/parser/parser.h>
#include <surety/cli/print/output.h>

#include <support/arrow_batches.h>

#include <surety/accounting/calibration/best_cost.h>
#include <surety/accounting/calibration/solve.h>
#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/accounting/ledger/memory_store.h>
#include <surety/data/arrow/arrow_stream.h>
#include <surety/data/csv/csv.h>
#include <surety/data/units/owner_buckets.h>
#include <surety/data/units/unit_selection.h>
#include <surety/jobs/parts/partial.h>
#include <surety/jobs/parts/release_in_parts.h>
#include <surety/jobs/parts/ticket.h>
#include <surety/jobs/release/release_job.h>
#include <surety/jobs/release/written_release.h>
#include <surety/jobs/run/kept_units.h>
#include <surety/mechanisms/additive/gaussian.h>
#include <surety/mechanisms/additive/laplace.h>
#include <surety/mechanisms/bits/random_bits.h>
#include <surety/mechanisms/choices/selection.h>
#include <surety/mechanisms/samplers/integer_noise.h>
#include <surety/statistics/estimates.h>
#include <surety/statistics/noise.h>
#include <surety/statistics/parts.h>

namespace surety_test {

using namespace surety;

namespace {

/// The run in hand.
struct Present {
  Mistake mistake = Mistake::none;
  const std::vector<std::vector<double>>* as_released = nullptr;
  TableSource source = {};
  ReleaseRun run = {};
  std::vector<Event> charged = {};  ///< of which nothing was released yet
  std::optional<Event> level = {};  ///< of choices: what was charged for them together
  bool has_missing_cell = false;
  std::optional<std::vector<std::string>> again = {};  ///< the row that is read twice
};
Present* present = nullptr;

bool is_planted(Mistake mistake) { return present != nullptr && present->mistake == mistake; }

/// What a release is charged: the last event that was spent. \throws std::logic_error where there is none.
Event take_charge() {
  if (present->charged.empty()) throw std::logic_error{"a release that nobody charged"};
  Event event = present->charged.back();
  present->charged.pop_back();
  return event;
}

/// The noise in the event of a release: itself, or that of keys beside the chance that one appears.
const Event& noise_of(const Event& event) {
  const auto* const all = std::get_if<Event::Composed>(&event.node());
  return all == nullptr ? event : all->events.front();
}

/// Gives what was recorded, or what `exact` says.
std::vector<double> answer(Release release, std::vector<double> exact) {
  auto& run = present->run;
  const std::size_t place = run.releases.size();
  run.releases.push_back(std::move(release));
  if (present->as_released != nullptr && place < present->as_released->size() && (*present->as_released)[place].size() == exact.size()) {
    exact = (*present->as_released)[place];
  }
  run.released.push_back(exact);
  return exact;
}

using surety::testing::ArrowCell;
using surety::testing::ArrowTestTable;

/// A double where the text is one, or says that it is none; otherwise nothing.
ArrowCell double_of(const std::string& text, const data::CsvReader& reader, const std::vector<std::string>& cells, std::size_t column) {
  if (const auto number = reader.number(cells, column)) return *number;
  // A NaN would be a missing cell, and these texts are there.
  if (text == "nan" || text == "inf" || text == "-inf") return text == "-inf" ? -HUGE_VAL : HUGE_VAL;
  return {};
}

/// The rows of a file of who, x, y and t, and of day where it has that: each by itself, and a damaged one null as a whole.
ArrowTestTable arrow_table_of(const std::filesystem::path& path, data::DataPolicy policy, bool has_types) {
  policy.csv.missing.clear();  // what is missing stays so
  ArrowTestTable table{.columns = {{"who", "u", {}}, {"x", "u", {}}, {"y", "u", {}}, {"t", "u", {}}}};
  if (has_types) {
    table.columns[1].format = "g";
    table.columns[2].format = "s";
    table.columns[3].indices = "s";
  }
  data::CsvReader reader{path, policy};
  if (reader.header().size() == 5) table.columns.push_back({"day", "u", {}});
  std::vector<std::string> cells;
  while (reader.next(cells)) {
    table.null_rows.push_back(reader.is_damaged());
    for (std::size_t k = 0; k < table.columns.size(); ++k) {
      auto& column = table.columns[k];
      ArrowCell cell;
      if (column.format == "u") {
        if (!cells[k].empty()) cell = cells[k];
      } else {
        cell = double_of(cells[k], reader, cells, k);
        const auto* const number = std::get_if<double>(&cell);
        if (column.format == "s") {
          constexpr double most = 1000;
          cell = number != nullptr && std::abs(*number) < most ? ArrowCell{static_cast<std::int64_t>(*number)} : ArrowCell{};
        }
      }
      column.cells.push_back(std::move(cell));
    }
  }
  return table;
}

std::size_t below(std::mt19937_64& random, std::size_t count) { return static_cast<std::size_t>(random() % count); }

/// Cut anywhere, with rows before those of a batch.
ArrowArrayStream given_stream(ArrowTestTable table, std::mt19937_64& random) {
  surety::testing::ArrowStreamOptions options{.offset = below(random, 3), .child_offset = below(random, 3)};
  for (std::size_t rows = 0; rows < table.rows(); rows += options.batches.back()) options.batches.push_back(below(random, 4));
  return arrow_stream(std::move(table), std::move(options));
}
data::ArrowStream stream_of(ArrowTestTable table, std::mt19937_64& random) {
  auto stream = given_stream(std::move(table), random);
  return data::ArrowStream{&stream};
}

/// Each row of the table in one of so many parts: of owners of several rows by their buckets.
std::vector<ArrowTestTable> split(const ArrowTestTable& table, const UnitOfPrivacy& unit, std::size_t parts, std::mt19937_64& random) {
  auto empty = table;
  for (auto& column : empty.columns) column.cells.clear();
  empty.null_rows.clear();
  std::vector<ArrowTestTable> all(parts, empty);
  const data::OwnerBucketFinder bucket_of;
  const std::size_t turn = below(random, parts);
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto text = [&](std::size_t column) { return std::get_if<std::string>(&table.columns[column].cells[row]); };
    const auto* const who = text(0);
    const bool is_combined = table.columns.size() == 5;
    const bool has_name = !table.null_rows[row] && who != nullptr && (!is_combined || text(4) != nullptr);
    const bool may_be_anywhere = unit.is_row() || (!has_name && unit.rule().empty == EmptyUnit::each);
    auto& part = all[may_be_anywhere ? below(random, parts) : (bucket_of(has_name ? *who : std::string{}) + turn) % parts];
    for (std::size_t k = 0; k < table.columns.size(); ++k) part.columns[k].cells.push_back(table.columns[k].cells[row]);
    part.null_rows.push_back(table.null_rows[row]);
  }
  return all;
}

/// As a release in parts does it, from the ticket on to the totals.
jobs::ReadStatistics read_in_parts(jobs::ReleaseJob job, const ArrowTestTable& table, mechanisms::BitsRef bits, std::mt19937_64& random) {
  const auto& plan = job.plan();
  const auto parts = split(table, plan.unit, 1 + below(random, 4), random);
  jobs::Ticket ticket{.number = {7},
                      .parts = static_cast<std::uint32_t>(parts.size()),
                      .plan = plan,
                      .family = job.family(),
                      .scale = job.cost().value,
                      .key = {}};
  if (!plan.unit.is_row()) ticket.key = jobs::draw_unit_key(bits);
  const auto bytes = jobs::ticket_bytes(ticket);
  std::vector<std::string> partials;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    partials.push_back(jobs::partial_release(bytes, static_cast<std::uint32_t>(k), stream_of(parts[k], random)));
  }
  std::shuffle(partials.begin(), partials.end(), random);
  while (partials.size() > 1) {
    partials.front() = jobs::merge_partials(partials.front(), partials.back());
    partials.pop_back();
  }
  const auto all = jobs::read_partial(partials.front());
  return std::move(job).add_up(all.totals, all.records);
}

// ---- Through C ----

/// What a call makes, which is freed.
template <class Made>
struct OfC {
  explicit OfC(void (*how)(Made*)) : free{how} {}
  OfC(const OfC&) = delete;
  OfC& operator=(const OfC&) = delete;
  ~OfC() { free(it); }

  Made* it = nullptr;
  std::size_t length = 0;
  void (*free)(Made*);
};

/// The numbers of a result as texts of its Arrow stream, but for null ones.
std::string cells_of(const surety_result* result) {
  ArrowArrayStream stream{};
  ArrowArray batch{};
  if (surety_result_arrow(result, &stream, nullptr) != SURETY_OK || stream.get_next(&stream, &batch) != 0) return "no stream";
  std::string text;
  for (std::int64_t k = 0; k < batch.n_children; ++k) {
    const ArrowArray& column = *batch.children[k];
    for (std::int64_t row = 0; row < column.length; ++row) {
      const bool is_there = (static_cast<const unsigned char*>(column.buffers[0])[row / 8] >> (row % 8) & 1) != 0;
      if (column.n_buffers == 2) {
        text += is_there ? fmt::format("{},", static_cast<const double*>(column.buffers[1])[row]) : ",";
      } else {
        const auto* const ends = static_cast<const std::int64_t*>(column.buffers[1]);
        text.append(static_cast<const char*>(column.buffers[2]) + ends[row], static_cast<std::size_t>(ends[row + 1] - ends[row])) += ',';
      }
    }
  }
  batch.release(&batch);
  stream.release(&stream);
  return text;
}

/// Runs the plan of these words through C, and says of it what the command would.
class ThroughC {
 public:
  /// \param json as --print-plan wrote it
  ThroughC(const std::string& json, const std::string& path) {
    auto plan = nlohmann::json::parse(json);
    has_csv_ = plan["options"].value("format", "") == "csv";
    // The bits are the caller's, of the same seed.
    for (const char* const field : {"format", "replay-seed"}) plan["options"].erase(field);
    plan_ = plan.dump();
    const auto read = jobs::read_release_plan(plan_).plan;
    table_ = arrow_table_of(path, read.reading, present->source.has_types);
    unit_ = read.unit;
    ledger_.emplace(surety_ledger{
        accounting::Ledger::create(std::make_shared<accounting::MemoryStore>(), read.target.adjacency, std::nullopt, read.unit)});
    bits_.size = sizeof bits_;
    bits_.vouched_for = SURETY_I_VOUCH_FOR_THESE_BITS;
    bits_.context = &source_;
    bits_.fill = [](void* context, unsigned char* bytes, std::size_t count) {
      static_cast<mechanisms::ReplayBits*>(context)->fill({reinterpret_cast<std::byte*>(bytes), count});
      return 0;
    };
    options_.size = sizeof options_;
    options_.bits = &bits_;
    options_.context = this;
    options_.progress = [](void* context, const char* phase, std::uint64_t done, std::uint64_t all) {
      static_cast<ThroughC*>(context)->told_ += fmt::format("{} {}/{}\n", phase, done, all);
    };
  }
  ThroughC(const ThroughC&) = delete;
  ThroughC& operator=(const ThroughC&) = delete;

  void run(ReleaseRun& into) {
    std::mt19937_64 random{present->source.seed};
    OfC<surety_result> result{surety_result_free};
    OfC<surety_failure> failure{surety_failure_free};
    const auto code = present->source.form == TableForm::c ? whole(random, result, failure) : in_parts(random, result, failure);
    constexpr int defect = 70;
    into.code = code == SURETY_INTERNAL ? defect : code;
    into.err = surety_failure_message(failure.it) + told_;
    if (code != SURETY_OK) return;
    if (has_csv_) {
      into.out = cells_of(result.it);
      return;
    }
    OfC<char> json{surety_free};
    if (surety_result_json(result.it, &json.it, &json.length, nullptr) != SURETY_OK) throw std::logic_error{"a result without its JSON"};
    into.out = std::string{json.it, json.length};
  }

 private:
  surety_code whole(std::mt19937_64& random, OfC<surety_result>& result, OfC<surety_failure>& failure) {
    OfC<surety_job> job{surety_job_free};
    const auto code = surety_job_prepare(plan_.data(), plan_.size(), &job.it, &failure.it);
    if (code != SURETY_OK) return code;
    auto stream = given_stream(std::move(table_), random);
    return surety_job_run_arrow(job.it, &stream, &*ledger_, &options_, &result.it, &failure.it);
  }

  surety_code in_parts(std::mt19937_64& random, OfC<surety_result>& result, OfC<surety_failure>& failure) {
    auto parts = split(table_, unit_, 1 + below(random, 4), random);
    OfC<char> ticket{surety_free};
    auto code = surety_parts_begin(plan_.data(), plan_.size(), static_cast<std::uint32_t>(parts.size()), &*ledger_, &options_, &ticket.it,
                                   &ticket.length, &failure.it);
    std::string whole;
    for (std::uint32_t k = 0; code == SURETY_OK && k < parts.size(); ++k) {
      auto stream = given_stream(std::move(parts[k]), random);
      OfC<char> partial{surety_free};
      OfC<char> merged{surety_free};
      code = surety_parts_partial_arrow(ticket.it, ticket.length, k, &stream, &partial.it, &partial.length, &failure.it);
      if (code != SURETY_OK) break;
      if (k > 0) {
        code = surety_parts_merge(partial.it, partial.length, whole.data(), whole.size(), &merged.it, &merged.length, &failure.it);
      }
      if (code == SURETY_OK) whole = k > 0 ? std::string{merged.it, merged.length} : std::string{partial.it, partial.length};
    }
    if (code != SURETY_OK) return code;
    return surety_parts_finish(ticket.it, ticket.length, whole.data(), whole.size(), &*ledger_, &options_, &result.it, &failure.it);
  }

  std::string plan_;
  bool has_csv_ = false;
  ArrowTestTable table_;
  UnitOfPrivacy unit_;
  std::optional<surety_ledger> ledger_;
  mechanisms::ReplayBits source_{1};
  surety_bits bits_{};
  surety_run_options options_{};
  std::string told_;
};

/// A stream of this process that goes into memory as long as it lives.
class Kept {
 public:
  explicit Kept(std::FILE* stream) : stream_{stream}, kept_{dup(fileno(stream))}, memory_{memfd_create("said", MFD_CLOEXEC)} {
    std::fflush(stream_);
    if (kept_ == -1 || memory_ == -1 || dup2(memory_, fileno(stream_)) == -1) throw std::runtime_error{"standard output cannot be kept"};
  }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  ~Kept() {
    std::fflush(stream_);
    dup2(kept_, fileno(stream_));
    close(kept_);
    close(memory_);
  }
  /// What was said since the last call.
  std::string take() {
    std::fflush(stream_);
    const auto size = lseek(memory_, 0, SEEK_END);
    std::string text(static_cast<std::size_t>(size), '\0');
    if (pread(memory_, text.data(), text.size(), 0) != size || ftruncate(memory_, 0) != 0 || lseek(memory_, 0, SEEK_SET) != 0) {
      throw std::runtime_error{"standard output is lost"};
    }
    return text;
  }

 private:
  std::FILE* stream_;
  int kept_;
  int memory_;
};

}  // namespace

std::optional<double> move(const Release& a, const Release& b) {
  if (a.charged != b.charged || a.norm != b.norm || a.sensitivity != b.sensitivity || a.content.size() != b.content.size())
    return std::nullopt;
  long double sum = 0;
  long double least = HUGE_VALL;
  long double most = -HUGE_VALL;
  for (std::size_t k = 0; k < a.content.size(); ++k) {
    const long double change = static_cast<long double>(a.content[k]) - static_cast<long double>(b.content[k]);
    const long double apart = std::abs(change);
    least = std::min(least, change);
    most = std::max(most, change);
    switch (a.norm) {
      case Release::Norm::l1: sum += apart; break;
      case Release::Norm::l2: sum += apart * apart; break;
      case Release::Norm::largest: sum = std::max(sum, apart); break;
      case Release::Norm::range: sum = most - least; break;
    }
  }
  return static_cast<double>(a.norm == Release::Norm::l2 ? std::sqrt(sum) : sum) / a.sensitivity;
}

ReleaseRun run_release(const std::vector<std::string>& words, const std::vector<std::vector<double>>* as_released, Mistake mistake,
                       const TableSource& source) {
  const bool is_through_c = source.form == TableForm::c || source.form == TableForm::parts_of_c;
  Present now{.mistake = mistake, .as_released = as_released, .source = source};
  present = &now;
  {
    Kept out{stdout};
    Kept err{stderr};
    try {
      cli::Command surety{.name = "surety", .summary = "release alone"};
      surety.commands.push_back(cli::release_command({}));
      std::vector<std::string> all{"release"};
      all.insert(all.end(), words.begin(), words.end());
      if (is_through_c) all.emplace_back("--print-plan");
      const auto request = cli::parse(surety, all);
      now.run.code = request.command->run(*request.command);
      cli::finish_output();
    } catch (...) {
      const auto failure = cli::failure_of(std::current_exception());
      now.run.code = cli::fail(failure.code, failure.message);
    }
    now.run.out = out.take();
    now.run.err = err.take();
  }
  if (is_through_c && now.run.code == 0) ThroughC{now.run.out, words.front()}.run(now.run);
  present = nullptr;
  using surety::testing::ArrowCount;
  if (ArrowCount::live != 0 || ArrowCount::twice != 0) throw std::logic_error{"a struct of Arrow is not released once"};
  return std::move(now.run);
}

}  // namespace surety_test

// ---- The functions between the command and the libraries (watched_doors.cpp says how) ----------------------------------------------------

using surety_test::is_planted;
using surety_test::Mistake;
using surety_test::present;
using namespace surety;

// NOLINTBEGIN(bugprone-reserved-identifier)
#define SURETY_WATCHED(result, name, symbol, ...)        \
  result real_##name(__VA_ARGS__) asm("__real_" symbol); \
  result wrap_##name(__VA_ARGS__) asm("__wrap_" symbol); \
  result wrap_##name(__VA_ARGS__)
// NOLINTEND(bugprone-reserved-identifier)

// clang-format off
SURETY_WATCHED(void, spend, "_ZN6surety10accounting11Reservation5spendERKNS_5EventE", accounting::Reservation* self, const Event& event) {
  if (present != nullptr && !is_planted(Mistake::charge_forgotten)) present->charged.push_back(event);
  real_spend(self, event);
}

SURETY_WATCHED(std::vector<double>, release_on_grid, "_ZN6surety10mechanisms6detail15release_on_gridERKNS0_12LatticeNoiseERKNS_4GridERKNS_10GridVectorENS0_7BitsRefE", const mechanisms::LatticeNoise& noise, const Grid& grid, const GridVector& query, mechanisms::BitsRef bits) {
  if (present == nullptr) return real_release_on_grid(noise, grid, query, bits);
  const Event event = surety_test::take_charge();
  present->level.reset();
  const Event& of = surety_test::noise_of(event);
  surety_test::Release release{.charged = describe(event), .content = {query.steps.begin(), query.steps.end()}};
  // The object is what the event says, or the mechanism is not the one that is charged.
  if (const auto* const laplace = std::get_if<Event::Laplace>(&of.node())) {
    release.sensitivity = static_cast<const mechanisms::RoundedLaplace&>(noise).scale().value() / laplace->scale.value();
  } else {
    release.sensitivity = static_cast<const mechanisms::RoundedGaussian&>(noise).sigma().value() / std::get<Event::Gaussian>(of.node()).multiplier.value();
    release.norm = surety_test::Release::Norm::l2;
  }
  std::vector<double> exact;
  for (const auto steps : query.steps) exact.push_back(static_cast<double>(steps) * grid.step() + surety_test::reveal);
  return surety_test::answer(std::move(release), std::move(exact));
}

SURETY_WATCHED(std::size_t, choose, "_ZNK6surety10mechanisms14ReportNoisyMax7releaseESt4spanIKdLm18446744073709551615EENS0_7BitsRefE", const mechanisms::ReportNoisyMax* self, std::span<const double> scores, mechanisms::BitsRef bits) {
  if (present == nullptr) return real_choose(self, scores, bits);
  const bool shares_charge = present->charged.empty() && present->level.has_value();
  if (!shares_charge) present->level = surety_test::take_charge();
  const Event& event = *present->level;
  // Of exponential(e) the weights are exp(e s / (2 Delta)), and of pure(e) the noise is of scale 2 Delta / e; with the range of all changes in the place of 2 Delta where that is stated. By another law than its event says it is enough for nothing.
  const auto* const exponential = std::get_if<Event::Exponential>(&event.node());
  const bool is_of_its_law = self->event().node().index() == event.node().index();
  const double said = is_of_its_law ? (exponential != nullptr ? exponential->epsilon : std::get<Event::Pure>(event.node()).epsilon).value() : 0;
  surety_test::Release release{.charged = describe(event), .content = {scores.begin(), scores.end()}, .sensitivity = self->options().sensitivity.value() * said / self->options().epsilon.value(), .norm = self->options().change == ScoreChange::range ? surety_test::Release::Norm::range : surety_test::Release::Norm::largest, .shares_charge = shares_charge};
  const std::size_t any = (present->source.seed * 2654435761U + present->run.releases.size() * 40503U) >> 3U;
  return static_cast<std::size_t>(surety_test::answer(std::move(release), {static_cast<double>(any % scores.size())}).front());
}

// What halving divides records at. The noise of scale b is enough for e / 16, where the choice has the rest: losses of pure(e) add, and ranges of exponential(e) count it twice.
SURETY_WATCHED(void, add_noise, "_ZN6surety10mechanisms9add_noiseERKNS0_12LatticeNoiseESt4spanIlLm18446744073709551615EENS0_7BitsRefE", const mechanisms::LatticeNoise& noise, std::span<std::int64_t> values, mechanisms::BitsRef bits) {
  if (present == nullptr) return real_add_noise(noise, values, bits);
  const Event& event = present->level.value();
  const auto* const exponential = std::get_if<Event::Exponential>(&event.node());
  const double epsilon = exponential != nullptr ? exponential->epsilon.value() / 2 : std::get<Event::Pure>(event.node()).epsilon.value();
  const auto scale = static_cast<const mechanisms::DiscreteLaplaceNoise&>(noise).scale();
  for (auto& value : values) {
    surety_test::Release release{.charged = describe(event), .content = {static_cast<double>(value)}, .sensitivity = static_cast<double>(scale.num) / static_cast<double>(scale.den) * epsilon, .norm = surety_test::Release::Norm::largest, .shares_charge = true};
    const auto any = static_cast<std::int64_t>((present->source.seed * 2654435761U + present->run.releases.size() * 40503U) % 9U);
    value = static_cast<std::int64_t>(surety_test::answer(std::move(release), {static_cast<double>(value + (any - 4) * 512)}).front());
  }
}

SURETY_WATCHED(accounting::Ledger, open_or_create, "_ZN6surety10accounting6Ledger14open_or_createERKNSt10filesystem7__cxx114pathENS_9AdjacencyERKNS_13UnitOfPrivacyE", const std::filesystem::path& path, Adjacency adjacency, const UnitOfPrivacy& unit) {
  if (present == nullptr) return real_open_or_create(path, adjacency, unit);
  return accounting::Ledger::create(std::make_shared<accounting::MemoryStore>(), adjacency, std::nullopt, unit);
}

// Which scale of noise meets a promise is the accountants' business, and no part of this: any will do, for what is compared is what the event of that
// scale is enough for.
SURETY_WATCHED(CostFunctions, best_cost, "_ZN6surety10accounting9best_costERKNS_6TargetERKNS0_6EffortE", const Target& target, const accounting::Effort& effort) {
  if (present == nullptr) return real_best_cost(target, effort);
  return {.delta = [=](const Event&, Epsilon) { return Enclosure{target.delta.value(), target.delta.value()}; },
          .epsilon = [=](const Event&, Delta) { return Enclosure{target.epsilon.value(), target.epsilon.value()}; },
          .resolution = [] { return 0.0; }};
}

SURETY_WATCHED(Solution, solve, "_ZN6surety5solveERKSt8functionIFNS_5EventEdEERKNS_6TargetERKNS_9ParameterERKNS_13CostFunctionsE", const std::function<Event(double)>& event, const Target& target, const Parameter& parameter, const CostFunctions& cost) {
  if (present == nullptr) return real_solve(event, target, parameter, cost);
  constexpr double scale = 1.5;
  return {.value = scale, .event = event(scale), .epsilon = cost.epsilon(event(scale), target.delta), .delta = cost.delta(event(scale), target.epsilon), .failing = std::nullopt};
}

// Tables of a sampler take a millisecond, and nothing is drawn from them here.
SURETY_WATCHED(mechanisms::IsochronousSampler, rounded_laplace, "_ZN6surety10mechanisms18IsochronousSampler15rounded_laplaceEd", double scale) {
  static std::map<double, mechanisms::IsochronousSampler> made;
  const auto found = made.find(scale);
  return found != made.end() ? found->second : made.emplace(scale, real_rounded_laplace(scale)).first->second;
}

SURETY_WATCHED(mechanisms::IsochronousSampler, rounded_gaussian, "_ZN6surety10mechanisms18IsochronousSampler16rounded_gaussianEd", double sigma) {
  static std::map<double, mechanisms::IsochronousSampler> made;
  const auto found = made.find(sigma);
  return found != made.end() ? found->second : made.emplace(sigma, real_rounded_gaussian(sigma)).first->second;
}

// So do intervals: how far noise reaches depends on the query and its noise, and what a test excludes on what was released.
SURETY_WATCHED(statistics::NoiseReach, reach_of, "_ZN6surety10statistics8reach_ofERKNS0_12StatisticSumERKSt7variantIJNS_10mechanisms7LaplaceENS5_8GaussianEEEd", const statistics::StatisticSum& sum, const statistics::StatisticNoise& noise, double confidence) {
  static std::map<std::string, statistics::NoiseReach> made;
  const auto key = fmt::format("{} {} {} {} {} {} {}", describe(sum.statistic()), sum.what_is_released(), sum.grid().step(), statistics::standard_deviation(noise), noise.index(), sum.statistic().has_public_count(), confidence);
  const auto found = made.find(key);
  return found != made.end() ? found->second : made.emplace(key, real_reach_of(sum, noise, confidence)).first->second;
}

SURETY_WATCHED(bool, excludes, "_ZNK6surety10statistics9NoiseTest8excludesESt4spanIKdLm18446744073709551615EEd", const statistics::NoiseTest* self, std::span<const double> scales, double t) {
  static std::map<std::vector<double>, bool> known;
  std::vector<double> key{scales.begin(), scales.end()};
  key.insert(key.end(), {t, self->exceeded(), static_cast<double>(self->law())});
  const auto found = known.find(key);
  if (found != known.end()) return found->second;
  if (known.size() > 100'000) known.clear();
  const bool is_excluded = real_excludes(self, scales, t);
  known.emplace(std::move(key), is_excluded);
  return is_excluded;
}

// ---- Tables of other programs ----

SURETY_WATCHED(jobs::ReadStatistics, read_job, "_ZNO6surety4jobs10ReleaseJob4readERKNSt10filesystem7__cxx114pathENS_10mechanisms7BitsRefERKNS0_10RunContextE", jobs::ReleaseJob* self, const std::filesystem::path& path, mechanisms::BitsRef bits, const jobs::RunContext& context) {
  using surety_test::TableForm;
  if (present == nullptr || present->source.form == TableForm::csv) return real_read_job(self, path, bits, context);
  std::mt19937_64 random{present->source.seed};
  auto table = surety_test::arrow_table_of(path, self->plan().reading, present->source.has_types);
  if (present->source.form == TableForm::parts) return surety_test::read_in_parts(std::move(*self), table, bits, random);
  return std::move(*self).read(surety_test::stream_of(std::move(table), random), bits, context);
}

// ---- Mistakes ----

SURETY_WATCHED(std::uint64_t, read_parts, "_ZN6surety10statistics10read_partsENS_4data9CsvReaderERKSt6vectorISt10unique_ptrINS0_4PartESt14default_deleteIS5_EESaIS8_EEb", data::CsvReader reader, const statistics::Parts& parts, bool number_is_public) {
  if (present != nullptr) present->has_missing_cell = false;
  const auto records = real_read_parts(std::move(reader), parts, number_is_public);
  return is_planted(Mistake::number_by_data) && present->has_missing_cell ? records + 1 : records;
}

SURETY_WATCHED(void, make_laplace, "_ZN6surety10mechanisms7LaplaceC1ENS1_7OptionsE", mechanisms::Laplace* self, mechanisms::Laplace::Options options) {
  if (is_planted(Mistake::half_the_noise)) options.sensitivity = L1Sensitivity{options.sensitivity.value() / 2};
  real_make_laplace(self, options);
}

SURETY_WATCHED(void, make_gaussian, "_ZN6surety10mechanisms8GaussianC1ENS1_7OptionsE", mechanisms::Gaussian* self, mechanisms::Gaussian::Options options) {
  if (is_planted(Mistake::half_the_noise)) options.sensitivity = L2Sensitivity{options.sensitivity.value() / 2};
  real_make_gaussian(self, options);
}

SURETY_WATCHED(data::KeptRows, select_rows, "_ZN6surety4data11select_rowsERKNSt10filesystem7__cxx114pathERKNS0_8UnitRuleERKNS0_10DataPolicyERKSt5arrayIhLm16EERKNS0_20UnitSelectionOptionsE", const std::filesystem::path& path, const data::UnitRule& rule, const data::DataPolicy& policy, const data::UnitKey& key, const data::UnitSelectionOptions& options) {
  auto asked = rule;
  if (is_planted(Mistake::no_cap)) asked.most = Count{1000};
  auto kept = real_select_rows(path, asked, policy, key, options);
  if (is_planted(Mistake::cap_by_the_file) && kept.kept > 4) {
    // The first rows of the file, whoever owns them, make room for the last ones.
    const auto first = std::find(kept.is_kept.begin(), kept.is_kept.end(), true);
    *first = false;
    --kept.kept;
  }
  return kept;
}

SURETY_WATCHED(bool, next_row, "_ZN6surety4data9CsvReader4nextERSt6vectorINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESaIS8_EE", data::CsvReader* self, std::vector<std::string>& cells) {
  if (is_planted(Mistake::rows_twice)) {
    // Whoever read it may have moved its cells away.
    if (present->again) {
      cells = std::move(*present->again);
      present->again.reset();
      return true;
    }
  }
  bool found = real_next_row(self, cells);
  while (found && is_planted(Mistake::damaged_rows_dropped) && self->is_damaged()) found = real_next_row(self, cells);
  if (found && is_planted(Mistake::rows_twice)) present->again = cells;
  if (found && present != nullptr && std::find(cells.begin(), cells.end(), "") != cells.end()) present->has_missing_cell = true;
  if (found && is_planted(Mistake::error_for_a_value) && std::find(cells.begin(), cells.end(), "nan") != cells.end()) self->refuse_record(": a cell is nan");
  return found;
}
// clang-format on
