// An answer of the wanted width: the compositions that it takes, each computed at finer and finer steps until it is as narrow as wanted or no
// longer counts.
#pragma once

#include <surety/accounting/accountants/pld/settings.h>
#include <surety/accounting/accountants/pld/task.h>
#include <surety/accounting/events/event.h>
#include <surety/accounting/laws/given/curves.h>
#include <surety/base/numbers/enclosure.h>

namespace surety::accounting::pld {

/// Encloses what is asked of an event by both directions. \throws Error{unsupported} as both_directions; Error{memory}.
[[nodiscard]] Enclosure answer(const Pld& accountant, const Event& event, const Given& question, const LeafCurves& others);

}  // namespace surety::accounting::pld
