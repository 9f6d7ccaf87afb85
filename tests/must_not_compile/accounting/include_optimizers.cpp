// error: surety/optimizers/loss.h: No such file
// Accounting knows nothing of optimizers.
#include <surety/accounting/event.h>
#include <surety/optimizers/loss.h>
