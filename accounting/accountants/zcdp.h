// Where this stood before: accounting/accountants/zcdp/zcdp.h.
#pragma once

#include <surety/accounting/accountants/zcdp/zcdp.h>
