"""tessera.nn: modules of PyTorch whose equations are those of the library."""

import copy
import pickle

import pytest

torch = pytest.importorskip("torch")

from tessera import nn, ops  # noqa: E402

C, H = 12, 3


def context_memory_by_equations(memory, x):
    """Zhang et al. 2024, eq. 6 and 7, from the module's parameters."""
    parameters = {name: value for name, value in memory.named_parameters()}

    def heads(y):
        return y.unflatten(-1, (H, C // H))

    decay = torch.exp(-10 * parameters["key.leak"].abs())
    scale = torch.exp(10 * parameters["key.log_scale"].clamp(max=0.5))
    averages = ops.leaky_average(heads(x @ parameters["key.projection.weight"].T), decay)
    keys = scale[:, None] * averages / averages.norm(dim=-1, keepdim=True)
    mixed = ops.peek_average(
        heads(x @ parameters["value.projection.weight"].T), parameters["value.mix"]
    )
    values = mixed / mixed.norm(dim=-1, keepdim=True)
    values = values * torch.exp(10 * parameters["value.log_scale"])[:, None]
    return ops.kernel_smoothing(keys, values).flatten(-2) @ parameters["output.weight"].T


def persistent_memory_by_equations(memory, x):
    """Zhang et al. 2024, appendix D.1, from the module's parameters."""
    parameters = {name: value for name, value in memory.named_parameters()}
    decay = torch.exp(-10 * parameters["key.leak"].abs())
    projected = x @ parameters["key.projection.weight"].T
    averages = ops.leaky_average(projected.unflatten(-1, (H, C // H)), decay)
    scale = torch.exp((20 * parameters["key.log_scale"]).clamp(max=10))
    keys = scale[:, None] * averages / averages.norm(dim=-1, keepdim=True)
    slots = zip(parameters["slot_keys"], parameters["slot_values"])
    read = sum(ops.slot_read(keys, *pairs) for pairs in slots) / 2
    read = read * torch.exp(10 * parameters["log_scale"])[:, None]
    return read.flatten(-2) @ parameters["output.weight"].T


MEMORIES = {
    "context": (lambda **options: nn.ContextMemory(C, H, **options), context_memory_by_equations),
    "persistent": (
        lambda **options: nn.PersistentMemory(C, H, slots=5, count=2, **options),
        persistent_memory_by_equations,
    ),
}


@pytest.fixture(params=MEMORIES)
def kind(request):
    torch.manual_seed(1)
    return MEMORIES[request.param]


def test_forward_is_the_papers_equations(kind):
    make, by_equations = kind
    memory, x = make().double(), torch.randn(2, 7, C, dtype=torch.double)
    assert torch.allclose(memory(x), by_equations(memory, x))


def test_gradients(kind):
    memory = kind[0](bias=True).double()
    x = torch.randn(2, 4, C, dtype=torch.double, requires_grad=True)
    parameters = tuple(memory.parameters())
    forward = lambda x, *_: memory(x)  # noqa: E731
    assert torch.autograd.gradcheck(forward, (x, *parameters))


def test_every_parameter_learns(kind):
    memory = kind[0]()
    memory(torch.randn(2, 7, C)).square().sum().backward()
    assert all(parameter.grad is not None for parameter in memory.parameters())


def test_state_dict_copies_and_pickles(kind):
    make, _ = kind
    memory, other, x = make(), make(), torch.randn(1, 4, C)
    assert not torch.equal(memory(x), other(x))
    other.load_state_dict(memory.state_dict())
    expected = memory(x)
    for same in (other, copy.deepcopy(memory), pickle.loads(pickle.dumps(memory))):
        assert torch.equal(same(x), expected)


def test_dropout_is_for_training(kind):
    memory, x = kind[0](dropout=0.5), torch.randn(1, 6, C)
    assert not torch.equal(memory(x), memory(x))
    memory.eval()
    assert torch.equal(memory(x), memory(x))


def test_the_future_does_not_count(kind):
    memory, x = kind[0](), torch.randn(1, 6, C)
    changed = x.clone()
    changed[:, 4:] = 0
    assert torch.equal(memory(x)[:, :4], memory(changed)[:, :4])


def test_no_steps(kind):
    assert kind[0]()(torch.zeros(2, 0, C)).shape == (2, 0, C)


def test_what_does_not_fit_is_named(kind):
    memory = kind[0]()
    with pytest.raises(ValueError, match="Float on cpu, x is Double on cpu"):
        memory(torch.zeros(1, 2, C, dtype=torch.double))
    with pytest.raises(ValueError, match=r"x has shape \[1, 2, 6\], expected \[\*, \*, 12\]"):
        memory(torch.zeros(1, 2, C // 2))
    with pytest.raises(ValueError, match="x has shape \\[2, 12\\]"):
        memory(torch.zeros(2, C))
    with pytest.raises(ValueError, match="heads is 5, which does not divide"):
        nn.ContextMemory(C, 5)
    with pytest.raises(ValueError, match="parameterisation is 'other', expected one of: paper, nano"):
        nn.ContextMemory(C, H, parameterisation="other")


def test_correlation_memory_by_hand():
    memory, other = nn.CorrelationMemory(2, 3), nn.CorrelationMemory(2, 3)
    keys, values = torch.eye(2), torch.arange(6.0).view(2, 3)
    memory.store(keys[0], values[0])
    other.store(keys[1:], values[1:])
    memory.merge(other)
    assert memory(keys).tolist() == values.tolist() and memory(keys[1]).tolist() == [3, 4, 5]
    memory.forget(keys, values)
    assert memory.state_dict()["matrix"].tolist() == torch.zeros(2, 3).tolist()
    assert repr(memory) == "CorrelationMemory(rows=2, columns=3)"


def test_correlation_memory_refuses_and_stays_as_it_was():
    memory = nn.CorrelationMemory(2, 3)
    memory.store(torch.ones(2), torch.ones(3))
    for keys, values in ((torch.ones(2), torch.ones(2)), (torch.ones(2).double(), torch.ones(3))):
        with pytest.raises(ValueError, match=r"expected \[3\]|Double"):
            memory.store(keys, values)
    assert memory.matrix.tolist() == torch.ones(2, 3).tolist()


def test_correlation_memory_has_a_gradient_in_its_keys():
    memory = nn.CorrelationMemory(2, 3).double()
    memory.store(torch.randn(4, 2).double(), torch.randn(4, 3).double())
    assert torch.autograd.gradcheck(memory, torch.randn(5, 2).double().requires_grad_())
