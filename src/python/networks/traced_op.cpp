#include "python/networks/traced_op.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>

#include <string_view>
#include <vector>

#include "tessera/tensor/check.h"

namespace tessera::python {
namespace {

using at::Tensor;
using c10::IValue;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Arguments = std::vector<IValue>;  // a stack of PyTorch's dispatcher

constexpr std::string_view kSuffix = "_gradient";

c10::OperatorHandle op_of(const std::string& name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name.c_str(), "");
}

/// The arguments of an op, which leave the stack.
Arguments taken(const c10::OperatorHandle& op, Arguments* stack) {
  const auto first = stack->end() - std::ssize(op.schema().arguments());
  Arguments arguments(first, stack->end());
  stack->erase(first, stack->end());
  return arguments;
}

/// The arguments with replace(x) in the place of every tensor x of floating-point numbers, in
/// order.
template <typename Replace>
Arguments with_tensors(const Arguments& arguments, Replace&& replace) {
  Arguments result;
  for (const IValue& argument : arguments) {
    if (argument.isTensorList()) {
      c10::List<Tensor> tensors;
      for (const Tensor& tensor : argument.toTensorVector()) tensors.push_back(replace(tensor));
      result.emplace_back(tensors);
    } else if (argument.isTensor() && argument.toTensor().is_floating_point()) {
      result.emplace_back(replace(argument.toTensor()));
    } else {
      result.push_back(argument);
    }
  }
  return result;
}

/// One step of a trace.
class TracedStep : public torch::autograd::Function<TracedStep> {
 public:
  static Tensor forward(AutogradContext* context, at::TensorList tensors,
                        const c10::OperatorHandle& op, Arguments arguments) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    c10::List<bool> wanted;
    for (const Tensor& tensor : tensors) wanted.push_back(tensor.requires_grad());
    context->saved_data["op"] = op.schema().name() + std::string(kSuffix);
    context->saved_data["wanted"] = wanted;
    context->saved_data["arguments"] = c10::ivalue::Tuple::create(arguments);
    op.callBoxed(&arguments);
    return arguments.back().toTensor();
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto wanted = context->saved_data["wanted"].toBoolList();
    Arguments stack = {gradients[0], wanted};
    const auto arguments = context->saved_data["arguments"].toTuple();
    stack.insert(stack.end(), arguments->elements().begin(), arguments->elements().end());
    op_of(context->saved_data["op"].toStringRef()).callBoxed(&stack);
    variable_list results;
    const variable_list computed = stack.back().toTensorVector();
    auto next = computed.begin();
    for (const bool is_wanted : wanted) results.push_back(is_wanted ? *next++ : Tensor());
    results.resize(results.size() + 2);  // forward()'s arguments that are not tensors
    return results;
  }
};

void call(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Arguments* stack) {
  using c10::DispatchKey;
  // Below a transform of torch.func, which differentiates what the function itself calls.
  if (keys.has(DispatchKey::FuncTorchDynamicLayerBackMode))
    return op.redispatchBoxed(c10::DispatchKeySet(DispatchKey::CPU), stack);
  if (!keys.has_any(c10::DispatchKeySet({DispatchKey::Python, DispatchKey::Functionalize})))
    return op.redispatchBoxed(keys & c10::after_autograd_keyset, stack);
  variable_list tensors;
  const Arguments arguments = with_tensors(taken(op, stack), [&](const Tensor& tensor) {
    tensors.push_back(tensor);
    return tensor;
  });
  stack->emplace_back(TracedStep::apply(at::TensorList(tensors), op, arguments));
}

/// NAME_gradient.
void call_gradient(const c10::OperatorHandle& op, Arguments* stack) try {
  Arguments arguments = taken(op, stack);
  const Tensor gradient = arguments[0].toTensor();
  const auto wanted = arguments[1].toBoolList();
  arguments.erase(arguments.begin(), arguments.begin() + 2);

  const c10::impl::ForceDispatchKeyGuard as_outside_of_ops(
      c10::impl::LocalDispatchKeySet(c10::impl::PODLocalDispatchKeySet{}));
  const at::AutoGradMode with_gradients(true);
  variable_list inputs;
  auto is_wanted = wanted.begin();
  arguments = with_tensors(arguments, [&](const Tensor& tensor) {
    TESSERA_CHECK(is_wanted != wanted.end(), op.schema().name(), ": wanted has ", wanted.size(),
                  " values, expected one for each tensor of floating-point numbers");
    Tensor input = tensor.detach();
    if (*is_wanted++) inputs.push_back(input.requires_grad_());
    return input;
  });
  std::string name = op.schema().name();
  name.resize(name.size() - kSuffix.size());
  op_of(name).callBoxed(&arguments);
  variable_list gradients =
      torch::autograd::grad({arguments.back().toTensor()}, inputs, {gradient}, {},
                            /*create_graph=*/false, /*allow_unused=*/true);
  c10::List<Tensor> results;
  for (size_t i = 0; i < inputs.size(); ++i)
    results.push_back(gradients[i].defined() ? gradients[i].contiguous()
                                             : at::zeros_like(inputs[i]));
  stack->emplace_back(results);
} catch (...) {
  throw_python_error();
}

/// Tensor gradient, bool[] wanted, then the arguments of the op -> Tensor[].
c10::FunctionSchema gradient_schema(const c10::FunctionSchema& schema) {
  std::vector<c10::Argument> arguments = {{"gradient", c10::TensorType::get()},
                                          {"wanted", c10::ListType::ofBools()}};
  for (const c10::Argument& argument : schema.arguments()) arguments.push_back(argument);
  return {schema.name() + std::string(kSuffix),
          "",
          std::move(arguments),
          {c10::Argument("", c10::ListType::ofTensors())}};
}

}  // namespace

void define_traced(torch::Library& library, const std::string& schema) {
  using torch::CppFunction;
  c10::FunctionSchema parsed = torch::jit::parseSchema(schema);
  const std::string name = parsed.name(), gradient = name + std::string(kSuffix);
  library.def(gradient_schema(parsed));
  library.impl(gradient.c_str(),
               torch::dispatch(c10::DispatchKey::CompositeExplicitAutograd,
                               CppFunction::makeFromBoxedFunction<&call_gradient>()));
  library.def(std::move(parsed));
  library.impl(name.c_str(), torch::dispatch(c10::DispatchKey::Autograd,
                                             CppFunction::makeFromBoxedFunction<&call>()));
}

}  // namespace tessera::python
