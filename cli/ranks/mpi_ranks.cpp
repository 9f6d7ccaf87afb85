// The module that speaks MPI: all of Surety that is linked with it.
#include <mpi.h>

#include <sched.h>

#include <array>
#include <cstdlib>
#include <limits>
#include <list>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include <surety/cli/ranks/ranks.h>

namespace surety::cli {
namespace {

void check(int code, const char* function) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  const bool has_text = MPI_Error_string(code, text.data(), &length) == MPI_SUCCESS;
  throw std::runtime_error{std::string{function} + " fails: " + (has_text ? text.data() : "no reason is given")};
}

class MpiRanks final : public Ranks {
 public:
  MpiRanks() {
    check(MPI_Init(nullptr, nullptr), "MPI_Init");
    check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
    check(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
  }

  [[nodiscard]] std::size_t rank() const override { return static_cast<std::size_t>(rank_); }
  [[nodiscard]] std::size_t size() const override { return static_cast<std::size_t>(size_); }

  void send(std::size_t to, Words words) override {
    forget_what_was_sent();
    if (words.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
      throw std::runtime_error{"a message is longer than MPI takes"};
    auto& sending = sending_.emplace_back(MPI_REQUEST_NULL, std::move(words));
    check(MPI_Isend(sending.second.data(), static_cast<int>(sending.second.size()), MPI_UINT64_T, static_cast<int>(to), tag, MPI_COMM_WORLD,
                    &sending.first),
          "MPI_Isend");
  }

  // MPI itself waits by asking without end, and there may be more ranks than processors: so give way, and soon sleep between questions.
  [[nodiscard]] std::optional<Message> receive(Clock::time_point deadline) override {
    constexpr int impatient_questions = 2000;
    for (int asked = 0;; ++asked) {
      int is_there = 0;
      MPI_Status status;
      check(MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &is_there, &status), "MPI_Iprobe");
      if (is_there != 0) {
        int count = 0;
        check(MPI_Get_count(&status, MPI_UINT64_T, &count), "MPI_Get_count");
        Message message{static_cast<std::size_t>(status.MPI_SOURCE), Words(static_cast<std::size_t>(count))};
        check(MPI_Recv(message.words.data(), count, MPI_UINT64_T, status.MPI_SOURCE, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE), "MPI_Recv");
        return message;
      }
      forget_what_was_sent();
      if (Clock::now() >= deadline) return std::nullopt;
      if (asked < impatient_questions) {
        sched_yield();
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds{50});
      }
    }
  }

  void finish() override {
    for (auto& [request, words] : sending_) check(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
    sending_.clear();
    check(MPI_Finalize(), "MPI_Finalize");
  }

  [[noreturn]] void abort(int code) override {
    MPI_Abort(MPI_COMM_WORLD, code);
    std::_Exit(code);
  }

 private:
  static constexpr int tag = 0;

  /// MPI needs the words of a message until it is on its way.
  void forget_what_was_sent() {
    sending_.remove_if([](auto& sending) {
      int is_sent = 0;
      check(MPI_Test(&sending.first, &is_sent, MPI_STATUS_IGNORE), "MPI_Test");
      return is_sent != 0;
    });
  }

  int rank_ = 0;
  int size_ = 0;
  std::list<std::pair<MPI_Request, Words>> sending_;
};

}  // namespace
}  // namespace surety::cli

extern "C" __attribute__((visibility("default"))) surety::cli::Ranks* surety_start_ranks() { return new surety::cli::MpiRanks; }
