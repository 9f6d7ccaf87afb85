#include <surety/jobs/parts/ticket.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

#include <surety/base/text/error.h>
#include <surety/base/text/safe_text.h>
#include <surety/jobs/parts/sealed_bytes.h>
#include <surety/jobs/release/written_release.h>

namespace surety::jobs {
namespace {

// Whole numbers have their least byte first; the last 32 bytes are the SHA-256 of all before (sealed_bytes.h).
//     magic, version                                                          8, 4
//     Surety's version, its length before                                     1, as many
//     the public number; the number of parts                                  16, 4
//     the noise: 0 Laplace, 1 Gaussian, 2 pure; the scale, a double                   1, 8
//     whether there is a key; the key by which rows of owners are kept        1, 16 or 0
//     whether the release is a replay; whether there is a seed; the seed      1, 1, 8 or 0
//     the plan, its length before                                             4, as many
constexpr SealedKind ticket_kind{.magic = "SURETYTK", .version = 2, .name = "ticket"};
constexpr std::string_view version_of_surety = SURETY_VERSION;

template <class Bytes>
std::string_view bytes_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
template <class Bytes>
Bytes read_bytes(SealedReader& in) {
  Bytes bytes;
  const auto found = in.text(bytes.size());
  std::copy(found.begin(), found.end(), bytes.begin());
  return bytes;
}

bool read_flag(SealedReader& in) {
  const auto flag = in.number(one_byte);
  in.require(flag <= 1);
  return flag != 0;
}

}  // namespace

std::string ticket_bytes(const Ticket& ticket) {
  SealedWriter out{ticket_kind};
  out.put(version_of_surety.size(), one_byte);
  out.put(version_of_surety);
  out.put(bytes_of(ticket.number));
  out.put(ticket.parts, four_bytes);
  out.put(static_cast<std::uint64_t>(ticket.family), one_byte);
  out.put(std::bit_cast<std::uint64_t>(ticket.scale), eight_bytes);
  out.put(ticket.key ? 1 : 0, one_byte);
  if (ticket.key) out.put(bytes_of(*ticket.key));
  out.put(ticket.not_private ? 1 : 0, one_byte);
  out.put(ticket.replay_seed ? 1 : 0, one_byte);
  if (ticket.replay_seed) out.put(*ticket.replay_seed, eight_bytes);
  const auto plan = plan_text(ticket.plan);
  out.put(plan.size(), four_bytes);
  out.put(plan);
  return std::move(out).sealed();
}

Ticket read_ticket(std::string_view bytes) {
  SealedReader in{bytes, ticket_kind};
  const auto version = in.text(static_cast<std::size_t>(in.number(one_byte)));
  if (version != version_of_surety) {
    in.refuse(fmt::format("was made by Surety {}, must be read by the same version, and this is {}", one_line(version), version_of_surety));
  }
  const auto number = read_bytes<TicketNumber>(in);
  const auto parts = static_cast<std::uint32_t>(in.number(four_bytes));
  in.require(parts >= 1 && parts <= most_parts);
  const auto family = in.number(one_byte);
  in.require(family <= static_cast<std::uint64_t>(statistics::NoiseFamily::pure));
  const auto scale = std::bit_cast<double>(in.number(eight_bytes));
  in.require(std::isfinite(scale) && scale > 0);
  std::optional<data::UnitKey> key;
  if (read_flag(in)) key = read_bytes<data::UnitKey>(in);
  const bool not_private = read_flag(in);
  std::optional<std::uint64_t> replay_seed;
  if (read_flag(in)) replay_seed = in.number(eight_bytes);
  in.require(not_private || !replay_seed);
  const auto plan = in.text(static_cast<std::size_t>(in.number(four_bytes)));
  in.finish();
  Ticket ticket{.number = number,
                .parts = parts,
                .plan = read_release_plan(plan).plan,
                .family = static_cast<statistics::NoiseFamily>(family),
                .scale = scale,
                .key = key,
                .not_private = not_private,
                .replay_seed = replay_seed};
  in.require(ticket.key.has_value() != ticket.plan.unit.is_row());
  return ticket;
}

std::string ledger_mark(const TicketNumber& number) { return "ticket " + hexadecimal(number); }

}  // namespace surety::jobs
