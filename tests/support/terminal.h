// A terminal that a test gives to the command.
#pragma once

#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace surety_test {

/// What a process shows on a terminal of `columns` columns.
class ShownTerminal {
 public:
  explicit ShownTerminal(unsigned short columns = 80) : main_{posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK)} {
    if (main_ < 0 || grantpt(main_) != 0 || unlockpt(main_) != 0) throw std::runtime_error{"no terminal"};
    name_ = ptsname(main_);
    other_ = open(name_.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC);
    const winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    termios settings{};
    // As it was written: no carriage return is put before the end of a line.
    if (tcgetattr(other_, &settings) != 0) throw std::runtime_error{"no terminal"};
    settings.c_oflag &= ~static_cast<tcflag_t>(OPOST);
    if (tcsetattr(other_, TCSANOW, &settings) != 0 || ioctl(other_, TIOCSWINSZ, &size) != 0) throw std::runtime_error{"no terminal"};
  }
  ShownTerminal(const ShownTerminal&) = delete;
  ShownTerminal& operator=(const ShownTerminal&) = delete;
  ~ShownTerminal() {
    close(other_);
    close(main_);
  }
  [[nodiscard]] const char* name() const { return name_.c_str(); }
  /// All that was shown since the last call, as far as it fits into the terminal's buffer of 4096 bytes.
  [[nodiscard]] std::string shown() const {
    std::string all;
    std::array<char, 4096> buffer{};
    for (ssize_t count = 0; (count = read(main_, buffer.data(), buffer.size())) > 0;)
      all.append(buffer.data(), static_cast<std::size_t>(count));
    return all;
  }

 private:
  int main_;
  int other_ = -1;
  std::string name_;
};

}  // namespace surety_test
