// What test files include, read once, and the instances of RapidCheck's templates that most properties need, compiled once (support/main.cpp).
#pragma once

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>

namespace rc {

extern template void detail::checkGTest(void (*&&)());
extern template class Gen<bool>;
extern template class Gen<int>;
extern template class Gen<std::int64_t>;
extern template class Gen<std::uint64_t>;
extern template class Gen<double>;
extern template Gen<int> gen::inRange(int, int);
extern template Gen<std::int64_t> gen::inRange(std::int64_t, std::int64_t);
extern template Gen<std::uint64_t> gen::inRange(std::uint64_t, std::uint64_t);

}  // namespace rc
