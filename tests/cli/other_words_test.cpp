// Words of other tools: the command and its plans name the option of Surety that serves the same purpose.
#include <support/surety_process.h>

namespace surety_test::other_words_test {
namespace {

struct Case {
  Words given;
  std::string message;
};

TEST(OtherWords, OfOptionsAreNamed) {
  const Words train{"train", "x.csv"};
  const Words release{"release", "x.csv"};
  const Words account{"account"};
  const std::vector<Case> cases{
      {train + Words{"--sigma", "1"}, "unknown option --sigma; Surety calls it --noise-multiplier"},
      {account + Words{"--sigma", "1"}, "unknown option --sigma; Surety takes it inside --event"},
      {account + Words{"--noise-multiplier", "1"}, "inside --event"},
      {release + Words{"--sigma=1"}, "Surety computes the noise from --epsilon"},
      {train + Words{"--learning-rate", "0.1"}, "unknown option --learning-rate; Surety calls it --step-size"},
      {train + Words{"--learning_rate", "0.1"}, "unknown option --learning_rate; Surety calls it --step-size"},
      {train + Words{"--lr=0.1"}, "Surety calls it --step-size"},
      {train + Words{"--max-grad-norm", "1"}, "Surety calls it --clip"},
      {train + Words{"--l2-norm-clip", "1"}, "Surety calls it --clip"},
      {train + Words{"--sample-rate", "0.1"}, "Surety takes the batch in records, --batch-size"},
      {train + Words{"--batch_size", "10"}, "Surety calls it --batch-size"},
      {train + Words{"--max-iter", "10"}, "Surety calls it --steps"},
      {train + Words{"--num-epochs", "10"}, "Surety calls it --epochs"},
      {train + Words{"--weight-decay", "0.1"}, "Surety calls it --regularization"},
      {train + Words{"--num-examples", "10"}, "Surety calls it --records"},
      {train + Words{"--target", "y"}, "Surety calls it --label"},
      {train + Words{"--seed", "1"}, "--replay-seed replays noise and is NOT PRIVATE"},
      {{"simulate", "--instance", "dense", "--seed", "1"}, "Surety calls it --first-seed"},
      {train + Words{"--output", "m.json"}, "Surety calls it --model"},
      {release + Words{"--output", "m.json"}, "send them to a file with > FILE"},
      {release + Words{"--group-by", "sex"}, "unknown option --group-by; Surety calls it --by"},
      {release + Words{"--partitions", "f,m"}, "Surety calls it --keys"},
      {release + Words{"--max-contributions", "3"}, "Surety calls it --most"},
      {release + Words{"--max-partitions-contributed", "3"}, "Surety calls it --most-keys"},
      {release + Words{"--privacy-unit", "who"}, "Surety calls it --unit"},
      {release + Words{"--lower", "3"}, "Surety takes both in --bounds"},
      {release + Words{"--budget", "1"}, "Surety calls it --epsilon"},
      {{"ledger", "create", "x.db", "--budget", "1"}, "Surety calls it --epsilon"},
      {release + Words{"--target-epsilon", "1"}, "Surety calls it --epsilon"},
      {release + Words{"--neighbours", "1"}, "--adjacency"},
      {release + Words{"--alpha", "0.05"}, "Surety takes 1 - alpha as --confidence"},
      {release + Words{"--input", "x.csv"}, "Surety calls it data and takes it without an option"},
      {account + Words{"--accountant", "rdp"}, "--explain shows all"},
      {{"fit", "x.csv"}, "unknown command fit; Surety calls it 'surety train'"},
      {{"query", "x.csv"}, "Surety calls it 'surety release'"},
      {{"compute-epsilon"}, "Surety calls it 'surety account'"},
      {{"verify", "x.db"}, "Surety calls it 'surety audit'"},
      {{"budget"}, "Surety calls it 'surety ledger create'"},
  };
  for (const auto& [given, message] : cases) expect_refused(given, 2, {message});
}

TEST(OtherWords, LeaveMisspelledOptionsAlone) {
  expect_refused({"train", "x.csv", "--epsilom", "1"}, 2, {"did you mean '--epsilon'?"});
  expect_refused({"train", "x.csv", "--frobnicate", "1"}, 2, {"'--frobnicate' is not expected"});
  // Behind a command a word is a file or a mistake, not a command of another tool.
  expect_refused({"account", "fit"}, 2, {"'fit' is not expected"});
}

class OtherWordsOfPlans : public CommandTest {};

TEST_F(OtherWordsOfPlans, AreNamed) {
  write(path("plan.json"),
        json_text("{'version': 2, 'command': 'train', 'adjacency': 'replace-one', 'target': {'epsilon': 1, 'delta': 1e-5},"
                  "'options': {'algorithm': 'dp-sgd', 'data': 'x.csv', 'max_grad_norm': 1}}"));
  expect_refused({"train", "--plan", path("plan.json")}, 3, {"unknown field 'max_grad_norm'; Surety calls it clip"});
}

}  // namespace
}  // namespace surety_test::other_words_test
