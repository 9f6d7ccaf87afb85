// error: no match for .*operator/.*Lower
// What divides a lower bound must be an upper one.
#include <surety/base/numbers/bound.h>

const surety::Lower quotient = surety::Lower{2} / surety::Lower{1};
