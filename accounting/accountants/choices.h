// Where this stood before: accounting/accountants/choices/choices.h.
#pragma once

#include <surety/accounting/accountants/choices/choices.h>
