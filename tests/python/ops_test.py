"""torch.ops.tessera: values against the formula, gradients against differences, refused arguments."""

import pytest

torch = pytest.importorskip("torch")

from torch.autograd import forward_ad, gradcheck  # noqa: E402

import tessera  # noqa: E402
from tessera import ops  # noqa: E402

try:
    from torch import func
except ImportError:  # before PyTorch 2
    func = pytest.importorskip("functorch")

B, T, H, D = 2, 5, 3, 4


def drawn(*sizes, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*sizes, dtype=torch.double, generator=generator).requires_grad_()


def read(queries, keys, values, lag):
    """y_t = sum_{i <= t - lag} softmax_i(q_t . k_i) v_i, by the whole matrix of scores."""
    scores = torch.einsum("bthd,bihd->bhti", queries, keys)
    seen = torch.ones(T, T, dtype=torch.bool).tril(-lag)
    weights = scores.masked_fill(~seen, -torch.inf).softmax(-1).nan_to_num()
    return torch.einsum("bhti,bihd->bthd", weights, values)


def test_kernel_smoothing_reads_earlier_pairs():
    keys, values = drawn(B, T, H, D), drawn(B, T, H, D, seed=1)
    assert torch.allclose(ops.kernel_smoothing(keys, values), read(keys, keys, values, lag=1))
    single = ops.kernel_smoothing(keys.float(), values.float())  # the fused loop
    assert torch.allclose(single, read(keys, keys, values, lag=1).float(), atol=1e-5)


def test_causal_attention_reads_the_present_too():
    queries, keys, values = (drawn(B, T, H, D, seed=seed) for seed in range(3))
    expected = read(0.5 * queries, keys, values, lag=0)
    assert torch.allclose(ops.causal_attention(queries, keys, values, 0.5), expected)


def test_averages_by_hand():
    x = torch.tensor([1.0, 2.0, 3.0]).view(1, 3, 1, 1)
    half = torch.tensor([0.5])
    assert ops.leaky_average(x, half).flatten().tolist() == [1, 2.5, 4.25]
    assert ops.leaky_average(x, half, torch.full((1, 1, 1), 4.0)).flatten().tolist() == [3, 3.5, 4.75]
    assert ops.peek_average(x, half).flatten().tolist() == [1.5, 2.5, 1.5]
    three_four = torch.tensor([[3.0, 4.0]])
    assert ops.scaled_unit_norm(three_four, torch.tensor([10.0]), 0.0).tolist() == [[6, 8]]


def test_outer_product_attention_is_its_sum():
    queries, keys, values = drawn(B, 2, D), drawn(B, 3, D, seed=1), drawn(B, 3, 5, seed=2)
    factors = torch.tanh(queries[:, None] * keys[:, :, None])
    expected = torch.einsum("bjsd,bje->bsde", factors, values)
    assert torch.allclose(ops.outer_product_attention(queries, keys, values), expected)


def test_linear_cross_entropy_is_that_of_the_logits():
    hidden, embedding = drawn(6, D), drawn(7, D, seed=1)
    targets = torch.tensor([0, 6, -100, 3, 3, 1])
    expected = torch.nn.functional.cross_entropy(0.5 * hidden @ embedding.T, targets)
    assert torch.allclose(ops.linear_cross_entropy(hidden, embedding, 0.5, targets), expected)


def test_gated_write_is_its_formula():
    memory, left, right = drawn(B, D, D), drawn(B, D, seed=1), drawn(B, D, seed=2)
    weight, gates = drawn(2 * D, D, seed=3), drawn(B, 2 * D, seed=4)
    write, keep = (memory.tanh() @ weight.T + gates[:, None]).chunk(2, -1)
    product = left[:, :, None] * right[:, None]
    linear = ops.gated_write(memory, left, right, weight, gates, form="linear")
    assert torch.allclose(linear, keep * memory + write * product)
    squashed = keep.sigmoid() * memory + write.sigmoid() * product.tanh()
    assert torch.allclose(ops.gated_write(memory, left, right, weight, gates), squashed)


CALLS = {
    "kernel_smoothing": (ops.kernel_smoothing, [(B, T, H, D)] * 2, ()),
    "causal_attention": (ops.causal_attention, [(B, T, H, D)] * 3, (0.7,)),
    "leaky_average": (
        lambda x, decay, initial: ops.leaky_average(x, decay.sigmoid(), initial),
        [(B, T, H, D), (H,), (B, H, D)],
        (),
    ),
    "peek_average": (ops.peek_average, [(B, T, H, D), (H,)], ()),
    "scaled_unit_norm": (ops.scaled_unit_norm, [(B, T, H, D), (H,)], (1e-3,)),
    "slot_read": (ops.slot_read, [(B, T, H, D), (H, 6, D), (H, 6, D)], ()),
    "outer_product_attention": (ops.outer_product_attention, [(B, 2, D), (B, 3, D), (B, 3, 5)], ()),
    "gated_write": (
        ops.gated_write,
        [(B, D, D), (B, D), (B, D), (2 * D, D), (B, 2 * D)],
        (),
    ),
    "linear_cross_entropy": (ops.linear_cross_entropy, [(6, D), (7, D)], (0.5, torch.arange(6))),
}


@pytest.mark.parametrize("name", CALLS)
def test_gradients(name):
    call, sizes, others = CALLS[name]
    tensors = tuple(drawn(*size, seed=seed) for seed, size in enumerate(sizes))
    assert gradcheck(lambda *inputs: call(*inputs, *others), tensors)


@pytest.mark.parametrize("dtype", [torch.float, torch.double])
@pytest.mark.parametrize("name", CALLS)
def test_torch_func_differentiates_as_autograd_does(name, dtype):
    call, sizes, others = CALLS[name]
    tensors = [drawn(*size, seed=seed).to(dtype).detach() for seed, size in enumerate(sizes)]
    loss = lambda *inputs: call(*inputs, *others).square().sum()  # noqa: E731
    inputs = [tensor.clone().requires_grad_() for tensor in tensors]
    expected = torch.autograd.grad(loss(*inputs), inputs)
    every = tuple(range(len(tensors)))
    for found in (
        func.grad(loss, argnums=every)(*tensors),
        func.jacfwd(loss, argnums=every)(*tensors),
        [gradient[1] for gradient in func.vmap(func.grad(loss, argnums=every))(
            *(torch.stack([torch.ones_like(tensor), tensor]) for tensor in tensors))],
    ):
        for gradient, of_autograd in zip(found, expected):
            assert torch.allclose(gradient, of_autograd, rtol=1e-3, atol=1e-5)
    _, along = func.jvp(loss, tuple(tensors), tuple(tensors))
    assert torch.allclose(along, sum((a * b).sum() for a, b in zip(expected, tensors)), rtol=1e-4)


@pytest.mark.parametrize("dtype", [torch.float, torch.double])
@pytest.mark.parametrize("name", CALLS)
def test_forward_mode_differentiates_as_autograd_does(name, dtype):
    call, sizes, others = CALLS[name]
    tensors = [drawn(*size, seed=seed).to(dtype).detach() for seed, size in enumerate(sizes)]
    inputs = [tensor.clone().requires_grad_() for tensor in tensors]
    expected = torch.autograd.grad(call(*inputs, *others).sum(), inputs)
    for i, (tensor, gradient) in enumerate(zip(tensors, expected)):
        with forward_ad.dual_level():
            duals = [*tensors[:i], forward_ad.make_dual(tensor, tensor), *tensors[i + 1:]]
            along = forward_ad.unpack_dual(call(*duals, *others).sum()).tangent
        assert torch.allclose(along, (gradient * tensor).sum(), rtol=1e-3, atol=1e-5)


def test_torch_func_leaves_out_the_ignored_rows():
    hidden, embedding = drawn(3, D).detach(), drawn(7, D, seed=1).detach()
    for targets in ([2, -100, 3], [-100] * 3):
        loss = lambda x: ops.linear_cross_entropy(x, embedding, 0.5, torch.tensor(targets))  # noqa: B023, E731
        x = hidden.clone().requires_grad_()
        assert torch.allclose(func.grad(loss)(hidden), torch.autograd.grad(loss(x), x)[0])


@pytest.mark.parametrize("name", CALLS)
def test_bfloat16_gives_what_double_gives_nearly(name):
    call, sizes, others = CALLS[name]
    short = [drawn(*size, seed=seed).detach().bfloat16() for seed, size in enumerate(sizes)]
    tensors = [tensor.clone().requires_grad_() for tensor in short]
    result = call(*tensors, *others)
    expected = call(*(tensor.double() for tensor in short), *others)
    assert result.dtype == torch.bfloat16
    assert torch.allclose(result.double(), expected, rtol=0.05, atol=0.1)
    result.float().sum().backward()
    assert all(tensor.grad.dtype == torch.bfloat16 for tensor in tensors)


def test_more_steps_than_bfloat16_has_whole_numbers():
    """Steps and rows are counted exactly, though 257 is no bfloat16."""
    steps = 600
    keys, values = (drawn(1, steps, 1, D, seed=seed).detach().bfloat16() for seed in range(2))
    changed = [torch.cat([x[:, :300], torch.ones_like(x[:, 300:])], 1) for x in (keys, values)]
    read = ops.kernel_smoothing(keys, values)[:, :300]
    assert torch.equal(read, ops.kernel_smoothing(*changed)[:, :300])
    hidden, embedding = (drawn(*size).detach().bfloat16() for size in ((steps, D), (7, D)))
    targets = torch.arange(steps) % 7
    expected = ops.linear_cross_entropy(hidden.double(), embedding.double(), 0.5, targets)
    loss = ops.linear_cross_entropy(hidden, embedding, 0.5, targets)
    assert abs(float(loss) - float(expected)) < 0.03


@pytest.mark.parametrize("name", CALLS)
def test_results_are_contiguous_as_pytorch_is_told(name):
    """Whatever its arguments are."""
    call, sizes, others = CALLS[name]
    tensors = [drawn(*size[::-1]).permute(*range(len(size))[::-1]) for size in sizes]
    result = call(*tensors, *others)
    assert result.is_contiguous()
    assert torch.allclose(result, call(*(x.contiguous() for x in tensors), *others))


@pytest.mark.parametrize("name", CALLS)
def test_the_gradient_of_a_traced_op_is_that_of_the_op(name):
    call, sizes, others = CALLS[name]
    if name == "leaky_average":
        call = ops.leaky_average
    tensors = [torch.rand(*size).requires_grad_() for size in sizes]
    result = call(*tensors, *others)
    expected = torch.autograd.grad(result.sum(), tensors)
    gradient = getattr(torch.ops.tessera, name + "_gradient")
    arguments = (*(tensor.detach() for tensor in tensors), *others)
    found = gradient(torch.ones_like(result), [True] * len(tensors), *arguments)
    assert all(torch.allclose(a, b) for a, b in zip(found, expected))
    with pytest.raises(tessera.UsageError, match="wanted has 1 values, expected one for each tensor"):
        gradient(torch.ones_like(result), [True], *arguments)


@pytest.mark.parametrize("name", CALLS)
def test_every_op_is_one_of_torch(name):
    assert hasattr(torch.ops.tessera, name)


@pytest.mark.skipif(not hasattr(torch.library, "opcheck"), reason="needs PyTorch 2.4's opcheck")
@pytest.mark.parametrize("dtype", [torch.float, torch.double])
@pytest.mark.parametrize("name", CALLS)
def test_pytorch_can_trace_each_op(name, dtype):
    _, sizes, others = CALLS[name]
    tensors = [torch.rand(size).to(dtype).requires_grad_() for size in sizes]
    options = {"alibi_slopes": torch.rand(H).to(dtype)} if name == "causal_attention" else {}
    torch.library.opcheck(getattr(torch.ops.tessera, name), (*tensors, *others), options)


def test_a_gradient_that_would_be_dropped_is_refused():
    x, constant = drawn(B, T, H, D), torch.tensor(0.5, requires_grad=True)
    with pytest.raises(ValueError, match="scale is a constant, but requires a gradient"):
        ops.causal_attention(x, x, x, constant)
    with pytest.raises(ValueError, match="epsilon is a constant"):
        ops.scaled_unit_norm(x, torch.ones(H).double(), constant)
    with pytest.raises(ValueError, match="logit_scale is a constant"):
        ops.linear_cross_entropy(drawn(6, D), drawn(7, D), constant, torch.arange(6))
    assert ops.causal_attention(x, x, x, constant.detach()).shape == x.shape


def test_a_wrong_shape_or_dtype_is_named():
    keys = drawn(B, T, H, D)
    with pytest.raises(ValueError, match=r"\[2, 3, 3, 4\], expected \[2, 5, 3, 4\]"):
        ops.kernel_smoothing(keys, keys[:, :3])
    with pytest.raises(ValueError, match="values is Float on cpu, expected Double"):
        ops.kernel_smoothing(keys, keys.float())
    with pytest.raises(ValueError, match="precision is 'half', expected one of: fp32, bf16"):
        ops.kernel_smoothing(keys, keys, precision="half")
