// Where this stood before: accounting/answers/group.h.
#pragma once

#include <surety/accounting/answers/group.h>
