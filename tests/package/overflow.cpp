// Built with the flags of what users run. Writes behind memory whose size is known only at run time: with them the process ends there.

#include <cstdio>
#include <cstdlib>
#include <cstring>

#if defined(__x86_64__) && !defined(__CET__)
#error "indirect jumps are not protected"
#endif

int main(int count, char** arguments) {
  // As many bytes as there are arguments, which is one; the name of a program is longer.
  auto* const memory = static_cast<char*>(std::malloc(static_cast<std::size_t>(count)));
  std::memcpy(memory, arguments[0], std::strlen(arguments[0]));
  std::printf("wrote behind %d bytes: %.3s\n", count, memory);
  std::free(memory);
  return 0;
}
