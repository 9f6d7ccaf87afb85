// error: #error Surety
// flags: -Ofast
// Where the compiler may assume that every number is finite, a sensitivity of infinity passes its check.
#include <surety/mechanisms/queries/sensitivity.h>

const surety::L2Sensitivity sensitivity{1};
