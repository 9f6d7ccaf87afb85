// Whether the libraries run under a sanitizer. A test asks when it runs, since it may be compiled without (SURETY_NOT_SANITIZED in CMakePresets.json).
#pragma once

extern "C" {
void __asan_init() __attribute__((weak));
void __tsan_init() __attribute__((weak));
}

namespace surety_test {

inline const bool sanitized = __asan_init != nullptr || __tsan_init != nullptr;

}  // namespace surety_test
