// error: surety/optimizers/problem/loss.h: No such file
// Accounting knows nothing of optimizers.
#include <surety/accounting/events/event.h>
#include <surety/optimizers/problem/loss.h>
