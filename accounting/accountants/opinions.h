// The accountants that are asked, and the answers that come of it. For use outside this room: it includes what is said of it elsewhere.
#pragma once

#include <surety/accounting/accountants/asked.h>
