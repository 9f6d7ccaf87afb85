// Small texts in files: plans, schemas, logs.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace surety::jobs {

/// The whole of a small text. \throws Error{bad_data} naming the file, when it cannot be read or has more than `most` bytes, which is too much
/// for `what`: "a plan".
[[nodiscard]] std::string read_text(const std::string& file, std::size_t most, std::string_view what);

}  // namespace surety::jobs
