#include <surety/base/system/processor.h>

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

namespace surety::processor_test {
namespace {

TEST(Processor, IsNamedAsTheKernelNamesIt) {
  std::ifstream file{"/proc/cpuinfo"};
  const std::string all{std::istreambuf_iterator<char>{file}, {}};
  const std::string name = processor_name();
  EXPECT_EQ(name.empty(), all.find("model name") == std::string::npos);
  EXPECT_EQ(name.find('\n'), std::string::npos);
  if (!name.empty()) {
    EXPECT_NE(all.find(": " + name + "\n"), std::string::npos) << name;
  }
}

TEST(Processor, HasAGovernorOfOneWordOrNone) { EXPECT_EQ(frequency_governor().find_first_of(" \n"), std::string::npos); }

}  // namespace
}  // namespace surety::processor_test
