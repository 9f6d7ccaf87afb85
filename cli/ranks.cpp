#include "ranks.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <exception>
#include <string_view>
#include <thread>

#include <surety/accounting/error.h>

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

[[noreturn]] void refuse(const std::string& reason) {
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

std::unique_ptr<Ranks> start_ranks([[maybe_unused]] const Launch& launch) {
#ifdef SURETY_RANKS_MODULE
  // The command's own search path says where the module is, in the build folder and when installed.
  void* const module = dlopen(SURETY_RANKS_MODULE, RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) refuse(fmt::format("the MPI module cannot be loaded: {}", dlerror()));
  const auto start = reinterpret_cast<RanksModuleFunction>(dlsym(module, ranks_module_function));
  if (start == nullptr) refuse(fmt::format("the MPI module has no function {}", ranks_module_function));
  std::unique_ptr<Ranks> ranks;
  try {
    ranks.reset(start());
  } catch (const std::exception& error) {
    refuse(fmt::format("MPI does not start: {}", error.what()));
  }
  if (ranks->size() != launch.size || ranks->rank() != launch.rank) {
    refuse(fmt::format("MPI says that this is process {} of {}, must be {} of {} as in the environment: was it another MPI's mpirun?",
                       ranks->rank(), ranks->size(), launch.rank, launch.size));
  }
  return ranks;
#else
  refuse("mpirun started this process, must not: surety was built without MPI");
#endif
}

}  // namespace surety::cli
