// error: surety/testing/releaser.h: No such file
// Who links optimizers alone has no releaser that is not private.
#include <surety/optimizers/doors/run.h>
#include <surety/testing/releaser.h>
