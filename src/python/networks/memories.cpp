// torch.ops.tessera.context_memory and persistent_memory: the modules of tessera/memory, on
// parameters that modules of Python own (tessera/nn.py).

#include <torch/library.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "python/networks/traced_op.h"
#include "tessera/base/config.h"
#include "tessera/memory/correlation_memory.h"
#include "tessera/memory/mosaic/context_memory.h"
#include "tessera/memory/mosaic/persistent_memory.h"
#include "tessera/model/initialisation.h"
#include "tessera/tensor/check.h"

namespace tessera::python {
namespace {

using at::Tensor;
using Parameters = c10::Dict<std::string, Tensor>;
/// The tensors that a module's functions read, in any order. Undefined ones do not count.
using Members = std::vector<Tensor*>;

void check_size(const char* argument, int64_t size, int64_t most = kLargestSize) {
  TESSERA_CHECK(size >= 1 && size <= most, argument, " is ", size, ", expected 1 to ", most);
}

/// device: at::kMeta for a memory without any numbers of its own.
MemoryOptions options_of(int64_t channels, int64_t heads, bool bias,
                         const std::string& parameterisation, const std::string& precision,
                         double dropout, at::Device device) {
  check_size("channels", channels);
  check_size("heads", heads);
  TESSERA_CHECK(channels % heads == 0, "heads is ", heads,
                ", which does not divide channels = ", channels);
  TESSERA_CHECK(dropout >= 0 && dropout < 1, "dropout is ", dropout, ", expected 0 <= dropout < 1");
  MemoryOptions options;
  options.channels = channels;
  options.heads = heads;
  options.bias = bias;
  options.parameterisation =
      config::enum_value<Parameterisation>(parameterisation, "parameterisation");
  options.precision = config::enum_value<ops::Precision>(precision, "precision");
  options.dropout = dropout;
  options.device = device;
  return options;
}

Members members_of(torch::nn::LinearImpl& linear) {
  return {&linear.weight, &linear.bias};
}

template <typename Extractor>
Members members_of(Extractor& extractor, Tensor& scalar) {
  Members members = members_of(*extractor.projection);
  members.insert(members.end(), {&scalar, &extractor.log_scale});
  return members;
}

Members joined(Members all, const Members& more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

Members members_of(ContextMemoryImpl& memory) {
  return joined(joined(members_of(*memory.key, memory.key->leak),
                       members_of(*memory.value, memory.value->mix)),
                members_of(*memory.output));
}

Members members_of(PersistentMemoryImpl& memory) {
  return joined(joined(members_of(*memory.key, memory.key->leak), members_of(*memory.output)),
                {&memory.slot_keys, &memory.slot_values, &memory.log_scale});
}

Parameters parameters_of(const torch::nn::Module& memory) {
  Parameters parameters;
  for (const auto& parameter : memory.named_parameters())
    parameters.insert(parameter.key(), parameter.value().detach());
  return parameters;
}

/// Has the memory read these tensors in the place of its own parameters, in the order of
/// parameters_of(). Throws UsageError where they do not fit it or x.
template <typename Memory>
void substitute(Memory& memory, at::TensorList parameters, const Tensor& x) {
  const auto own = memory.named_parameters();
  TESSERA_CHECK(own.size() == parameters.size(), "memory: ", parameters.size(),
                " parameters were given, expected ", own.size());
  const Members members = members_of(memory);
  for (size_t i = 0; i < own.size(); ++i) {
    const Tensor& given = parameters[i];
    const std::string name = "memory: " + own[i].key();
    TESSERA_CHECK(given.sizes() == own[i].value().sizes(), name, " is ", given.sizes(),
                  ", expected ", own[i].value().sizes());
    TESSERA_CHECK(given.scalar_type() == x.scalar_type() && given.device() == x.device(), name,
                  " is ", given.scalar_type(), " on ", given.device(), ", x is ", x.scalar_type(),
                  " on ", x.device());
    const auto member = std::ranges::find_if(
        members, [&](const Tensor* tensor) { return tensor->is_same(own[i].value()); });
    TORCH_INTERNAL_ASSERT(member != members.end());
    **member = given;
  }
}

/// What make() makes, a memory without numbers, out of sight of torch.func and of traces: vmap()
/// would refuse to draw its parameters.
template <typename Make>
auto made(const Make& make) {
  using c10::DispatchKey;
  const c10::impl::ExcludeDispatchKeyGuard out_of_sight(c10::DispatchKeySet(
      {DispatchKey::FuncTorchDynamicLayerBackMode, DispatchKey::FuncTorchVmapMode,
       DispatchKey::Python, DispatchKey::PythonTLSSnapshot}));
  return make();
}

template <typename Memory>
Tensor read(Memory&& memory, const Tensor& x, int64_t channels, at::TensorList parameters,
            c10::optional<int64_t> dropout_seed) {
  check_shape(x, {-1, -1, channels}, "memory: x");
  substitute(memory, parameters, x);
  std::optional<uint64_t> seed;
  if (dropout_seed) seed = static_cast<uint64_t>(*dropout_seed);
  return memory.forward(x, seed);
}

Tensor context_memory(const Tensor& x, at::TensorList parameters, int64_t channels, int64_t heads,
                      bool bias, const std::string& parameterisation, const std::string& precision,
                      double dropout, c10::optional<int64_t> dropout_seed) {
  const MemoryOptions options =
      options_of(channels, heads, bias, parameterisation, precision, dropout, at::kMeta);
  return read(made([&] { return ContextMemoryImpl(options); }), x, channels, parameters,
              dropout_seed);
}

Parameters context_memory_parameters(int64_t channels, int64_t heads, bool bias,
                                     const std::string& parameterisation,
                                     const std::string& precision, double dropout) {
  return parameters_of(ContextMemoryImpl(
      options_of(channels, heads, bias, parameterisation, precision, dropout, at::kCPU)));
}

Tensor persistent_memory(const Tensor& x, at::TensorList parameters, int64_t channels,
                         int64_t heads, int64_t slots, int64_t count, bool bias,
                         const std::string& parameterisation, const std::string& precision,
                         double dropout, c10::optional<int64_t> dropout_seed) {
  const MemoryOptions options =
      options_of(channels, heads, bias, parameterisation, precision, dropout, at::kMeta);
  return read(made([&] { return PersistentMemoryImpl(options, slots, count, FirstSlots::kZero); }),
              x, channels, parameters, dropout_seed);
}

Parameters persistent_memory_parameters(int64_t channels, int64_t heads, int64_t slots,
                                        int64_t count, bool bias,
                                        const std::string& parameterisation,
                                        const std::string& precision, double dropout) {
  check_size("slots", slots);
  check_size("count", count, kMostModules);
  return parameters_of(PersistentMemoryImpl(
      options_of(channels, heads, bias, parameterisation, precision, dropout, at::kCPU), slots,
      count));
}

void correlation_store(const Tensor& matrix, const Tensor& keys, const Tensor& values) {
  CorrelationMemory(matrix).store(keys, values);
}

void correlation_forget(const Tensor& matrix, const Tensor& keys, const Tensor& values) {
  CorrelationMemory(matrix).forget(keys, values);
}

void correlation_merge(const Tensor& matrix, const Tensor& other) {
  CorrelationMemory(matrix).merge(CorrelationMemory(other));
}

Tensor correlation_retrieve(const Tensor& matrix, const Tensor& keys) {
  return CorrelationMemory(matrix).retrieve(keys);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(tessera, library) {
  define_op(library,
            "context_memory(Tensor x, Tensor[] parameters, *, int channels, int heads, bool bias, "
            "str parameterisation, str precision, float dropout, int? dropout_seed) -> Tensor",
            context_memory);
  library.def(
      "context_memory_parameters(*, int channels, int heads, bool bias, str parameterisation, "
      "str precision, float dropout) -> Dict(str, Tensor)",
      raising_python_errors(context_memory_parameters));
  define_op(
      library,
      "persistent_memory(Tensor x, Tensor[] parameters, *, int channels, int heads, int slots, "
      "int count, bool bias, str parameterisation, str precision, float dropout, "
      "int? dropout_seed) -> Tensor",
      persistent_memory);
  library.def(
      "persistent_memory_parameters(*, int channels, int heads, int slots, int count, bool bias, "
      "str parameterisation, str precision, float dropout) -> Dict(str, Tensor)",
      raising_python_errors(persistent_memory_parameters));
  library.def("correlation_store(Tensor(a!) matrix, Tensor keys, Tensor values) -> ()",
              raising_python_errors(correlation_store));
  library.def("correlation_forget(Tensor(a!) matrix, Tensor keys, Tensor values) -> ()",
              raising_python_errors(correlation_forget));
  library.def("correlation_merge(Tensor(a!) matrix, Tensor other) -> ()",
              raising_python_errors(correlation_merge));
  library.def("correlation_retrieve(Tensor matrix, Tensor keys) -> Tensor",
              raising_python_errors(correlation_retrieve));
}

}  // namespace tessera::python
