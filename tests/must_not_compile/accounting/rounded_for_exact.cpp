// error: no match for .*operator\*.*Upper.*double
// A floating-point number may be rounded: who takes it for exact says so.
#include <surety/base/numbers/bound.h>

const surety::Upper product = surety::Upper{2} * 0.1;
