#include <surety/jobs/train/train_steps.h>

namespace surety::jobs {
namespace {

class StepsWithLedger final : public TrainSteps {
 public:
  StepsWithLedger(TrainJob& job, accounting::Ledger& ledger, RunBits& bits, const std::string& note)
      : TrainSteps{job, bits, note}, ledger_{ledger} {}

  void ask(const accounting::Plan& charge) override { ledger_.check(charge); }
  accounting::Reservation reserve(const accounting::Plan& charge) override { return ledger_.reserve(charge); }

 private:
  accounting::Ledger& ledger_;
};

}  // namespace

TrainedModel run(TrainJob job, accounting::Ledger& ledger, RunBits& bits, const std::string& note) {
  return StepsWithLedger{job, ledger, bits, note}.trained();
}

}  // namespace surety::jobs
