// Where this stood before: accounting/answers/risk.h.
#pragma once

#include <surety/accounting/answers/risk.h>
