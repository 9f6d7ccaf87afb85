#include <surety/cli/ranks/ranks.h>

#include <dlfcn.h>
#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string_view>
#include <system_error>
#include <thread>

#include <surety/accounting/events/format.h>
#include <surety/base/text/error.h>
#include <surety/cli/print/failure.h>

namespace surety::cli {
namespace {

std::optional<std::size_t> number_in_environment(const char* name) {
  const char* const text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  const std::string_view digits{text};
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

[[noreturn]] void fail_to_start(const std::string& reason) {
  let_the_first_speak();
  throw Error{ErrorCode::environment, reason};
}

}  // namespace

std::optional<Launch> launched_by_mpirun() {
  for (const auto& [rank_name, size_name] :
       {std::pair{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, std::pair{"PMI_RANK", "PMI_SIZE"}}) {
    const auto rank = number_in_environment(rank_name);
    const auto size = number_in_environment(size_name);
    if (rank && size && *rank < *size) return Launch{*rank, *size};
  }
  return std::nullopt;
}

void let_the_first_speak() {
  const auto launch = launched_by_mpirun();
  if (launch && launch->rank > 0) std::this_thread::sleep_for(std::chrono::seconds{2});
}

void require_one_process() {
  const auto launch = launched_by_mpirun();
  if (!launch || launch->size == 1) return;
  let_the_first_speak();
  invalid(fmt::format("{} processes were started by mpirun, must be one: only some algorithms of train run on several", launch->size));
}

#ifdef SURETY_RANKS_MODULE
namespace {

/// The module beside the command, or where it is installed: by its absolute path, so that no search path has a say.
void* load_module() {
  std::error_code failure;
  const auto command = std::filesystem::read_symlink("/proc/self/exe", failure);
  if (failure) fail_to_start(fmt::format("the MPI module cannot be found: /proc/self/exe cannot be read ({})", failure.message()));
  const auto folder = command.parent_path();
  const auto beside = folder / SURETY_RANKS_MODULE;
  const auto installed = (folder / SURETY_RANKS_MODULE_WHEN_INSTALLED).lexically_normal();
  void* const module = dlopen((exists(beside, failure) ? beside : installed).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) fail_to_start(fmt::format("the MPI module cannot be loaded: {}", dlerror()));
  return module;
}

/// Ends the process unless it is destroyed in time.
class Watchdog {
 public:
  Watchdog(std::chrono::milliseconds timeout, std::size_t rank) : thread_{[this, timeout, rank] { watch(timeout, rank); }} {}
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog() {
    {
      const std::lock_guard lock{mutex_};
      is_over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

 private:
  void watch(std::chrono::milliseconds timeout, std::size_t rank) {
    // All that wait would say the same. The later a rank, the more time has an earlier one to speak, and mpirun to end all of them.
    const auto later = std::chrono::milliseconds{500} * std::min<std::size_t>(rank, 20);
    std::unique_lock lock{mutex_};
    if (changed_.wait_for(lock, timeout + later, [this] { return is_over_; })) return;
    fail(exit_code::environment,
         fmt::format("MPI has not started within {} s, must have: another process of the mpirun has ended or waits before it",
                     static_cast<double>(timeout.count()) / 1000));
    _exit(exit_code::environment);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace
#endif

std::unique_ptr<Ranks> start_ranks([[maybe_unused]] const Launch& launch, [[maybe_unused]] std::chrono::milliseconds timeout) {
#ifdef SURETY_RANKS_MODULE
  void* const module = load_module();
  const auto start = reinterpret_cast<RanksModuleFunction>(dlsym(module, ranks_module_function));
  if (start == nullptr) fail_to_start(fmt::format("the MPI module has no function {}", ranks_module_function));
  std::unique_ptr<Ranks> ranks;
  try {
    const Watchdog watchdog{timeout, launch.rank};
    ranks.reset(start());
  } catch (const std::exception& error) {
    fail_to_start(fmt::format("MPI does not start: {}", error.what()));
  }
  if (ranks->size() != launch.size || ranks->rank() != launch.rank) {
    fail_to_start(
        fmt::format("MPI says that this is process {} of {}, must be {} of {} as in the environment: was it another MPI's mpirun?",
                    ranks->rank(), ranks->size(), launch.rank, launch.size));
  }
  return ranks;
#else
  fail_to_start("mpirun started this process, must not: surety was built without MPI");
#endif
}

}  // namespace surety::cli
