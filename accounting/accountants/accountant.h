// Where this stood before: accounting/accountants/seam/accountant.h.
#pragma once

#include <surety/accounting/accountants/seam/accountant.h>
