// error: could not convert .* to .*Epsilon
// An epsilon and a delta are different types: arguments cannot be swapped.
#include <surety/accounting/events/units.h>

const surety::Target target{.epsilon = surety::Delta{1e-5}, .delta = surety::Delta{1e-5}, .adjacency = surety::Adjacency::zero_out};
