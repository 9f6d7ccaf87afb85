// What a release of private data costs, and the noise that meets a target: events, enclosures, accountants, calibration. Target: surety::accounting.
#pragma once

#include <surety/accounting/accountants/contour/contour.h>
#include <surety/accounting/answers/asked.h>
#include <surety/accounting/answers/best.h>
#include <surety/accounting/answers/group.h>
#include <surety/accounting/answers/risk.h>
#include <surety/accounting/answers/tabulated_curve.h>
#include <surety/accounting/answers/tradeoff.h>
#include <surety/accounting/calibration/best_cost.h>
#include <surety/accounting/calibration/calibrate.h>
#include <surety/accounting/calibration/judgement.h>
#include <surety/accounting/calibration/solve.h>
#include <surety/accounting/events/continual.h>
#include <surety/accounting/events/event.h>
#include <surety/accounting/events/event_kinds.h>
#include <surety/accounting/events/event_text.h>
#include <surety/accounting/events/points.h>
#include <surety/accounting/events/releases.h>
#include <surety/accounting/events/runs.h>
#include <surety/accounting/events/unit.h>
#include <surety/base/numbers/interval.h>
#include <surety/base/numbers/limit.h>
