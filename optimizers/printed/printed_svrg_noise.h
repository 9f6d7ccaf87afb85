// Why the noise that the paper prints for DP-SVRG is refused.
#pragma once

#include <surety/accounting/events/units.h>

namespace surety::optimizers {

/// For whoever is asked for the noise of the paper: in `steps` batches of one record each record is drawn with a probability that no
/// constant of the formula changes, and one that is drawn is known almost surely (docs/proofs/svrg.md#printed). \throws
/// Error{unsupported}, always, with that probability.
[[noreturn]] void refuse_printed_svrg_noise(Count records, Count steps);

}  // namespace surety::optimizers
