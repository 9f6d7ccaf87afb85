// error: no match for .*operator/.*Lower
// What divides a lower bound must be an upper one.
#include <surety/base/numbers/bound.h>

const surety::accounting::Lower quotient = surety::accounting::Lower{2} / surety::accounting::Lower{1};
