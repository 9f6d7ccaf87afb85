// The tuning accountant. For use outside this room: it includes what is said of it elsewhere.
#pragma once

#include <surety/accounting/accountants/asked.h>
#include <surety/accounting/accountants/tuning/tuning.h>
