#include <surety/accounting/accountants/seam/accountant.h>

#include <gtest/gtest.h>

#include <string_view>

#include <surety/accounting/accountants/closed_form/closed_form.h>
#include <surety/accounting/accountants/zcdp/zcdp.h>

namespace surety::accounting::accountant_test {
namespace {

// Asked about below, and never called.
struct WithoutName {};
[[maybe_unused]] Enclosure delta(const WithoutName&, const Event&, Epsilon) { return at_most(1); }
[[maybe_unused]] Enclosure epsilon(const WithoutName&, const Event&, Delta) { return at_most(1); }

struct WithoutEpsilon {
  static constexpr std::string_view name = "without epsilon";
};
[[maybe_unused]] Enclosure delta(const WithoutEpsilon&, const Event&, Epsilon) { return at_most(1); }

struct WithoutEnclosure {
  static constexpr std::string_view name = "without enclosure";
};
[[maybe_unused]] double delta(const WithoutEnclosure&, const Event&, Epsilon) { return 1; }
[[maybe_unused]] double epsilon(const WithoutEnclosure&, const Event&, Delta) { return 1; }

TEST(Accountant, IsANameAndTwoQuestionsAnsweredByEnclosures) {
  EXPECT_TRUE(Accountant<ClosedForm>);
  EXPECT_TRUE(Accountant<Zcdp>);
  EXPECT_FALSE(Accountant<WithoutName>);
  EXPECT_FALSE(Accountant<WithoutEpsilon>);
  EXPECT_FALSE(Accountant<WithoutEnclosure>);
}

TEST(Accountant, NamesDiffer) { EXPECT_NE(ClosedForm::name, Zcdp::name); }

}  // namespace
}  // namespace surety::accounting::accountant_test
