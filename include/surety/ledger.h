// What was spent, and what may still be: the ledger, its reservations, filters and audits. Target: surety::ledger.
#pragma once

#include <surety/accounting/ledger/audit.h>
#include <surety/accounting/ledger/filter.h>
#include <surety/accounting/ledger/ledger.h>
#include <surety/accounting/ledger/run.h>
