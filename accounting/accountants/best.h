// Where this stood before: accounting/answers/best.h.
#pragma once

#include <surety/accounting/answers/best.h>
