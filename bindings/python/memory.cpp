#include "memory.h"

#include <dlfcn.h>
#include <gmp.h>
#include <openssl/crypto.h>
#include <unwind.h>

#include <filesystem>
#include <optional>

#include <surety/base/system/memory_reserve.h>
#include <surety/mechanisms/bits/openssl_memory.h>

namespace surety::python {
namespace {

/// The folder of the library that has this address.
std::optional<std::filesystem::path> folder_of(const void* address) {
  Dl_info found{};
  if (::dladdr(address, &found) == 0 || found.dli_fname == nullptr) return std::nullopt;
  std::error_code error;
  auto file = std::filesystem::canonical(found.dli_fname, error);
  if (error) return std::nullopt;
  return file.parent_path();
}

/// Whether this module alone uses the library of an address: it lies in the folder of the module, or where auditwheel puts it.
bool is_own(const void* address) {
  static const char here = 0;
  const auto own = folder_of(&here);
  const auto other = folder_of(address);
  return own && other && (*other == *own || *other == own->parent_path() / "surety_dp.libs");
}

/// What a walk through the calls of a thread has seen, the innermost first.
struct Calls {
  const void* module;
  bool has_left = false;
  bool is_within = false;
};

/// Whether a function of this module waits for what runs now: nanobind converts arguments, and destroys objects, where nothing can be thrown.
/// \pre called by a function of this module, which another library has called
bool is_within_module() noexcept {
  static const char here = 0;
  Dl_info own{};
  if (::dladdr(&here, &own) == 0) return false;
  Calls calls{.module = own.dli_fbase};
  _Unwind_Backtrace(
      [](_Unwind_Context* context, void* seen) {
        auto& found = *static_cast<Calls*>(seen);
        Dl_info info{};
        const auto* const address = reinterpret_cast<const void*>(_Unwind_GetIP(context));
        const bool is_ours = ::dladdr(address, &info) != 0 && info.dli_fbase == found.module;
        if (!is_ours) found.has_left = true;
        found.is_within = is_ours && found.has_left;
        return found.is_within ? _URC_END_OF_STACK : _URC_NO_REASON;
      },
      &calls);
  return calls.is_within;
}

}  // namespace

void keep_memory_for_own_libraries() {
  if (!is_own(reinterpret_cast<const void*>(&mp_set_memory_functions))) return;
  fill_memory_reserve();
  let_gmp_use_memory_reserve();
  end_watched_calls_where_memory_is_exhausted(is_within_module);
  if (is_own(reinterpret_cast<const void*>(&CRYPTO_set_mem_functions))) static_cast<void>(mechanisms::let_openssl_use_memory_reserve());
}

}  // namespace surety::python
