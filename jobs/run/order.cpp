#include <surety/jobs/run/order.h>

#include <exception>

#include <surety/base/numbers/limit.h>

namespace surety::jobs {

void RunSteps::not_settled(const accounting::Reservation& /*reservation*/, const Error& error, bool /*was_told*/) { throw error; }

void run_in_order(RunSteps& steps) {
  const auto charge = steps.calibrate();
  steps.ask(charge);
  steps.seed();
  steps.read();
  steps.take_place();
  auto reservation = steps.reserve(charge);
  Limit::lift();  // what is charged is released, however long that takes
  steps.release(reservation);
  steps.write(reservation);
  std::exception_ptr lost;
  try {
    steps.report(reservation);
  } catch (...) {
    lost = std::current_exception();
  }
  try {
    reservation.settle(accounting::Stopping::data_independent);
  } catch (const Error& error) {
    return steps.not_settled(reservation, error, lost == nullptr);
  }
  if (lost) std::rethrow_exception(lost);
}

}  // namespace surety::jobs
