// Where this stood before: accounting/accountants/composition/composition.h.
#pragma once

#include <surety/accounting/accountants/composition/composition.h>
