// A program with libsurety.a in it, which loads libsurety.so as well, has a fmt and numbers of MPFR of its own, and functions whose names are
// those of Surety's insides. Prints "the same" where all copies say the same, each undisturbed by the others.
#include <dlfcn.h>
#include <fmt/core.h>
#include <mpfr.h>
#include <surety.h>

#include <cfenv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace surety {
class Event;
// Names that libsurety.a has within it: were they seen, the linker would refuse this program, or Surety would end it.
std::string describe(const Event& /*event*/) { std::abort(); }
std::string to_json_text(const Event& /*event*/) { std::abort(); }
void invalid(const std::string& /*message*/) { std::abort(); }
}  // namespace surety

namespace {

struct Copy {
  decltype(&surety_event_parse) parse;
  decltype(&surety_event_free) free;
  decltype(&surety_epsilon) epsilon;
  decltype(&surety_event_text) text;
  decltype(&surety_free) free_text;
};

template <class Function>
Function loaded(void* library, const char* name, Function /*like*/) {
  Function found = nullptr;
  void* const address = dlsym(library, name);
  std::memcpy(&found, &address, sizeof found);
  return found;
}

std::string answer(const Copy& copy) {
  static const char text[] = "repeat(1000, poisson(0.01, gaussian(1)))";
  surety_event* event = nullptr;
  surety_enclosure found{};
  const char* accountant = nullptr;
  char* described = nullptr;
  if (copy.parse(text, std::strlen(text), SURETY_ADD_OR_REMOVE_ONE, &event, nullptr) != SURETY_OK) return "no event";
  if (copy.epsilon(event, 1e-5, 0, &found, &accountant, nullptr) != SURETY_OK) return "no epsilon";
  if (copy.text(event, &described, nullptr, nullptr) != SURETY_OK) return "no text";
  const auto line = fmt::format("{:a} {:a} {} {}", found.lower, found.upper, accountant, described);
  copy.free_text(described);
  copy.free(event);
  return line;
}

}  // namespace

int main(int /*count*/, char** arguments) {
  const Copy own{surety_event_parse, surety_event_free, surety_epsilon, surety_event_text, surety_free};
  void* const library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::printf("%s\n", dlerror()), 1;
  const Copy other{loaded(library, "surety_event_parse", own.parse), loaded(library, "surety_event_free", own.free),
                   loaded(library, "surety_epsilon", own.epsilon), loaded(library, "surety_event_text", own.text),
                   loaded(library, "surety_free", own.free_text)};
  if (other.epsilon == nullptr || other.epsilon == own.epsilon) return std::printf("there is one copy\n"), 1;
  const std::string expected = answer(own);
  std::printf("%s\n", expected.c_str());

  // Settings of this program's that it must find again, and that must change no answer.
  mpfr_set_emin(-100);
  mpfr_set_emax(100);
  mpfr_set_default_prec(24);
  std::fesetround(FE_UPWARD);
  mpfr_t third;
  mpfr_init(third);
  mpfr_set_ui(third, 1, MPFR_RNDN);
  mpfr_div_ui(third, third, 3, MPFR_RNDN);
  const double before = mpfr_get_d(third, MPFR_RNDN);

  std::vector<std::string> answers(4);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < answers.size(); ++i) threads.emplace_back([&, i] { answers[i] = answer(i % 2 == 0 ? own : other); });
  for (auto& thread : threads) thread.join();
  answers.push_back(answer(own));
  answers.push_back(answer(other));
  for (const auto& found : answers) {
    if (found != expected) return std::printf("another answer: %s\n", found.c_str()), 1;
  }
  if (mpfr_get_emin() != -100 || mpfr_get_emax() != 100 || mpfr_get_default_prec() != 24 || std::fegetround() != FE_UPWARD ||
      mpfr_get_d(third, MPFR_RNDN) != before) {
    return std::printf("the program's own settings are lost\n"), 1;
  }
  mpfr_clear(third);
  std::printf("the same\n");
  return 0;
}
