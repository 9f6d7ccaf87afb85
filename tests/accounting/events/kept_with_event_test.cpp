#include <surety/accounting/events/kept_with_event.h>

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include <surety/accounting/events/normal_form.h>

namespace surety::kept_with_event_test {
namespace {

TEST(KeptWithEvent, IsOneTextAndOneNormalForm) {
  const auto event = parse_event("compose(k_norm(l1, 3, 2), gaussian(9))", Adjacency::replace_one);
  std::vector<std::thread> threads;
  std::vector<const std::string*> texts(8);
  std::vector<const void*> forms(8);
  for (std::size_t k = 0; k < 8; ++k) {
    threads.emplace_back([&, k] {
      const Event copy = event;
      texts[k] = &KeptWithEvent::text(copy);
      forms[k] = &accounting::plainest(copy).node();
    });
  }
  for (auto& thread : threads) thread.join();
  for (std::size_t k = 0; k < 8; ++k) {
    EXPECT_EQ(texts[k], texts[0]);
    EXPECT_EQ(forms[k], forms[0]);
  }
  EXPECT_EQ(*texts[0], "compose(k_norm(l1, 3, 2), gaussian(9))");
  EXPECT_EQ(describe(accounting::plainest(event)), "compose(laplace(2), gaussian(9))");
  // An event that is its own normal form does not own itself.
  const auto plain = accounting::plainest(event);
  EXPECT_EQ(&accounting::plainest(plain).node(), &plain.node());
}

}  // namespace
}  // namespace surety::kept_with_event_test
