// The ticket of a release in parts: all that its parts must agree on before any row is read.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <surety/data/units/unit_selection.h>
#include <surety/jobs/release/release_plan.h>
#include <surety/statistics/parts.h>

namespace surety::jobs {

/// Public, and another one for each ticket: 128 bits of the operating system.
using TicketNumber = std::array<unsigned char, 16>;

inline constexpr std::uint32_t most_parts = std::uint32_t{1} << 20;

struct Ticket {
  TicketNumber number;
  std::uint32_t parts;
  ReleasePlan plan;
  statistics::NoiseFamily family;
  double scale;                                   ///< common to all queries
  std::optional<data::UnitKey> key;               ///< by which rows of a unit are kept; nothing where the unit is one row. Secret
  bool not_private = false;                       ///< the key was of a replay, or there is a seed
  std::optional<std::uint64_t> replay_seed = {};  ///< of the bits of the key and of the noise behind it, where these are replayed
};

/// \throws Error{unsupported} as `plan_text`; Error{environment} where OpenSSL fails.
[[nodiscard]] std::string ticket_bytes(const Ticket& ticket);
/// \throws Error{bad_data} for what is no ticket, is cut short, was changed, or was made by another version of Surety.
[[nodiscard]] Ticket read_ticket(std::string_view bytes);

/// The end of a ledger's note, without brackets: "ticket 0123...".
[[nodiscard]] std::string ledger_mark(const TicketNumber& number);

}  // namespace surety::jobs
