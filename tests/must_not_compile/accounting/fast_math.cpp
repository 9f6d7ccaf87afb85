// error: #error Surety
// flags: -ffast-math
// Where the compiler may assume that every number is finite, Epsilon{infinity} passes its check.
#include <surety/accounting/events/units.h>

const surety::Epsilon epsilon{1};
