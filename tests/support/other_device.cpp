#include "tests/support/other_device.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/strides.h>
#include <torch/library.h>
#if __has_include(<ATen/detail/MTIAHooksInterface.h>)  // LibTorch 2.2 and later
#include <ATen/detail/MTIAHooksInterface.h>
#define TESSERA_HAS_MTIA
#endif

#include <cstdint>
#include <cstdlib>

#include "tessera/tensor/device.h"

namespace tessera::test {
namespace {

// A type to which LibTorch moves parameters as to a GPU, and for which it has no shortcuts.
#ifdef TESSERA_HAS_MTIA
constexpr auto kType = c10::DeviceType::MTIA;
constexpr auto kKey = c10::DispatchKey::MTIA;

/// Later versions of LibTorch ask whether there is such a device.
struct Hooks final : at::MTIAHooksInterface {
  explicit Hooks(auto...) {}
  bool hasMTIA() const override { return true; }
};
using at::MTIAHooksRegistry, at::RegistererMTIAHooksRegistry;
C10_REGISTER_CLASS(MTIAHooksRegistry, MTIAHooks, Hooks)
#else
constexpr auto kType = c10::DeviceType::XPU;
constexpr auto kKey = c10::DispatchKey::XPU;
#endif
const c10::Device kDevice(kType, 0);

/// One device with one stream.
struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return kType; }
  c10::Device exchangeDevice(c10::Device) const override { return kDevice; }
  c10::Device getDevice() const override { return kDevice; }
  void setDevice(c10::Device) const override {}
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::Stream getStream(c10::Device) const noexcept override {
    return c10::Stream(c10::Stream::DEFAULT, kDevice);
  }
  c10::Stream exchangeStream(c10::Stream stream) const noexcept override { return stream; }
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }
};
const c10::impl::DeviceGuardImplRegistrar kGuard(kType, new Guard);

/// Added to an address of the host's memory it makes one of the device's, at which a host that
/// reads or writes there is ended.
constexpr uintptr_t kOutOfReach = uintptr_t{1} << 62;

void* out_of_reach(void* host) {
  return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(host) + kOutOfReach);
}
void* within_reach(void* device) {
  return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(device) - kOutOfReach);
}

constexpr c10::DispatchKeySet kKeys(kKey);

at::Tensor empty_strided(at::IntArrayRef sizes, at::IntArrayRef strides,
                         c10::optional<at::ScalarType> type, c10::optional<at::Layout> = {},
                         c10::optional<at::Device> = {}, c10::optional<bool> = {}) {
  const auto meta = c10::scalarTypeToTypeMeta(type.value_or(at::ScalarType::Float));
  const size_t bytes = at::detail::computeStorageNbytes(sizes, strides, meta.itemsize());
  void* const memory = std::malloc(bytes + 1);
  c10::Storage storage(c10::Storage::use_byte_size_t(), bytes,
                       c10::DataPtr{out_of_reach(memory), memory, &std::free, kDevice});
  at::Tensor x = at::detail::make_tensor<c10::TensorImpl>(std::move(storage), kKeys, meta);
  x.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides);
  return x;
}

at::Tensor empty(at::IntArrayRef sizes, c10::optional<at::ScalarType> type,
                 c10::optional<at::Layout>, c10::optional<at::Device>, c10::optional<bool>,
                 c10::optional<at::MemoryFormat>) {
  return empty_strided(sizes, c10::contiguous_strides(sizes), type);
}

/// Without what it held.
const at::Tensor& resized(const at::Tensor& x, at::IntArrayRef sizes,
                          c10::optional<at::MemoryFormat>) {
  if (x.sizes() != sizes)
    x.set_data(empty_strided(sizes, c10::contiguous_strides(sizes), x.scalar_type()));
  return x;
}

/// The same memory as a tensor of the CPU.
at::Tensor on_host(const at::Tensor& x) {
  return x.is_cpu() ? x
                    : at::from_blob(within_reach(x.data_ptr()), x.sizes(), x.strides(),
                                    x.options().device(at::kCPU).requires_grad(false));
}

at::Tensor& copy(at::Tensor& to, const at::Tensor& from, bool) {
  on_host(to).copy_(on_host(from));
  return to;
}

at::Tensor copy_and_resize(const at::Tensor& from, const at::Tensor& to) {
  on_host(resized(to, from.sizes(), {})).copy_(on_host(from));
  return to;
}

/// Single numbers of the CPU may stand beside tensors of a device.
void check_device(const c10::OperatorHandle& op, const at::Tensor& x) {
  TORCH_CHECK(!x.defined() || x.device() == kDevice || (x.is_cpu() && x.dim() == 0),
              op.schema().name(), ": a tensor on ", x.device(), " among those on ", kDevice);
}

/// Which elements are meant may be said on either device; LibTorch 1.13 leaves that where it is.
c10::IValue indices_on_host(const c10::IValue& indices) {
  c10::List<c10::optional<at::Tensor>> moved;
  for (const auto& index : indices.toOptionalTensorVector())
    moved.push_back(index && index->defined() ? index->cpu() : index);
  return moved;
}

void run_on_host(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const size_t first = stack->size() - op.schema().arguments().size();
  for (size_t i = first; i < stack->size(); ++i) {
    c10::IValue& argument = stack->at(i);
    if (argument.isTensor()) check_device(op, argument.toTensor());
    if (argument.isTensorList())
      for (const at::Tensor& x : argument.toTensorVector()) check_device(op, x);
    else if (argument.isOptionalTensorList())
      argument = indices_on_host(argument);
  }
  at::native::cpu_fallback(op, stack);
}

/// What LibTorch does on the device: these functions, and all others by the CPU's.
struct Functions {
  torch::Library others{torch::Library::IMPL, "_", kKey, __FILE__, __LINE__};
  torch::Library library{torch::Library::IMPL, "aten", kKey, __FILE__, __LINE__};

  Functions() {
    others.fallback(torch::CppFunction::makeFromBoxedFunction<&run_on_host>());
    library.impl("empty.memory_format", empty);
    library.impl("empty_strided", empty_strided);
    library.impl("copy_", copy);
    library.impl("_copy_from_and_resize", copy_and_resize);
    library.impl("as_strided", at::native::as_strided_tensorimpl);
    library.impl("view", at::native::view);
    library.impl("view.dtype", at::native::view_dtype);
    library.impl("_reshape_alias", at::native::_reshape_alias);
    library.impl("unfold", at::native::unfold);
    library.impl("resize_", resized);
  }
};
const Functions kFunctions;

}  // namespace

c10::Device other_device() {
  return at::hasCUDA() ? named_device("cuda:0") : kDevice;
}

}  // namespace tessera::test
