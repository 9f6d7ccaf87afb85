// What a call of C makes, held as long as something lives.
#pragma once

#include <surety.h>

#include <string>
#include <utility>

namespace surety_test {

/// A handle that is freed.
template <class Handle, void (*free)(Handle*)>
class Held {
 public:
  Held() = default;
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() { free(handle_); }
  operator Handle*() const { return handle_; }  // NOLINT(google-explicit-constructor): as C passes it
  Handle** operator&() {                        // NOLINT(google-runtime-operator): where one is made
    free(std::exchange(handle_, nullptr));
    return &handle_;
  }

 private:
  Handle* handle_ = nullptr;
};
using HeldFailure = Held<surety_failure, surety_failure_free>;
using HeldJob = Held<surety_job, surety_job_free>;
using HeldLedger = Held<surety_ledger, surety_ledger_free>;
using HeldModel = Held<surety_model, surety_model_free>;
using HeldResult = Held<surety_result, surety_result_free>;

/// A text that C made, which is freed.
[[nodiscard]] inline std::string taken(char* text) {
  std::string copy = text;
  surety_free(text);
  return copy;
}

}  // namespace surety_test
