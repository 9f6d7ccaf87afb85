// A plan: its options are set in the tables of its command, or refused; and the options that were set make the same plan. A program reads it, too.
#include <nlohmann/json.hpp>

#include <fuzz/json_mutator.h>
#include <fuzz/target.h>

#include <surety/cli/commands/command.h>
#include <surety/cli/commands/plan.h>
#include <surety/cli/parser/parser.h>
#include <surety/jobs/train/written_plan.h>

using namespace surety;
using namespace surety_fuzz;

SURETY_MUTATES_JSON(1)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const InputFile file;
  Input input{data, size};
  const bool is_training = input.choice(8) == 0;
  const std::string name = is_training ? "train" : "release";
  const std::string text{input.rest()};
  file.hold(text);
  accepted([&] {
    const auto given = cli::with_plan({name, "--plan", file.path()});
    expect(given.words == cli::Arguments{name}, "a plan is another command's");
    expect(given.expected.has_value(), "a plan expects nothing");
    cli::Command surety{.name = "surety", .summary = ""};
    surety.commands.push_back(is_training ? cli::train_command(given) : cli::release_command(given));
    cli::set_planned(surety.commands.front(), given);
    const auto request = cli::parse(surety, given.words);
    expect(request.wish == cli::Request::Wish::run, "a plan asks for help");
    const auto options = cli::options_json(name, request.command->options);
    auto plan = nlohmann::json::parse(given.expected->text);
    plan["options"] = options;
    file.hold(plan.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    cli::Command again{.name = "surety", .summary = ""};
    const auto once_more = cli::with_plan({name, "--plan", file.path()});
    again.commands.push_back(is_training ? cli::train_command(once_more) : cli::release_command(once_more));
    cli::set_planned(again.commands.front(), once_more);
    expect(cli::options_json(name, cli::parse(again, once_more.words).command->options) == options,
           "a plan does not come back from its options");
  });
  // A program reads the same text; of files it may name none is there.
  if (is_training && text.find("schema") == std::string::npos) {
    accepted([&] {
      const auto written = jobs::read_train_plan(text);
      expect(!written.plan.source.path.empty(), "a plan without records");
    });
  }
  return 0;
}
