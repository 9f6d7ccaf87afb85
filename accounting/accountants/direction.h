// Where this stood before: accounting/laws/given/direction.h.
#pragma once

#include <surety/accounting/laws/given/direction.h>
