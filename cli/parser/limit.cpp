#include <surety/cli/parser/limit.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <surety/base/numbers/limit.h>

namespace surety::cli {

void add_limit_to(Command& command) {
  for (auto& one : command.commands) add_limit_to(one);
  if (!command.run) return;
  const auto seconds = std::make_shared<std::optional<double>>();
  command.options.group("").add(std::string{limit_option}, *seconds,
                                "End with exit code 6 where the questions of what this costs take longer than so many seconds", number());
  command.run = [seconds, run = std::move(command.run)](const Command& given) {
    if (!*seconds) return run(given);
    const Limit limit{{.seconds = *seconds, .name = std::string{limit_option}, .unit = ""}};
    return run(given);
  };
}

}  // namespace surety::cli
