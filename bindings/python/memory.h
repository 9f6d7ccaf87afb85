// Memory that runs out within GMP, MPFR and OpenSSL, which would abort the interpreter.
#pragma once

namespace surety::python {

/// Lets the GMP and the OpenSSL that lie beside this module, as in a wheel, take memory from a reserve where the system has none. Libraries from elsewhere
/// may be the host's too, and are left as they are. \pre once, at import
void keep_memory_for_own_libraries();

}  // namespace surety::python
