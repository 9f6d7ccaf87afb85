// Where this stood before: accounting/accountants/closed_form/closed_form.h.
#pragma once

#include <surety/accounting/accountants/closed_form/closed_form.h>
