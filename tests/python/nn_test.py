"""tessera.nn: modules of PyTorch whose equations are those of the library."""

import copy
import pickle
import warnings

import pytest

torch = pytest.importorskip("torch")

import tessera  # noqa: E402
from tessera import nn, ops  # noqa: E402

from torch.autograd import forward_ad  # noqa: E402
from torch.nn.utils import parametrize, prune  # noqa: E402

try:
    from torch import func
    from torch.func import functional_call
except ImportError:  # before PyTorch 2
    func = pytest.importorskip("functorch")
    from torch.nn.utils.stateless import functional_call

C, H = 12, 3


def context_memory_by_equations(memory, x):
    """Zhang et al. 2024, eq. 6 and 7, from the module's parameters."""
    parameters = dict(memory.named_parameters())

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
    parameters = dict(memory.named_parameters())
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


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_torch_func_differentiates_memories(kind, dropout):
    memory, xs = kind[0](dropout=dropout), torch.randn(3, 2, 7, C)

    def loss(x):
        torch.manual_seed(1)
        return memory(x).square().sum()

    inputs = xs.clone().requires_grad_()
    expected = torch.stack([torch.autograd.grad(loss(x), x)[0] for x in inputs])
    assert torch.allclose(func.grad(loss)(xs[0]), expected[0], rtol=1e-3, atol=1e-5)
    along = func.jvp(loss, (xs[0],), (xs[1],))[1]
    assert torch.allclose(along, (expected[0] * xs[1]).sum(), rtol=1e-3, atol=1e-4)
    memory.requires_grad_(False)  # loops would read so few rows
    with forward_ad.dual_level():
        value = loss(forward_ad.make_dual(xs[0], xs[1]))
        assert torch.allclose(forward_ad.unpack_dual(value).tangent, along, rtol=1e-3, atol=1e-4)
    if dropout == 0:  # vmap() refuses to draw a seed
        assert torch.allclose(func.vmap(func.grad(loss))(xs), expected, rtol=1e-3, atol=1e-5)


@pytest.mark.skipif(not hasattr(torch.library, "opcheck"), reason="needs PyTorch 2.4's opcheck")
def test_pytorch_can_trace_memories(kind):
    memory, x = kind[0](), torch.randn(2, 7, C, requires_grad=True)
    op = getattr(torch.ops.tessera, type(memory).__name__.replace("Memory", "_memory").lower())
    torch.library.opcheck(op, (x, list(memory.parameters())), memory._options())
    compiled = torch.compile(memory, backend="aot_eager", fullgraph=True)
    assert torch.allclose(compiled(x), memory(x))
    compiled(x).square().sum().backward()
    found = {name: parameter.grad for name, parameter in memory.named_parameters()}
    memory.zero_grad()
    memory(x).square().sum().backward()
    for name, parameter in memory.named_parameters():
        assert torch.allclose(found[name], parameter.grad, atol=1e-5)


def test_state_dict_copies_and_pickles(kind):
    make, _ = kind
    memory, other, x = make(), make(), torch.randn(1, 4, C)
    assert not torch.equal(memory(x), other(x))
    other.load_state_dict(memory.state_dict())
    expected = memory(x)
    for same in (other, copy.deepcopy(memory), pickle.loads(pickle.dumps(memory))):
        assert torch.equal(same(x), expected)


def test_what_takes_the_place_of_a_parameter_counts(kind):
    memory, x = kind[0](), torch.randn(1, 5, C)
    other, weight = copy.deepcopy(memory), torch.randn(C, C)
    with torch.no_grad():
        other.output.weight.copy_(weight)
    expected = other(x)
    assert torch.equal(functional_call(memory, {"output.weight": weight}, (x,)), expected)

    class Replaced(torch.nn.Module):
        def forward(self, _):
            return weight

    parametrized = copy.deepcopy(memory)
    parametrize.register_parametrization(parametrized.output, "weight", Replaced())
    assert torch.equal(parametrized(x), expected)
    memory.output.weight = memory.key.projection.weight  # tied
    memory(x).square().sum().backward()
    assert memory.output.weight.grad is not None


@pytest.mark.parametrize("make", ["prune", "weight_norm", "spectral_norm"])
def test_a_parameter_that_a_hook_computes_is_refused(kind, make):
    """The hook of a module that is not called."""
    memory, x = kind[0](), torch.randn(1, 5, C)
    memory.output.register_forward_pre_hook(lambda *_: None)  # of one who only looks on
    memory(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # weight_norm of PyTorch 2
        if make == "prune":
            prune.l1_unstructured(memory.output, "weight", 0.5)
        else:
            getattr(torch.nn.utils, make)(memory.output)
    with pytest.raises(ValueError, match="the parameter output.weight is computed by a hook"):
        memory(x)
    if make == "prune":
        prune.remove(memory.output, "weight")
        other = kind[0]()
        other.load_state_dict(memory.state_dict())
        assert torch.equal(memory(x), other(x))


def test_the_two_memories_refuse_a_hook_that_computes_a_parameter():
    _, item, relational = two_memory_model("paper")
    memory, wide = item.initial_state(1), torch.zeros(1, 4).double()
    prune.l1_unstructured(item.memory_gate, "weight", 0.5)
    with pytest.raises(ValueError, match="memory_gate.weight is computed by a hook"):
        item(memory, wide, wide, wide[:, :3])
    prune.l1_unstructured(relational.self_attention.projection, "weight", 0.5)
    with pytest.raises(ValueError, match="projection.weight is computed by a hook"):
        relational(relational.initial_state(1), memory, wide[:, :2], wide)


def test_dropout_is_for_training(kind):
    memory, x = kind[0](dropout=0.5), torch.randn(1, 6, C)
    assert not torch.equal(memory(x), memory(x))
    memory.eval()
    assert torch.equal(memory(x), memory(x))


def test_memories_of_bfloat16(kind):
    memory, x = kind[0](bias=True).bfloat16(), torch.randn(2, 7, C).bfloat16()
    read = memory(x)
    assert torch.allclose(read.double(), memory.double()(x.double()), rtol=0.1, atol=0.1)
    assert read.dtype == torch.bfloat16


class Sequences(torch.utils.data.Dataset):
    """Read by a memory, in whichever process reads this."""

    def __init__(self, memory):
        self.memory = memory

    def __len__(self):
        return 4

    def __getitem__(self, index):
        with torch.no_grad():
            return self.memory(torch.full((1, 5, C), float(index)))[0]


def test_workers_of_a_data_loader(kind):
    """Forks of a process that has used the memory."""
    sequences = Sequences(kind[0]())
    expected = torch.stack([sequences[index] for index in range(4)])
    with warnings.catch_warnings():  # Python 3.12 warns where threads have run before
        warnings.simplefilter("ignore", DeprecationWarning)
        loaded = list(torch.utils.data.DataLoader(sequences, batch_size=2, num_workers=1))
    assert torch.allclose(torch.cat(loaded), expected, atol=1e-6)


def test_numpy_arrays_are_not_copied():
    numpy = pytest.importorskip("numpy")
    memory = nn.CorrelationMemory(2, 3)
    matrix, keys = numpy.zeros((2, 3), numpy.float32), numpy.eye(2, dtype=numpy.float32)
    memory.matrix = torch.from_numpy(matrix)
    memory.store(torch.from_numpy(keys), torch.ones(2, 3))
    assert matrix.tolist() == [[1, 1, 1], [1, 1, 1]]
    network = SMALL["mosaic"]()
    parameter = next(network.parameters())
    before = network(input_of(network)).detach().numpy()
    parameter.detach().numpy()[:] = 0
    assert not numpy.allclose(network(input_of(network)).detach().numpy(), before)


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
    for wrong, reason in (
        ((C, 5), "^heads is 5, which does not divide channels = 12"),
        ((C, 0), "^heads is 0, expected 1 to"),
    ):
        with pytest.raises(ValueError, match=reason):
            nn.ContextMemory(*wrong)
    with pytest.raises(ValueError, match="parameterisation is 'other', expected one of: paper, nano"):
        nn.ContextMemory(C, H, parameterisation="other")


def test_options_that_make_no_sense_are_refused_at_once(kind):
    with pytest.raises(ValueError, match="^dropout is 1.5"):
        kind[0](dropout=1.5)
    with pytest.raises(ValueError, match="precision is 'half', expected one of: fp32, bf16"):
        kind[0](precision="half")


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
    with pytest.raises(ValueError, match="-4 rows and 3 columns; expected at least 1 of each"):
        nn.CorrelationMemory(-4, 3)


def test_correlation_memory_has_a_gradient_in_its_keys():
    memory = nn.CorrelationMemory(2, 3).double()
    memory.store(torch.randn(4, 2).double(), torch.randn(4, 3).double())
    assert torch.autograd.gradcheck(memory, torch.randn(5, 2).double().requires_grad_())


def two_memory_model(variant):
    """A small Stm whose blend factors differ from 0, and the two memories with its parameters."""
    torch.manual_seed(1)
    factors = {f"alpha{i}": {"value": 0.3 * i, "learned": True} for i in (1, 2, 3)}
    sizes = {"inputs": 3, "outputs": 2, "slots": 2, "width": 4, "distilled": 4}
    model = nn.Stm(**sizes, readout=4, hidden=4, variant=variant, **factors).double()
    seen = 3 if variant == "paper" else None
    item = nn.ItemMemory(4, inputs=seen, variant=variant).double()
    relational = nn.RelationalMemory(2, 4, variant=variant).double()
    cell = model.get_submodule("cell")
    item.load_state_dict(cell.item.state_dict())
    attention = cell.self_attention.state_dict().items()
    below = {f"self_attention.{name}": value for name, value in attention}
    relational.load_state_dict({**cell.relational.state_dict(), **below})
    return model, item, relational


@pytest.mark.parametrize("variant", ["authors", "paper"])
def test_two_memories_make_the_two_memory_model(variant):
    """Le et al. 2020, eq. 9-14, from the parameters of an Stm."""
    model, item, relational = two_memory_model(variant)
    x = torch.randn(2, 5, 3).double()

    def linear(name, y):
        parameters = dict(model.named_parameters())
        return y @ parameters[f"{name}.weight"].T + parameters[f"{name}.bias"]

    memory, relations, outputs = item.initial_state(2), relational.initial_state(2), []
    for step in x.unbind(1):
        content, pattern = linear("cell.content.0", step), linear("cell.pattern.0", step)
        slots = linear("cell.attention.0", step).softmax(-1)
        if variant == "authors":
            memory = item(memory, content, content)
        else:
            memory = item(memory, content, pattern, step)
        relations, memory = relational(relations, memory, slots, pattern)
        read = linear("readout", linear("distillation", relations.flatten(2)).flatten(1))
        if variant == "authors":
            for layer in ("head.0", "head.2"):
                read = linear(layer, read).relu()
            read = linear("head.4", read)
        outputs.append(read)
    assert torch.allclose(torch.stack(outputs, 1), model(x))


def test_the_memories_of_the_paper_lie_as_its_equations_have_them():
    """Le et al. 2020, appendix D: gates W x + U tanh(M) + b. Eq. 13: M + alpha3 G1 of the flattened R."""
    _, item, relational = two_memory_model("paper")
    left, right, pattern = (torch.randn(1, 4).double() for _ in range(3))
    x, slots = torch.randn(1, 3).double(), torch.rand(1, 2).double()
    memory = item.initial_state(1)
    of_x = item.input_gate(x)[:, :, None]
    write, keep = (of_x + item.memory_gate.weight @ memory.tanh()).chunk(2, 1)
    product = left[:, :, None] * right[:, None]
    expected = (keep + item.forget_bias) * memory + (write + item.input_bias) * product
    assert torch.allclose(item(memory, left, right, x), expected)
    relations, after = relational(relational.initial_state(1), expected, slots, pattern)
    mapped = relational.transfer.weight @ relations.flatten(1, 2) + relational.transfer.bias[:, None]
    assert torch.allclose(after, expected + relational.alpha3 * mapped)


def test_an_item_memory_without_gates_answers_its_keys():
    item = nn.ItemMemory(3, gated=False)
    keys, values = torch.eye(3), torch.arange(9.0).view(3, 3)
    memory = torch.zeros(1, 3, 3)
    for key, value in zip(keys, values):
        memory = item(memory, key[None], value[None])
    assert memory[0].tolist() == values.tolist() and (keys[1] @ memory[0]).tolist() == [3, 4, 5]
    assert list(item.state_dict()) == ["initial"]
    assert "width=3, gated=False, variant='authors'" in repr(item)


@pytest.mark.parametrize("variant", ["authors", "paper"])
def test_gradients_of_the_two_memories(variant):
    _, item, relational = two_memory_model(variant)
    wide = [torch.randn(1, 4).double() for _ in range(3)]
    slots, x = torch.rand(1, 2).double(), torch.randn(1, 3).double()

    def step(*_):
        memory = item(item.initial_state(1), *wide[:2], *([x] if variant == "paper" else []))
        return relational(relational.initial_state(1), memory, slots, wide[2])

    assert torch.autograd.gradcheck(step, (*item.parameters(), *relational.parameters()))


def test_the_two_memories_are_ordinary_modules():
    for make in (lambda: nn.ItemMemory(4), lambda: nn.RelationalMemory(2, 4)):
        memory, other = make(), make()
        other.load_state_dict(memory.state_dict())
        for same in (other, copy.deepcopy(memory), pickle.loads(pickle.dumps(memory))):
            for name, value in memory.state_dict().items():
                assert torch.equal(same.state_dict()[name], value)


def test_the_two_memories_name_what_does_not_fit():
    item, relational = nn.ItemMemory(4), nn.RelationalMemory(2, 4)
    memory, relations = item.initial_state(3), relational.initial_state(3)
    wide = torch.zeros(3, 4)
    with pytest.raises(ValueError, match=r"left has shape \[3, 5\], expected \[3, 4\]"):
        item(memory, torch.zeros(3, 5), wide)
    number = torch.tensor(1.0)
    with pytest.raises(ValueError, match=r"memory has shape \[\], expected \[1, 4, 4\]"):
        item(number, wide, wide)
    with pytest.raises(ValueError, match=r"memory has shape \[\], expected \[1, 2, 4, 4\]"):
        relational(number, memory, wide[:, :2], wide)
    with pytest.raises(ValueError, match=r"item has shape \[\]"):
        relational(relations, number, wide[:, :2], wide)
    with pytest.raises(ValueError, match="right is torch.float64 on cpu, expected torch.float32"):
        item(memory, wide, wide.double())
    with pytest.raises(ValueError, match=r"slots has shape \[3, 4\], expected \[3, 2\]"):
        relational(relations, memory, wide, wide)
    with pytest.raises(ValueError, match="variant is 'code', expected one of: authors, paper"):
        nn.RelationalMemory(2, 4, variant="code")
    with pytest.raises(ValueError, match="slots is 0, expected at least 1"):
        nn.RelationalMemory(0, 4)
    with pytest.raises(ValueError, match="inputs is 0, expected at least 1"):
        nn.ItemMemory(4, inputs=0, variant="paper")
    with pytest.raises(ValueError, match="inputs is missing"):
        nn.ItemMemory(4, variant="paper")
    with pytest.raises(ValueError, match="inputs is 3; it is for the gates of variant 'paper'"):
        nn.ItemMemory(4, inputs=3)
    with pytest.raises(ValueError, match="x is given"):
        item(memory, wide, wide, wide)
    with pytest.raises(ValueError, match="x is missing"):
        nn.ItemMemory(4, inputs=3, variant="paper")(memory, wide, wide)


SMALL = {
    "mosaic": lambda: nn.MemoryMosaic(
        vocabulary=30, window=16, layers=2, heads=2, channels=8, dropout=0.0
    ),
    "mosaic_v2": lambda: nn.MemoryMosaicV2(
        vocabulary=30, window=16, layers=2, heads=2, channels=8, dropout=0.0, longest_delay=1
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
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 2
    assert all(parameter.grad is not None for parameter in network.parameters())


def test_gradients_of_networks(network):
    network = network.double()
    x = input_of(network)
    parameters = tuple(network.parameters())
    with torch.no_grad():
        for parameter in parameters:  # |x| has none where it starts, at 0
            parameter.add_(0.01 * torch.rand_like(parameter))
    assert torch.autograd.gradcheck(lambda *_: network(x), parameters, fast_mode=True)


def test_networks_in_model_directories(network, tmp_path):
    network.save(tmp_path)
    loaded, x = type(network).load(tmp_path), input_of(network)
    assert loaded.fields == network.fields
    assert torch.equal(loaded(x), network(x))
    others = {nn.MemoryMosaic, nn.MemoryMosaicV2, nn.Gpt, nn.Stm} - {type(network)}
    for other in others:
        with pytest.raises(ValueError, match=f"of the kind {network.kind}, expected {other.kind}"):
            other.load(tmp_path)


def test_a_network_of_another_dtype_replaces_no_model_directory(network, tmp_path):
    """One that nothing could read."""
    network.save(tmp_path)
    for dtype, name in ((torch.double, "Double"), (torch.bfloat16, "BFloat16")):
        with pytest.raises(ValueError, match=f"is of type {name}, a model directory has float32"):
            copy.deepcopy(network).to(dtype).save(tmp_path)
    x = input_of(network)
    assert torch.equal(type(network).load(tmp_path)(x), network(x))
    network.double().float().save(tmp_path)


def test_parameters_of_networks_are_pytorchs(network):
    for parameter in network.parameters():  # DistributedDataParallel refuses uninitialised ones
        assert type(parameter) is torch.nn.Parameter
        assert not isinstance(parameter, torch.nn.parameter.UninitializedParameter)


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
    first = next(iter(dict(network.named_parameters())))
    network.get_parameter(first).requires_grad_(False)
    for other in (copy.deepcopy(network), pickle.loads(pickle.dumps(network))):
        learns = {name: parameter.requires_grad for name, parameter in other.named_parameters()}
        assert learns == {name: name != first for name in learns}
    state = network.state_dict()
    fresh = type(network)(**network.fields)
    fresh.load_state_dict(state)
    assert torch.equal(fresh(x), expected)


class Extended(nn.Gpt):
    """A network to which somebody added something."""

    def __init__(self, **fields):
        super().__init__(**fields)
        self.head = torch.nn.Linear(30, 4)
        self.tied = torch.nn.Linear(8, 30)
        self.tied.weight = next(self.parameters())
        self.register_buffer("counts", torch.zeros(3))
        self.note = ["mine"]

    def forward(self, tokens):
        return self.head(super().forward(tokens)) + self.counts.sum()


def doubled(module, inputs, output):
    return 2 * output


def test_copies_of_what_extends_a_network():
    network = Extended(vocabulary=30, window=16, layers=1, heads=2, channels=8, dropout=0.0).double()
    network.register_forward_hook(doubled)
    network.counts += 1
    tokens = torch.randint(30, (2, 5))
    expected = network(tokens)
    for other in (copy.deepcopy(network), pickle.loads(pickle.dumps(network))):
        assert torch.equal(other(tokens), expected)
        assert other.note == ["mine"] and other.note is not network.note
        assert other.tied.weight is next(other.parameters())
        other(tokens).sum().backward()
        assert [name for name, own in other.named_parameters() if own.grad is None] == ["tied.bias"]
        with torch.no_grad():
            for parameter in other.parameters():
                parameter.zero_()
        assert torch.equal(network(tokens), expected) and not torch.equal(other(tokens), expected)
    shallow = copy.copy(network)
    assert all(a is b for a, b in zip(shallow.parameters(), network.parameters()))
    assert torch.equal(shallow(tokens), expected)


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


def test_a_parameter_in_the_place_of_a_networks_own_is_refused(network, tmp_path):
    """The library would go on with its own."""
    x = input_of(network)
    path, parameter = next(iter(network.named_parameters()))
    below, _, name = path.rpartition(".")
    setattr(network.get_submodule(below), name, torch.nn.Parameter(parameter.detach().clone()))
    for use in (lambda: network(x), lambda: network.save(tmp_path)):
        with pytest.raises(ValueError, match=f"the parameter {path} was replaced; change it in place"):
            use()
    setattr(network.get_submodule(below), name, parameter)
    network(x)
    with pytest.raises(ValueError, match=f"the parameter {path} was replaced; change it in place"):
        functional_call(network, {path: parameter.detach().clone()}, (x,))
    network(x)


def test_numbers_of_other_libraries_are_sizes():
    sizes = {"window": 16, "layers": torch.tensor(1), "heads": 2, "channels": 8}
    assert nn.Gpt(vocabulary=30, **sizes).fields["layers"] == 1
    with pytest.raises(ValueError, match="not JSON compliant"):
        nn.Gpt(vocabulary=30, dropout=float("nan"))
    with pytest.raises(TypeError, match="a set was given"):
        nn.Gpt(vocabulary={30})


def test_dropout_of_networks():
    model = nn.MemoryMosaic(vocabulary=30, window=16, layers=1, heads=2, channels=8, dropout=0.5)
    tokens = torch.randint(30, (2, 5))
    assert not torch.equal(model(tokens), model(tokens))
    model.eval()
    assert torch.equal(model(tokens), model(tokens))


def test_training_draws_the_delay_of_long_term_memory():
    torch.manual_seed(1)
    sizes = {"vocabulary": 30, "window": 16, "layers": 1, "heads": 2, "channels": 8}
    model = nn.MemoryMosaicV2(**sizes, dropout=0.0, delay=1, longest_delay=8)
    tokens = torch.randint(30, (2, 16))
    drawn = [model(tokens) for _ in range(10)]
    assert not all(torch.equal(drawn[0], other) for other in drawn)
    model.eval()
    assert torch.equal(model(tokens), model(tokens))


def test_networks_refuse(tmp_path):
    with pytest.raises(tessera.UsageError, match="unknown key 'layer'.*'layers'"):
        nn.Gpt(layer=2)
    with pytest.raises(tessera.UsageError, match="token"):
        SMALL["gpt"]()(torch.full((1, 2), 30))
    with pytest.raises(FileNotFoundError):
        nn.Gpt.load(tmp_path / "nowhere")
    SMALL["gpt"]().save(tmp_path / "model")
    (tmp_path / "model/model.safetensors").write_bytes(b"no tensors")
    with pytest.raises(tessera.DataError, match="model.safetensors"):
        nn.Gpt.load(tmp_path / "model")
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        SMALL["gpt"]().save(tmp_path / "file/model")
