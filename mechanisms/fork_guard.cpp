#include <surety/mechanisms/fork_guard.h>

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>

namespace surety::mechanisms {
namespace {

// The kernel rounds a mapping and advice about it up to whole pages.
constexpr std::size_t length = 1;

}  // namespace

ForkGuard::ForkGuard(Method preferred) : process_id_{getpid()} {
  if (preferred == Method::process_id) return;
#ifdef MADV_WIPEONFORK
  void* const page = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return;
  if (madvise(page, length, MADV_WIPEONFORK) != 0) {
    munmap(page, length);
    return;
  }
  page_ = static_cast<volatile unsigned char*>(page);
  *page_ = 1;
#endif
}

ForkGuard::~ForkGuard() {
  if (page_ != nullptr) munmap(const_cast<unsigned char*>(page_), length);
}

bool ForkGuard::process_id_changed() noexcept {
  const pid_t now = getpid();
  if (now == process_id_) return false;
  process_id_ = now;
  return true;
}

}  // namespace surety::mechanisms
