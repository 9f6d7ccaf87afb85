// error: cannot convert .*HingeLoss.* to .*ConvexObjectiveRef
// A step along a gradient that jumps has no Lipschitz constant.
#include <surety/optimizers/doors/last_iterate_releaser.h>
#include <surety/optimizers/problem/loss.h>

using namespace surety::optimizers;

void descend(const surety::optimizers::Dataset& data, const LastIterateDescent& descent, LastIterateReleaser& releaser) {
  (void)releaser.release(data, LogisticLoss{}, descent);
  (void)releaser.release(data, HingeLoss{}, descent);
}
