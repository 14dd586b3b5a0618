#include "tessera/tensor/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/base/error.h"
#include "tests/support/other_device.h"
#include "tests/support/temporary_folder.h"

namespace tessera {
namespace {

using testing::HasSubstr;

TEST(Device, IsNamedAsLibTorchNamesIt) {
  EXPECT_EQ(named_device("cpu"), c10::Device(c10::DeviceType::CPU));
  EXPECT_EQ(named_device(test::other_device().str()), test::other_device());
  const std::string type = c10::DeviceTypeName(test::other_device().type(), /*lower_case=*/true);
  EXPECT_EQ(named_device(type).type(), test::other_device().type());
}

TEST(Device, ThatIsNotThereIsRefusedWithAListOfThoseThatAre) {
  const std::string other = test::other_device().str();
  const std::string type = other.substr(0, other.find(':'));
  const std::vector<std::string> names = {type + ":99", type + ":256", "cpu:1", "vulkan",
                                          "meta",       "gpu",         "",      "cpu:x"};
  for (const auto& name : names)
    EXPECT_THAT(test::message_of<UsageError>([&] { named_device(name); }),
                testing::AllOf(HasSubstr("device is '" + name + "'"), HasSubstr("have: cpu"),
                               HasSubstr(type)));
}

}  // namespace
}  // namespace tessera
