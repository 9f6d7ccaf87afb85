// Doors that are NOT private, for the tests of a program that trains by doors of its own making: they answer what a script says and log what they were
// asked, or give the value itself. Target: surety::testing, which is installed by those alone who ask for it (cmake --install ... --component testing).
#pragma once

#include <surety/testing/epoch_releaser.h>
#include <surety/testing/learner_releaser.h>
#include <surety/testing/perturbing_releaser.h>
#include <surety/testing/releaser.h>
#include <surety/testing/sampling_releaser.h>
#include <surety/testing/selector.h>
#include <surety/testing/stream.h>
