#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>

namespace rc {

template void detail::checkGTest(void (*&&)());
template class Gen<bool>;
template class Gen<int>;
template class Gen<std::int64_t>;
template class Gen<std::uint64_t>;
template class Gen<double>;
template Gen<int> gen::inRange(int, int);
template Gen<std::int64_t> gen::inRange(std::int64_t, std::int64_t);
template Gen<std::uint64_t> gen::inRange(std::uint64_t, std::uint64_t);

}  // namespace rc

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
