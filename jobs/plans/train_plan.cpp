#include <surety/jobs/plans/train_plan.h>

#include <surety/jobs/plans/plan_error.h>

namespace surety::jobs {

GivenRows::Rows GivenRows::take() {
  if (!rows_) refuse("must be given anew: it was read already");
  auto taken = std::move(*rows_);
  rows_.reset();
  return taken;
}

void GivenRows::refuse(std::string_view must) const {
  refuse_plan("the data are {} {}, {}", std::string_view{name_}.starts_with('A') ? "an" : "a", name_, must);
}

}  // namespace surety::jobs
