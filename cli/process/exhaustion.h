// What becomes of the process where memory runs out and nothing can be thrown.
#pragma once

namespace surety::cli {

/// From now on a process whose memory runs out within GMP and MPFR, which would abort it, within OpenSSL, which would crash, or within a destructor
/// or a thread of its own, where an exception ends it, ends with the exit code of `environment` and the line "surety: error: memory is exhausted".
/// A charge stays; what was not flushed is not printed; no file in the making is left. For `main` alone, before the first use of any of them: a
/// library does not end its host.
void end_in_a_line_where_memory_runs_out();

}  // namespace surety::cli
