// error: surety/mechanisms/bits/random_bits.h: No such file
// Accounting knows nothing of mechanisms.
#include <surety/accounting/events/event.h>
#include <surety/mechanisms/bits/random_bits.h>
