// Where this stood before: accounting/answers/tradeoff.h.
#pragma once

#include <surety/accounting/answers/tradeoff.h>
