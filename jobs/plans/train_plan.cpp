#include <surety/jobs/plans/train_plan.h>

#include <surety/jobs/plans/plan_error.h>

namespace surety::jobs {

data::ArrowStream GivenRows::take() {
  if (!rows_) refuse_plan("the data are an Arrow stream that was read already, must be given anew");
  auto taken = std::move(*rows_);
  rows_.reset();
  return taken;
}

}  // namespace surety::jobs
