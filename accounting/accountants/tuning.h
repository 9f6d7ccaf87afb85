// Where this stood before: accounting/answers/asked.h.
#pragma once

#include <surety/accounting/answers/asked.h>
