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

void add_progress_to(Command& command) {
  for (auto& one : command.commands) add_progress_to(one);
  if (!command.run) return;
  const auto is_asked = std::make_shared<bool>(false);
  command.options.group("").add(
      std::string{progress_option}, *is_asked,
      "Show on standard error how far the command is: on a terminal from its first step, elsewhere until the ledger is charged. Without it a terminal shows it after two seconds");
  command.run = [is_asked, run = std::move(command.run)](const Command& given) { return run(given); };
}

}  // namespace surety::cli
