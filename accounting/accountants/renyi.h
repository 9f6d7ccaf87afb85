// Where this stood before: accounting/accountants/renyi/renyi.h.
#pragma once

#include <surety/accounting/accountants/renyi/renyi.h>
