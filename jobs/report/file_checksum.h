// The SHA-256 of a file, as `sha256sum` prints it.
#pragma once

#include <filesystem>
#include <string>

namespace surety::jobs {

/// 64 hexadecimal digits. Closing the file drops POSIX locks that another copy of SQLite in this process has on it (accounting/ledger/file_locks.h); locks
/// of Surety's own ledgers stay.
/// \throws Error{environment} where the file cannot be read. \complexity one reading of the file, in blocks
[[nodiscard]] std::string sha256_of_file(const std::filesystem::path& path);

}  // namespace surety::jobs
