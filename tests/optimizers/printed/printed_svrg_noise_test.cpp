#include <surety/optimizers/printed/printed_svrg_noise.h>

#include <gtest/gtest.h>

#include <support/refusal.h>

namespace surety::optimizers::printed_svrg_noise_test {
namespace {

TEST(PrintedSvrgNoise, IsRefusedWithHowProbablyARecordIsDrawn) {
  // The figure of 75,000 steps over 200,000 records.
  EXPECT_TRUE(refuses([] { refuse_printed_svrg_noise(Count{200'000}, Count{75'000}); }, ErrorCode::unsupported, {"0.313", "paper"}));
}

}  // namespace
}  // namespace surety::optimizers::printed_svrg_noise_test
