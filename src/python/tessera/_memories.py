"""The memories of Memory Mosaics and the correlation matrix memory, each as a torch.nn.Module."""

# mypy: disable-error-code="no-any-return"
from __future__ import annotations

from typing import Any, Callable

import torch
from torch import Tensor

from tessera._stores import UsageError
from tessera.ops import _ops


def new_seed() -> int:
    return int(torch.randint(2**63 - 1, ()))


def register(module: torch.nn.Module, parameters: dict[str, Tensor]) -> None:
    """Registers each by its path, "blocks.0.norm.weight", in modules below this one."""
    for path, value in parameters.items():
        *modules, name = path.split(".")
        owner = module
        for below in modules:
            if below not in owner._modules:
                owner.add_module(below, torch.nn.Module())
            owner = owner.get_submodule(below)
        owner.register_parameter(name, value)


def found(module: torch.nn.Module, path: str) -> Any:
    """What the module computes with in the place of this parameter: what a parametrization gives, or
    functional_call(). Raises UsageError where a hook of a module below it computes that, because only the
    module itself is called."""
    *below, name = path.split(".")
    owner = module
    for step in below:
        owner = getattr(owner, step)
    value = getattr(owner, name)
    hooked = name not in owner._parameters and owner._forward_pre_hooks
    if hooked and not isinstance(value, torch.nn.Parameter) and owner is not module:
        raise UsageError(
            f"the parameter {path} is computed by a hook (prune, weight_norm), which is not run here; use "
            "torch.nn.utils.parametrize, or prune.remove() before the call"
        )
    return value


class _MosaicMemory(torch.nn.Module):
    """What both memories of Memory Mosaics have in common."""

    def __init__(
        self,
        draw: Callable[..., dict[str, Tensor]],
        channels: int,
        heads: int,
        bias: bool,
        dropout: float,
        parameterisation: str,
        precision: str,
        **slots: int,
    ) -> None:
        super().__init__()
        self._sizes: dict[str, Any] = {"channels": channels, "heads": heads, **slots, "bias": bias}
        self._sizes.update(parameterisation=parameterisation, precision=precision)
        self.dropout = dropout
        parameters = draw(**self._sizes, dropout=dropout)
        self._paths = tuple(parameters)
        register(self, {name: torch.nn.Parameter(value) for name, value in parameters.items()})

    def _tensors(self) -> list[Tensor]:
        return [found(self, path) for path in self._paths]

    def _options(self) -> dict[str, Any]:
        """Arguments of the op, with a new seed where there is dropout."""
        seed = new_seed() if self.training and self.dropout > 0 else None
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
    "bf16". Raises ValueError on arguments that make no sense, and where x does not fit in shape or dtype.
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
        draw = _ops.context_memory_parameters
        super().__init__(draw, channels, heads, bias, dropout, parameterisation, precision)

    def forward(self, x: Tensor) -> Tensor:
        """x [B, T, C] -> [B, T, C]; the first step has nothing to read."""
        return _ops.context_memory(x, self._tensors(), **self._options())


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
        draw, numbers = _ops.persistent_memory_parameters, {"slots": slots, "count": count}
        super().__init__(draw, channels, heads, bias, dropout, parameterisation, precision, **numbers)

    def forward(self, x: Tensor) -> Tensor:
        """x [B, T, C] -> [B, T, C], from the start of a sequence."""
        return _ops.persistent_memory(x, self._tensors(), **self._options())


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
        if rows < 1 or columns < 1:
            raise ValueError(
                f"CorrelationMemory: {rows} rows and {columns} columns; expected at least 1 of each"
            )
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
