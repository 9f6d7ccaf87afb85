// Records of text as a record file, asked for by a program. That trainings on it are the same to the last bit, cli/convert_test says.
#include <surety/jobs/convert/record_file_job.h>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include <surety/data/features/features.h>

#include <support/refusal.h>
#include <support/temporary_folder.h>

namespace surety::record_file_job_test {
namespace {

class RecordFileJob : public ::testing::Test {
 protected:
  [[nodiscard]] jobs::TrainingSource source() const {
    return {.path = table_.string(), .label = data::parse_label_rule("y>1"), .inputs = data::CsvOptions{.drop = {"who"}}};
  }

  TemporaryFolder folder_;
  std::filesystem::path table_ = folder_.write("table.csv", "who,x,y\na,0.25,3\nb,,0\nc,-0.5,0\n");
  std::filesystem::path output_ = folder_ / "table.records";
};

TEST_F(RecordFileJob, HoldsFeaturesAndLabelsAndSaysWhatItCounted) {
  const auto converted = jobs::convert(source(), output_, Overwrite::own_kind_alone);
  EXPECT_EQ(converted.records, 3U);
  EXPECT_EQ(converted.damaged, 1U) << "one cell is missing";
  const data::RecordFile file{output_};
  EXPECT_EQ(file.size(), 3U);
  EXPECT_EQ(file.features(), converted.features);
  std::vector<double> numbers;
  file.read_block(0, numbers);
  ASSERT_EQ(numbers.size(), 3 * (converted.features + 1));
  const auto label = [&](std::size_t record) { return numbers[(record + 1) * (converted.features + 1) - 1]; };
  EXPECT_EQ(label(0), 1);
  EXPECT_TRUE(std::isnan(label(1)));
  EXPECT_EQ(label(2), -1);
}

TEST_F(RecordFileJob, TakesThePlaceOfItsOwnKindAlone) {
  static_cast<void>(jobs::convert(source(), output_, Overwrite::own_kind_alone));
  EXPECT_EQ(jobs::convert(source(), output_, Overwrite::own_kind_alone).records, 3U);
  const auto other = folder_.write("notes.txt", "of somebody");
  EXPECT_TRUE(refuses([&] { static_cast<void>(jobs::convert(source(), other, Overwrite::own_kind_alone)); }, ErrorCode::invalid_argument,
                      {"does not hold a record file"}));
}

}  // namespace
}  // namespace surety::record_file_job_test
