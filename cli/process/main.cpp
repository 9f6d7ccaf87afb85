// surety: calibrate, account, curve, release, convert, train, predict, noise, simulate, audit, ledger. The process; the command is run.cpp.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include <surety/base/system/new_file.h>
#include <surety/cli/process/exhaustion.h>
#include <surety/cli/process/run.h>

namespace {

/// Makes descriptors 0 to 2 exist. A file opened later would otherwise become, say, standard error, and receive its text. What is
/// put in their place refuses to be used, so that lost output is noticed.
void claim_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) == -1) static_cast<void>(open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY));
  }
}

}  // namespace

int main(int argc, char** argv) {
  // A file size limit is to be an error of the write, not the end of the process.
  std::signal(SIGXFSZ, SIG_IGN);
  claim_standard_descriptors();
  surety::cli::end_in_a_line_where_memory_runs_out();
  surety::remove_new_files_on_signals();
  return surety::cli::run_command({argv + std::min(argc, 1), argv + argc});
}
