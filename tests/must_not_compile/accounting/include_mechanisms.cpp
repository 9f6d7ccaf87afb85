// error: surety/mechanisms/random_bits.h: No such file
// Accounting knows nothing of mechanisms.
#include <surety/accounting/event.h>
#include <surety/mechanisms/random_bits.h>
