// error: surety/optimizers/problem/loss.h: No such file
// Mechanisms know nothing of optimizers.
#include <surety/mechanisms/bits/random_bits.h>
#include <surety/optimizers/problem/loss.h>
