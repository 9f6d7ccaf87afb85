// The memory of OpenSSL, which crashes or goes on without a part of itself where it gets none.
#pragma once

namespace surety::mechanisms {

/// Makes OpenSSL take its memory from the memory reserve where the system has none (base/system/memory_reserve.h), in all of the process. \return false
/// where OpenSSL has taken memory already: then nothing has changed.
[[nodiscard]] bool let_openssl_use_memory_reserve() noexcept;

}  // namespace surety::mechanisms
