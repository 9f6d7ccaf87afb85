// Events from a file, --event @FILE, and from standard input, --event -, wherever an event is accepted.
#include <support/surety_process.h>

namespace surety_test::event_file_test {
namespace {

class EventFile : public CommandTest {
 protected:
  EventFile() { write(path("event.txt"), "\n  repeat(100, gaussian(40))\n"); }

  /// What the command prints with the event as a text, from the file and from standard input.
  void expect_equal(const Words& before, const std::string& event, const Words& after) const {
    write(path("text"), event + "\n");
    const auto said = surety(before + Words{event} + after);
    EXPECT_EQ(said.code, 0) << said.err;
    EXPECT_EQ(surety(before + Words{"@" + path("text")} + after).out, said.out);
    EXPECT_EQ(surety(before + Words{"-"} + after, {.standard_input = path("text").c_str()}).out, said.out);
  }
};

TEST_F(EventFile, IsReadByEveryCommandThatTakesAnEvent) {
  const Words at{"--adjacency", "replace-one", "--delta", "1e-5"};
  expect_equal({"account", "--event"}, "repeat(100, gaussian(40))", at);
  expect_equal({"account", "--event"}, "gaussian(2)", {"--adjacency", "replace-one", "--risk"});
  expect_equal({"curve", "--event"}, "gaussian(2)", {"--adjacency", "replace-one", "--points", "3"});
  expect_equal({"audit", "--event"}, "gaussian(4)", at + Words{"--epsilon", "2"});
  expect_equal({"calibrate", "--event"}, "gaussian(z)", at + Words{"--solve", "z", "--epsilon", "1"});
  expect_equal({"calibrate", "--event"}, "gaussian(z)", {"--adjacency", "replace-one", "--solve", "z", "--rho", "0.5"});
  expect_equal({"calibrate", "--event"}, "gaussian(z)", {"--adjacency", "replace-one", "--solve", "z", "--advantage", "0.1"});
  expect_equal({"calibrate", "--event"}, "gaussian(z)", at + Words{"--solve", "z", "--standard-deviation", "5"});
}

TEST_F(EventFile, MayBePlannedForALedger) {
  const auto create = [&](const char* name, const std::string& event) {
    const auto outcome = surety(
        {"ledger", "create", path(name), "--adjacency", "replace-one", "--epsilon", "1", "--delta", "1e-6", "--planned", event, "--json"});
    EXPECT_EQ(outcome.code, 0);
    auto object = outcome.json();
    object.erase("ledger");
    return object;
  };
  EXPECT_EQ(create("one.db", "repeat(100, gaussian(40))"), create("two.db", "@" + path("event.txt")));
}

TEST_F(EventFile, MayHoldTheJsonForm) {
  const auto printed = surety({"account", "--event", "gaussian(2)", "--adjacency", "replace-one", "--delta", "1e-5", "--json=2"}).json();
  write(path("event.json"), printed["result"]["event"]["json"].dump());
  const auto again =
      surety({"account", "--event", "@" + path("event.json"), "--adjacency", "replace-one", "--delta", "1e-5", "--json=2"}).json();
  EXPECT_EQ(again["result"], printed["result"]);
  expect_refused({"account", "--event", "@" + path("event.json"), "--adjacency", "zero-out", "--delta", "1e-5"}, 2,
                 {"event.json: adjacency is zero-out"});
}

TEST_F(EventFile, IsRefusedWithItsName) {
  const auto account = [](const std::string& event) {
    return Words{"account", "--event", event, "--adjacency", "replace-one", "--delta", "1e-5"};
  };
  expect_refused(account("@" + path("nothing")), 3, {"nothing: cannot be opened"});
  expect_refused(account("@"), 2, {"--event is '@', must be followed by the name of a file"});
  write(path("wrong"), "gausian(1)");
  expect_refused(account("@" + path("wrong")), 2, {"wrong: ", "did you mean 'gaussian'?"});
  write(path("empty"), " \n");
  expect_refused(account("@" + path("empty")), 2, {"empty: "});
  write(path("large"), std::string((4U << 20U) + 1, ' '));
  expect_refused(account("@" + path("large")), 3, {"large", "more than 4194304 bytes"});
  expect_refused(account("@" + path("event.txt") + "\n"), 3);
  // Only the whole value is a file: a text with @ inside stays an event.
  expect_refused(account("gaussian(@" + path("event.txt") + ")"), 2);
}

}  // namespace
}  // namespace surety_test::event_file_test
