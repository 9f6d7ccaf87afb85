#include <surety/accounting/ledger/run_locks.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include <surety/accounting/ledger/side_files.h>
#include <surety/accounting/ledger/store.h>
#include <surety/base/system/uninterrupted.h>
#include <surety/base/text/error.h>

namespace surety::accounting {
namespace {

/// A ledger's file as this process uses it.
struct FileUse {
  std::size_t objects = 0;
  int descriptor = -1;
  std::set<std::uint64_t> living = {};  ///< here: locks of one descriptor do not exclude each other
};

/// All that this process knows. A copy of the process starts with nothing: the locks of the other are not its own.
struct Registry {
  explicit Registry(const Registry* /*inherited*/) {}
  std::mutex mutex;
  std::map<std::pair<dev_t, ino_t>, FileUse> files;
};

Registry& registry() { return one_of_this_process<Registry>(); }

struct flock byte_of(std::uint64_t run, short kind) {
  struct flock range {};
  range.l_type = kind;
  range.l_whence = SEEK_SET;
  range.l_start = (off_t{1} << 62) + static_cast<off_t>(run);
  range.l_len = 1;
  return range;
}

/// \throws Error{environment} unless it is the file that is locked.
int open_to_lock(const std::string& path, dev_t device, ino_t inode) {
  const int descriptor = open_safely(path, O_RDWR | O_NONBLOCK);
  if (descriptor < 0) refused_by_machine(path, "lock the ledger", errno);
  struct stat status {};
  // What was opened by mistake stays open: closing it could drop the locks of another copy of SQLite.
  if (::fstat(descriptor, &status) != 0) refused_by_machine(path, "lock the ledger", errno);
  if (status.st_dev != device || status.st_ino != inode) {
    throw Error{ErrorCode::environment, "cannot lock the ledger '" + one_line(path) + "': another file took its place while it was open"};
  }
  return descriptor;
}

}  // namespace

RunLocks::RunLocks(std::string path) : path_{std::move(path)} {
  auto& shared = registry();
  struct stat status {};
  if (::stat(path_.c_str(), &status) != 0) refused_by_machine(path_, "open the ledger", errno);
  device_ = status.st_dev;
  inode_ = status.st_ino;
  const std::lock_guard lock{shared.mutex};
  ++shared.files[{device_, inode_}].objects;
}

RunLocks::~RunLocks() {
  if (!home_.is_here()) return;
  auto& shared = registry();
  const std::lock_guard lock{shared.mutex};
  const auto found = shared.files.find({device_, inode_});
  if (--found->second.objects > 0) return;
  if (found->second.descriptor >= 0) ::close(found->second.descriptor);
  shared.files.erase(found);
}

bool RunLocks::hold(std::uint64_t run) {
  auto& shared = registry();
  const std::lock_guard lock{shared.mutex};
  auto& use = shared.files.at({device_, inode_});
  if (use.living.contains(run)) return false;
  if (use.descriptor < 0) use.descriptor = open_to_lock(path_, device_, inode_);
  auto range = byte_of(run, F_WRLCK);
  if (uninterrupted([&] { return ::fcntl(use.descriptor, F_OFD_SETLK, &range); }) != 0) {
    if (errno == EAGAIN || errno == EACCES) return false;
    refused_by_machine(path_, "lock the ledger", errno);
  }
  use.living.insert(run);
  return true;
}

void RunLocks::release(std::uint64_t run) noexcept {
  auto& shared = registry();
  const std::lock_guard lock{shared.mutex};
  auto& use = shared.files.at({device_, inode_});
  use.living.erase(run);
  auto range = byte_of(run, F_UNLCK);
  static_cast<void>(uninterrupted([&] { return ::fcntl(use.descriptor, F_OFD_SETLK, &range); }));
}

void RunLocks::show_change(const timespec& time) noexcept {
  auto& shared = registry();
  const std::lock_guard lock{shared.mutex};
  const std::array<timespec, 2> of_access_and_change{time, time};
  static_cast<void>(::futimens(shared.files.at({device_, inode_}).descriptor, of_access_and_change.data()));
}

}  // namespace surety::accounting
