"""Memories as torch.nn.Modules, one line in a network of your own; and whole networks of them.

They compute what the C++ modules of the same names compute, by the same functions. The initial parameters
are drawn from PyTorch's generator (torch.manual_seed).
"""

# mypy: disable-error-code="no-any-return"
from __future__ import annotations

import json
import os
from typing import Any, TypeVar

import torch
from torch import Tensor

from tessera.ops import _ops


def _new_seed() -> int:
    return int(torch.randint(2**63 - 1, ()))


def _register(module: torch.nn.Module, parameters: dict[str, Tensor]) -> None:
    """Registers each by its path, "blocks.0.norm.weight", in modules below this one."""
    for path, value in parameters.items():
        *modules, name = path.split(".")
        owner = module
        for below in modules:
            if below not in owner._modules:
                owner.add_module(below, torch.nn.Module())
            owner = owner.get_submodule(below)
        owner.register_parameter(name, value)


class _MosaicMemory(torch.nn.Module):
    """What both memories of Memory Mosaics have in common."""

    def __init__(self, parameters: dict[str, Tensor], dropout: float, sizes: dict[str, Any]) -> None:
        super().__init__()
        self.dropout = dropout
        self._sizes = sizes
        _register(self, {name: torch.nn.Parameter(value) for name, value in parameters.items()})

    def _options(self) -> dict[str, Any]:
        """Arguments of the op, with a new seed where there is dropout."""
        seed = _new_seed() if self.training and self.dropout > 0 else None
        return {**self._sizes, "dropout": self.dropout, "dropout_seed": seed}

    def extra_repr(self) -> str:
        values = {**self._sizes, "dropout": self.dropout}
        return ", ".join(f"{name}={value!r}" for name, value in values.items())


class ContextMemory(_MosaicMemory):
    """A contextual memory (Zhang et al. 2024, section 3, eq. 7): x [B, T, C] -> [B, T, C].

    It stores the key-value pairs of the sequence that it reads, and answers each key by kernel smoothing
    over the pairs before it.

    channels: C. heads: H, divides C. bias: biases in the linear maps. dropout: probability, on the
    smoothing weights and on the output, while training. parameterisation: "paper" or "nano"
    (nanoMosaics); they differ in the cap of the key scale. precision: of the matrix products, "fp32" or
    "bf16". Raises ValueError on sizes that make no sense, and where x does not fit in shape or dtype.
    """

    def __init__(
        self,
        channels: int,
        heads: int,
        *,
        bias: bool = False,
        dropout: float = 0.0,
        parameterisation: str = "paper",
        precision: str = "fp32",
    ) -> None:
        sizes = {
            "channels": channels,
            "heads": heads,
            "bias": bias,
            "parameterisation": parameterisation,
        }
        parameters = _ops.context_memory_parameters(**sizes)
        super().__init__(parameters, dropout, {**sizes, "precision": precision})

    def forward(self, x: Tensor) -> Tensor:
        """x [B, T, C] -> [B, T, C]; the first step has nothing to read."""
        return _ops.context_memory(x, list(self.parameters()), **self._options())


class PersistentMemory(_MosaicMemory):
    """A persistent memory (Zhang et al. 2024, appendix D.1): x [B, T, C] -> [B, T, C].

    It takes the place of a feed-forward layer. The stored pairs are parameters: slots (M) for each head,
    drawn with a standard deviation of 1 / sqrt(D). count: independent memories whose readings are
    averaged (the paper: 1). The other arguments are those of ContextMemory.
    """

    def __init__(
        self,
        channels: int,
        heads: int,
        slots: int,
        *,
        count: int = 1,
        bias: bool = False,
        dropout: float = 0.0,
        parameterisation: str = "paper",
        precision: str = "fp32",
    ) -> None:
        sizes = {
            "channels": channels,
            "heads": heads,
            "slots": slots,
            "count": count,
            "bias": bias,
            "parameterisation": parameterisation,
        }
        parameters = _ops.persistent_memory_parameters(**sizes)
        for name in ("slot_keys", "slot_values"):
            torch.nn.init.normal_(parameters[name], std=(channels // heads) ** -0.5)
        super().__init__(parameters, dropout, {**sizes, "precision": precision})

    def forward(self, x: Tensor) -> Tensor:
        """x [B, T, C] -> [B, T, C], from the start of a sequence."""
        return _ops.persistent_memory(x, list(self.parameters()), **self._options())


class CorrelationMemory(torch.nn.Module):
    """A correlation matrix memory (Kohonen 1972; Zanzotto et al. 2025, eq. 1): C, the sum of key^T value.

    A key gives back its value with weight |k|^2, and of every other value its key's share k . k'. Keys are
    [n, K] and values [n, D], or one pair [K] and [D]. C [K, D] is the buffer `matrix`: it is stored into
    without gradients, and retrieving is differentiable in the keys. Raises ValueError where a shape or
    dtype does not fit; the memory is then as before.
    """

    matrix: Tensor

    def __init__(self, rows: int, columns: int) -> None:
        super().__init__()
        self.register_buffer("matrix", torch.zeros(rows, columns))

    def store(self, keys: Tensor, values: Tensor) -> None:
        """C + keys^T values."""
        _ops.correlation_store(self.matrix, keys, values)

    def forget(self, keys: Tensor, values: Tensor) -> None:
        """C - keys^T values: removes pairs that were stored, up to rounding."""
        _ops.correlation_forget(self.matrix, keys, values)

    def merge(self, other: CorrelationMemory) -> None:
        """C + the other's C: the pairs of both."""
        _ops.correlation_merge(self.matrix, other.matrix)

    def forward(self, keys: Tensor) -> Tensor:
        """What is stored under the keys, keys C: [n, D] or [D]."""
        return _ops.correlation_retrieve(self.matrix, keys)

    def extra_repr(self) -> str:
        rows, columns = self.matrix.shape
        return f"rows={rows}, columns={columns}"


_Self = TypeVar("_Self", bound="_Network")


class _Network(torch.nn.Module):
    """A whole network of the library, on the CPU, in float32 or float64.

    Its parameters are the library's own tensors, under the names that model directories have.
    """

    kind: str  # as the table [model] of a configuration names it

    def __init__(self, **fields: Any) -> None:
        super().__init__()
        self._adopt(_ops.new_network(self.kind, json.dumps(fields), _new_seed()))

    def _adopt(self, network: Any) -> None:
        self._network = network
        self._fields = json.loads(_ops.network_table(network))
        kind = self._fields.pop("kind")
        if kind != self.kind:
            raise ValueError(f"the model is of the kind {kind}, expected {self.kind}")
        parameters = _ops.network_parameters(network)
        for parameter in parameters.values():
            parameter._is_param = True  # a torch.nn.Parameter would be another tensor
        _register(self, parameters)

    @classmethod
    def _adopted(cls: type[_Self], network: Any) -> _Self:
        module = cls.__new__(cls)
        torch.nn.Module.__init__(module)
        module._adopt(network)
        return module

    @classmethod
    def load(cls: type[_Self], path: str | os.PathLike[str]) -> _Self:
        """The network in a model directory. Raises DataError where there is none of this kind."""
        return cls._adopted(_ops.load_network(os.fspath(path)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes config.json and model.safetensors, which tessera.load and the program read beside a
        tokenizer.json."""
        _ops.save_network(self._network, os.fspath(path))

    @property
    def fields(self) -> dict[str, Any]:
        """Its hyper-parameters, as the table [model] of a configuration has them."""
        return dict(self._fields)

    def _seed(self) -> int | None:
        return _new_seed() if self.training and self._fields.get("dropout", 0) > 0 else None

    def forward(self, x: Tensor) -> Tensor:
        return _ops.network_forward(self._network, x, self._seed())

    def __reduce__(self) -> Any:
        return _restored, (type(self), self._fields, self.state_dict(), self.training)

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in self._fields.items())


def _restored(
    cls: type[_Self], fields: dict[str, Any], state: dict[str, Tensor], training: bool
) -> _Self:
    module = cls._adopted(_ops.new_network(cls.kind, json.dumps(fields), 0))
    for dtype in {value.dtype for value in state.values()}:
        module.to(dtype)
    module.load_state_dict(state)
    return module.train(training)


class _LanguageModel(_Network):
    def forward(self, tokens: Tensor) -> Tensor:
        """tokens [B, T] int64 -> the logits of the tokens after them, [B, T, V]."""
        return super().forward(tokens)

    def loss(self, tokens: Tensor, targets: Tensor) -> Tensor:
        """Mean cross entropy (nats) of targets [B, T], of which -1 does not count; without the logits,
        so that it needs less memory."""
        return _ops.network_loss(self._network, tokens, targets, self._seed())


class MemoryMosaic(_LanguageModel):
    """The language model of contextual and persistent memories (Zhang et al. 2024, figure 5)."""

    kind = "memory_mosaic"


class Gpt(_LanguageModel):
    """A transformer decoder after GPT-2, the baseline."""

    kind = "gpt"


class Stm(_Network):
    """The two-memory model (Le et al. 2020): x [B, T, inputs] -> [B, T, outputs]."""

    kind = "stm"


for _kind in (MemoryMosaic, Gpt, Stm):
    _kind.__doc__ = f"{_kind.__doc__}\n\n    Arguments, by name:\n\n{_ops.describe_fields(_kind.kind)}"
