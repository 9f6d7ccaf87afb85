// error: no match for .*operator-.*Upper
// What is taken off an upper bound must be a lower one.
#include <surety/base/numbers/bound.h>

const surety::Upper difference = surety::Upper{2} - surety::Upper{1};
