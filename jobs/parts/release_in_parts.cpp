#include <surety/jobs/parts/release_in_parts.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <surety/base/system/new_file.h>
#include <surety/base/text/error.h>
#include <surety/base/text/safe_text.h>
#include <surety/data/reading/called_off.h>
#include <surety/jobs/parts/partial.h>
#include <surety/jobs/parts/ticket.h>
#include <surety/jobs/release/read_table.h>
#include <surety/jobs/release/release_steps.h>
#include <surety/jobs/run/kept_units.h>
#include <surety/jobs/run/run_bits.h>
#include <surety/mechanisms/bits/random_bits.h>

namespace surety::jobs {
namespace {

/// A part of the ticket without its rows.
Partial empty_part(const Ticket& ticket, std::uint32_t part, PartSource source) {
  if (part >= ticket.parts) invalid(fmt::format("part is {}, must be below {}, the number of parts", part, ticket.parts));
  return {.ticket = ticket.number,
          .parts = ticket.parts,
          .source = ticket.key ? source : PartSource::any,
          .numbers = {part},
          .buckets = {},
          .records = 0,
          .totals = {}};
}

template <class Source>
std::string partial_of(std::string_view ticket, std::uint32_t part, PartSource kind, Source&& source, const RunContext& context) {
  const auto told = read_ticket(ticket);
  auto partial = empty_part(told, part, kind);
  const auto queries = statistics::adding_parts_of(told.plan.queries, told.family, told.scale);
  context.begin(Phase::reading);
  context.require_going_on();
  const data::CalledOff may_be_called_off{context.should_stop};
  const auto read = read_table(std::forward<Source>(source), told.plan, told.key, queries,
                               {.may_be_empty = true, .selection = {.memory = context.memory, .finds_buckets = true}});
  partial.records = read.records;
  partial.buckets = read.buckets;
  for (const auto& query : queries) partial.totals.push_back(query->total());
  return partial_bytes(partial);
}

/// All parts of the ticket, and nothing else.
void require_whole(const Ticket& ticket, const Partial& partial) {
  if (partial.ticket != ticket.number) invalid("the partial is of another ticket");
  if (partial.parts != ticket.parts || (partial.source == PartSource::any) != !ticket.key) {
    invalid("the partial has the ticket's number, and is of another plan");
  }
  if (partial.numbers.size() == partial.parts) return;
  std::uint32_t missing = 0;
  while (missing < partial.numbers.size() && partial.numbers[missing] == missing) ++missing;
  invalid(fmt::format("part {} is missing: the partial has {} of {}", missing, partial.numbers.size(), partial.parts));
}

class PartsSteps final : public ReleaseSteps {
 public:
  PartsSteps(ReleaseJob job, const Partial& whole, std::string mark, const LedgerCharge& charge, const Bits& bits,
             const RunContext& context)
      : ReleaseSteps{std::move(job), bits, context}, whole_{whole}, mark_{std::move(mark)}, charge_{charge} {}

  /// It was asked when the ticket was made, and whether that was used already is to be said first.
  void ask(const accounting::Plan& /*charge*/) override {}
  accounting::Reservation reserve(const accounting::Plan& charge) override { return charge_(charge, mark_); }

 private:
  ReadStatistics read_by(ReleaseJob job) override { return std::move(job).add_up(whole_.totals, whole_.records); }

  const Partial& whole_;
  std::string mark_;
  const LedgerCharge& charge_;
};

/// Makes the ticket of a job once `check` has admitted its charge.
Ticket new_ticket(const ReleaseJob& job, std::uint32_t parts, const Bits& bits, const LedgerCheck& check) {
  check(job.charge(bits.not_private));
  Ticket ticket{.number = {}, .parts = parts, .plan = job.plan(), .family = job.family(), .scale = job.cost().value, .key = {}};
  if (!job.plan().unit.is_row()) {
    ticket.key = draw_unit_key(bits.bits);
    ticket.not_private = bits.not_private;
  }
  mechanisms::SystemBits{}.fill(std::as_writable_bytes(std::span{ticket.number}));
  return ticket;
}

void require_parts(std::uint32_t parts) {
  if (!(parts >= 1 && parts <= most_parts)) invalid(fmt::format("parts are {}, must be from 1 to {}", parts, most_parts));
}

ReleasedStatistics finish(Ticket told, std::string_view partial, const LedgerCharge& charge, mechanisms::BitsRef bits, bool not_private,
                          const RunContext& context) {
  const auto whole = read_partial(partial);
  require_whole(told, whole);
  ReleaseJob job{std::move(told.plan), context};
  if (job.family() != told.family || job.cost().value != told.scale) {
    invalid("the ticket's noise is not what its plan gives here, must be finished on a machine that computes as that where it began");
  }
  return PartsSteps{std::move(job), whole, ledger_mark(told.number), charge, {.bits = bits, .not_private = not_private || told.not_private},
                    context}
      .released();
}

}  // namespace

std::string begin_release(const ReleasePlan& plan, std::uint32_t parts, const accounting::Ledger& ledger, const Bits& bits,
                          const RunContext& context) {
  require_parts(parts);
  return ticket_bytes(new_ticket(ReleaseJob{plan, context}, parts, bits, [&](const accounting::Plan& charge) { ledger.check(charge); }));
}

std::string begin_release(const ReleaseJob& job, std::uint32_t parts, const std::optional<std::uint64_t>& replay_seed,
                          const LedgerCheck& check) {
  require_parts(parts);
  RunBits bits{replay_seed};
  auto ticket = new_ticket(job, parts, {.bits = bits.source(), .not_private = bits.not_private()}, check);
  ticket.replay_seed = replay_seed;
  ticket.not_private = replay_seed.has_value();
  return ticket_bytes(ticket);
}

std::string partial_release(std::string_view ticket, std::uint32_t part, const std::filesystem::path& path, const RunContext& context) {
  return partial_of(ticket, part, PartSource::csv, path, context);
}

std::string partial_release(std::string_view ticket, std::uint32_t part, data::ArrowStream stream, const RunContext& context) {
  return partial_of(ticket, part, PartSource::arrow, std::move(stream), context);
}

std::string merge_partials(std::string_view a, std::string_view b) { return partial_bytes(merged(read_partial(a), read_partial(b))); }

std::string merge_partials(std::span<const std::string_view> partials) {
  if (partials.empty()) invalid("there are no partials, must be one at least");
  std::vector<std::string_view> different{partials.begin(), partials.end()};
  std::sort(different.begin(), different.end());
  different.erase(std::unique(different.begin(), different.end()), different.end());
  std::vector<Partial> some;
  some.reserve(different.size());
  for (const auto bytes : different) some.push_back(read_partial(bytes));
  // In pairs: keys that all of them have are then copied as often as the tree is deep.
  while (some.size() > 1) {
    std::size_t left = 0;
    for (std::size_t k = 0; k < some.size(); k += 2, ++left) {
      auto one = k + 1 < some.size() ? merged(std::move(some[k]), some[k + 1]) : std::move(some[k]);
      some[left] = std::move(one);
    }
    some.resize(left);
  }
  return partial_bytes(some.front());
}

ReleasedStatistics finish_release(std::string_view ticket, std::string_view partial, accounting::Ledger& ledger, const Bits& bits,
                                  const RunContext& context) {
  const auto charge = [&](const accounting::Plan& plan, std::string_view mark) { return ledger.reserve_once(plan, mark); };
  return finish(read_ticket(ticket), partial, charge, bits.bits, bits.not_private, context);
}

ReleasedStatistics finish_release(std::string_view ticket, std::string_view partial, const LedgerCharge& charge,
                                  const RunContext& context) {
  auto told = read_ticket(ticket);
  RunBits bits{told.replay_seed};
  if (told.replay_seed && told.key && draw_unit_key(bits.source()) != *told.key) {
    throw Error{ErrorCode::bad_data, "ticket: its key is not that of its seed"};
  }
  return finish(std::move(told), partial, charge, bits.source(), bits.not_private(), context);
}

void write_private_file(const std::filesystem::path& path, std::string_view bytes) {
  NewFile file{Place{path}, bytes.size(), NewFile::Method::nameless, NewFile::Readers::owner_alone};
  file.write(bytes);
  if (!file.put_where_nothing_is()) invalid(fmt::format("{} is there already, must be a name that nothing has", one_line(path.string())));
}

}  // namespace surety::jobs
