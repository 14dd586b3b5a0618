#include "tessera/store/audit.h"

#include <cmath>

#include "tests/store/small_stores.h"

namespace tessera::store {
namespace {

TEST(Audit, AreasAndExposureByHand) {
  const std::vector<double> others = {1, 2, 3, 4};
  EXPECT_EQ(area_under_curve(std::vector<double>{5, 6}, others), 1);
  EXPECT_EQ(area_under_curve(std::vector<double>{2.5, 2.5}, others), 0.5);
  EXPECT_EQ(area_under_curve(std::vector<double>{2}, others), 1.5 / 4) << "a tie counts half";
  EXPECT_EQ(exposure(9, others), std::log2(5));
  EXPECT_EQ(exposure(3.5, others), std::log2(5) - 1) << "second of five";
  EXPECT_EQ(exposure(0, others), 0);
}

TEST_F(StoreTest, AnAuditTellsWhatTheMemoryKnows) {
  for (const int number : {1, 2, 3})
    memorize(store(), std::to_string(number), document_text(number));
  const auto audit = [&](const std::string& text) {
    const MemoStore opened(store());
    return audit_text(opened, StoreReader(opened), text);
  };
  const TextAudit held = audit(document_text(2)), never = audit(document_text(5000));
  EXPECT_EQ(held.tokens, std::ssize(document_text(2)) - 2) << "the shortest window has two";
  EXPECT_GT(held.recalled, 0.8) << "a context of two bytes proves little";
  EXPECT_LT(never.recalled, 0.6) << "it shares phrases with the others";
  EXPECT_GT(held.extraction, never.extraction);
  EXPECT_GT(held.log_likelihood, never.log_likelihood);
  EXPECT_LE(held.lowest, held.log_likelihood);
  forget(store(), "2");
  EXPECT_LT(audit(document_text(2)).recalled, held.recalled);
  EXPECT_EQ((TextAudit{.recalled = 0.95}).held(), TextAudit::Held::kYes);
  EXPECT_EQ((TextAudit{.recalled = 0.05}).held(), TextAudit::Held::kPartly);
  EXPECT_EQ((TextAudit{.recalled = 0.04}).held(), TextAudit::Held::kNo);
  EXPECT_THAT(message_of<UsageError>([&] { audit("ab"); }), HasSubstr("needs at least 3"));
}

}  // namespace
}  // namespace tessera::store
