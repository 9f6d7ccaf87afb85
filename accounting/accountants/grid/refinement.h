// An answer of the wanted width: the compositions that it takes, each computed at finer and finer steps until it is as narrow as wanted or no
// longer counts.
#pragma once

#include <surety/accounting/accountants/grid/settings.h>
#include <surety/accounting/accountants/grid/task.h>
#include <surety/accounting/events/event.h>
#include <surety/accounting/laws/given/curves.h>
#include <surety/base/numbers/enclosure.h>

namespace surety::accounting::privacy_loss {

/// Encloses what is asked of an event by both directions. \throws Error{unsupported} as both_directions; Error{memory}.
[[nodiscard]] Enclosure answer(const PrivacyLoss& accountant, const Event& event, const Given& question, const LeafCurves& others);

}  // namespace surety::accounting::privacy_loss
