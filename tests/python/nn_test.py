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


SMALL = {
    "mosaic": lambda: nn.MemoryMosaic(
        vocabulary=30, window=16, layers=2, heads=2, channels=8, dropout=0.0
    ),
    "gpt": lambda: nn.Gpt(vocabulary=30, window=16, layers=2, heads=2, channels=8, dropout=0.0),
    "stm": lambda: nn.Stm(inputs=3, outputs=2, slots=2, width=4, distilled=4, readout=4, hidden=4),
}


def input_of(network):
    if isinstance(network, nn.Stm):
        return torch.randn(2, 5, 3, dtype=next(network.parameters()).dtype)
    return torch.randint(30, (2, 5))


@pytest.fixture(params=SMALL)
def network(request):
    torch.manual_seed(1)
    return SMALL[request.param]()


def test_networks_learn_by_pytorchs_optimisers(network):
    x = input_of(network)
    target = torch.zeros_like(network(x))
    optimizer = torch.optim.Adam(network.parameters(), 1e-2)
    losses = []
    for _ in range(20):
        loss = (network(x) - target).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
    assert losses[-1] < losses[0] / 2
    assert all(parameter.grad is not None for parameter in network.parameters())


def test_gradients_of_networks(network):
    network = network.double()
    x = input_of(network)
    parameters = tuple(network.parameters())
    assert torch.autograd.gradcheck(lambda *_: network(x), parameters, fast_mode=True)


def test_networks_in_model_directories(network, tmp_path):
    network.save(tmp_path)
    loaded, x = type(network).load(tmp_path), input_of(network)
    assert loaded.fields == network.fields
    assert torch.equal(loaded(x), network(x))
    others = {nn.MemoryMosaic, nn.Gpt, nn.Stm} - {type(network)}
    for other in others:
        with pytest.raises(ValueError, match=f"of the kind {network.kind}, expected {other.kind}"):
            other.load(tmp_path)


def test_copies_of_networks(network):
    x = input_of(network)
    expected = network(x)
    copies = [copy.deepcopy(network), pickle.loads(pickle.dumps(network.eval()))]
    for other in copies:
        assert torch.equal(other(x), expected)
        with torch.no_grad():
            next(other.parameters()).add_(1)
        assert torch.equal(network(x), expected)  # a copy has parameters of its own
    assert [other.training for other in copies] == [True, False]
    state = network.state_dict()
    fresh = type(network)(**network.fields)
    fresh.load_state_dict(state)
    assert torch.equal(fresh(x), expected)


def test_networks_draw_from_pytorchs_generator():
    def drawn(seed):
        torch.manual_seed(seed)
        return next(SMALL["mosaic"]().parameters())

    assert torch.equal(drawn(1), drawn(1)) and not torch.equal(drawn(1), drawn(2))


def test_loss_is_the_cross_entropy_of_the_logits():
    torch.manual_seed(1)
    model, tokens, targets = SMALL["gpt"](), torch.randint(30, (2, 5)), torch.randint(30, (2, 5))
    expected = torch.nn.functional.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())
    assert torch.allclose(model.loss(tokens, targets), expected)


def test_dropout_of_networks():
    model = nn.MemoryMosaic(vocabulary=30, window=16, layers=1, heads=2, channels=8, dropout=0.5)
    tokens = torch.randint(30, (2, 5))
    assert not torch.equal(model(tokens), model(tokens))
    model.eval()
    assert torch.equal(model(tokens), model(tokens))


def test_networks_refuse():
    with pytest.raises(ValueError, match="unknown key 'layer'.*'layers'"):
        nn.Gpt(layer=2)
    with pytest.raises(ValueError, match="token"):
        SMALL["gpt"]()(torch.full((1, 2), 30))
