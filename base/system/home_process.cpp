#include <surety/base/system/home_process.h>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <new>

#include <surety/base/text/error.h>

namespace surety {
namespace {

using Mark = std::atomic<std::uint64_t>;
static_assert(Mark::is_always_lock_free, "a mark is read in a copy of a process whose threads are gone");

/// The page of this process and its descendants, or nothing where the kernel does not wipe.
Mark* make_page() {
#ifdef MADV_WIPEONFORK
  // The kernel rounds a mapping and advice about it up to whole pages.
  constexpr std::size_t length = sizeof(Mark);
  void* const page = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return nullptr;
  if (madvise(page, length, MADV_WIPEONFORK) == 0) return new (page) Mark{0};
  munmap(page, length);
#endif
  return nullptr;
}

/// The number at `page`, which is set when the first object of a process is made. Numbers grow from ancestor to descendant, so no process
/// has that of an ancestor. Without a lock: a thread that held one would not exist in the copy.
std::uint64_t mark_of_this_process(Mark& page) {
  static std::atomic<std::uint64_t> last{0};
  std::uint64_t mark = page.load();
  if (mark != 0) return mark;
  const std::uint64_t fresh = last.fetch_add(1) + 1;
  return page.compare_exchange_strong(mark, fresh) ? fresh : mark;
}

}  // namespace

HomeProcess::HomeProcess(Method preferred) {
  static Mark* const page = make_page();
  if (preferred == Method::process_id || page == nullptr) {
    mark_ = static_cast<std::uint64_t>(getpid());
  } else {
    page_ = page;
    mark_ = mark_of_this_process(*page);
  }
}

bool HomeProcess::has_same_process_id() const noexcept { return static_cast<std::uint64_t>(getpid()) == mark_; }

void HomeProcess::refuse(std::string_view what) {
  throw Error{ErrorCode::invalid_argument, fmt::format("{} was made in another process, must be made anew after a fork", what)};
}

}  // namespace surety
