// error: surety/accounting/ledger/ledger.h: No such file
// Mechanisms know nothing of the ledger, nor of what it is kept in.
#include <surety/accounting/ledger/ledger.h>
#include <surety/mechanisms/bits/random_bits.h>
