#include <surety/mechanisms/bits/openssl_memory.h>

#include <openssl/crypto.h>

#include <cstddef>

#include <surety/base/system/memory_reserve.h>

namespace surety::mechanisms {
namespace {

extern "C" {

void* allocate_for_openssl(std::size_t size, const char* /*file*/, int /*line*/) { return size == 0 ? nullptr : allocate_or_reserve(size); }

void* reallocate_for_openssl(void* memory, std::size_t size, const char* /*file*/, int /*line*/) {
  if (size > 0) return reallocate_or_reserve(memory, size);
  free_or_give_back(memory);
  return nullptr;
}

void free_for_openssl(void* memory, const char* /*file*/, int /*line*/) { free_or_give_back(memory); }
}

}  // namespace

bool let_openssl_use_memory_reserve() noexcept {
  return CRYPTO_set_mem_functions(allocate_for_openssl, reallocate_for_openssl, free_for_openssl) == 1;
}

}  // namespace surety::mechanisms
