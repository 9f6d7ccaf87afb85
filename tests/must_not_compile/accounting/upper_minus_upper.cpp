// error: no match for .*operator-.*Upper
// What is taken off an upper bound must be a lower one.
#include <surety/base/numbers/bound.h>

const surety::accounting::Upper difference = surety::accounting::Upper{2} - surety::accounting::Upper{1};
