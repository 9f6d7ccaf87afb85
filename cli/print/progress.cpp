#include <surety/cli/print/progress.h>

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include <surety/base/text/safe_text.h>

namespace surety::cli {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

class Progress {
 public:
  void begin(bool is_asked) {
    end();
    is_on_terminal_ = ::isatty(STDERR_FILENO) != 0;
    is_shown_ = is_asked || is_on_terminal_;
    if (!is_shown_) return;
    begun_ = Clock::now();
    first_ = begun_ + (is_asked && is_on_terminal_ ? 0s : 2s);
    ticker_ = std::jthread{[this](const std::stop_token& stop) { tick(stop); }};
  }

  [[nodiscard]] bool is_shown() const { return is_shown_; }

  void say(std::string_view state) {
    const std::lock_guard lock{mutex_};
    if (!is_shown_ || !is_on_terminal_ || Clock::now() < first_) return;
    if (state.empty()) return wipe_line();
    show(fmt::format("surety: {}", one_line(state)));
  }

  void stop_clock() {
    if (!ticker_.joinable()) return;
    ticker_.request_stop();
    ticker_.join();
    ticker_ = {};
    wipe();
  }

  void wipe() {
    const std::lock_guard lock{mutex_};
    wipe_line();
  }

  void end() {
    stop_clock();
    wipe();
    is_shown_ = false;
  }

 private:
  void tick(const std::stop_token& stop) {
    std::unique_lock lock{mutex_};
    auto next = begun_ + 2s;
    while (!stop.stop_requested()) {
      if (changed_.wait_until(lock, stop, next, [&stop] { return stop.stop_requested(); })) return;
      const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begun_).count();
      show(fmt::format("surety: working, {} s", seconds));
      next = Clock::now() + (is_on_terminal_ ? 1s : 10s);
    }
  }

  /// \pre the lock is held
  void show(const std::string& line) {
    if (!is_on_terminal_) {
      std::fputs((line + "\n").c_str(), stderr);
    } else {
      std::fputs(fmt::format("\r{:{}}", line, width_).c_str(), stderr);
      width_ = line.size();
    }
    std::fflush(stderr);
  }

  void wipe_line() {
    if (width_ == 0) return;
    std::fputs(fmt::format("\r{:{}}\r", "", width_).c_str(), stderr);
    std::fflush(stderr);
    width_ = 0;
  }

  bool is_on_terminal_ = false;
  bool is_shown_ = false;
  Clock::time_point begun_;
  Clock::time_point first_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::size_t width_ = 0;  ///< of the line that is on the terminal; 0 without one
  std::jthread ticker_;
};

Progress& progress() {
  static Progress one;
  return one;
}

}  // namespace

void begin_progress(bool is_asked) {
  try {
    progress().begin(is_asked);
  } catch (const std::exception&) {  // without a thread there is no progress, which is no reason to stop
  }
}

bool shows_progress() { return progress().is_shown(); }

void say_progress(std::string_view state) noexcept {
  try {
    progress().say(state);
  } catch (...) {  // a terminal that went away is no reason to stop
  }
}

void stop_progress_clock() noexcept {
  try {
    progress().stop_clock();
  } catch (...) {
  }
}

void end_progress() noexcept {
  try {
    progress().end();
  } catch (...) {
  }
}

void wipe_progress() noexcept {
  try {
    progress().wipe();
  } catch (...) {
  }
}

}  // namespace surety::cli
