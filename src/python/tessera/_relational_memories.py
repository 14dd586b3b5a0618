"""The two memories of the two-memory model, each as a torch.nn.Module."""

from __future__ import annotations

import torch
from torch import Tensor

from tessera import ops
from tessera._memories import found

_VARIANTS = ("authors", "paper")


def _check_options(variant: str, **sizes: int | None) -> None:
    if variant not in _VARIANTS:
        raise ValueError(f"variant is {variant!r}, expected one of: {', '.join(_VARIANTS)}")
    for name, size in sizes.items():
        if size is not None and size < 1:
            raise ValueError(f"{name} is {size}, expected at least 1")


def _check(name: str, tensor: Tensor, sizes: tuple[int, ...], like: Tensor) -> None:
    """Raises ValueError unless the tensor has these sizes, and dtype and device of a parameter."""
    if tensor.shape != sizes:
        raise ValueError(f"{name} has shape {list(tensor.shape)}, expected {list(sizes)}")
    if (tensor.dtype, tensor.device) != (like.dtype, like.device):
        given, expected = f"{tensor.dtype} on {tensor.device}", f"{like.dtype} on {like.device}"
        raise ValueError(f"{name} is {given}, expected {expected}")


def _batch(tensor: Tensor) -> int:
    """B of a state, also of a number, which _check() then refuses."""
    return len(tensor) if tensor.dim() else 1


class ItemMemory(torch.nn.Module):
    """The item memory M [B, D, D] of the two-memory model (Le et al. 2020, eq. 9, 10, appendix D).

    An associative memory that each step writes one outer product into, through an input and a forget
    gate: M' = F * M + I * (left (x) right). Without gates M' = M + left (x) right; a key is then
    answered by key @ M.

    width: D. variant: "authors" (their code: the gates are tanh(M) U^T, they see `left`, they pass a
    sigmoid, and what is written passes tanh) or "paper" (the gates are U tanh(M), they see x, and nothing
    is squashed). inputs: width of that x, for the gates of variant "paper" only. The state is not part
    of the module: a step takes it and returns the next one. Parameters and their names are those of an
    Stm's `cell.item`.
    """

    def __init__(
        self, width: int, *, inputs: int | None = None, gated: bool = True, variant: str = "authors"
    ) -> None:
        super().__init__()
        _check_options(variant, width=width, inputs=inputs)
        of_paper = variant == "paper"
        if (inputs is not None) != (gated and of_paper):
            given = "missing" if inputs is None else inputs
            raise ValueError(f"inputs is {given}; it is for the gates of variant 'paper', which see x")
        self.width, self.gated, self.variant = width, gated, variant
        self.initial = torch.nn.Parameter(torch.empty(width, width))
        torch.nn.init.uniform_(self.initial, -((2 * width) ** -0.5), (2 * width) ** -0.5)
        if gated:
            self.input_gate = torch.nn.Linear(inputs or width, 2 * width, bias=not of_paper)
            self.memory_gate = torch.nn.Linear(width, 2 * width, bias=not of_paper)
            self.input_bias = torch.nn.Parameter(torch.zeros(()))
            self.forget_bias = torch.nn.Parameter(torch.ones(()))

    def initial_state(self, batch: int) -> Tensor:
        """M before the first step, which is learned: [B, D, D]."""
        return self.initial.expand(batch, -1, -1)

    def forward(self, memory: Tensor, left: Tensor, right: Tensor, x: Tensor | None = None) -> Tensor:
        """One write: memory [B, D, D], left and right [B, D], x [B, inputs] for variant "paper" ->
        the memory after it, [B, D, D]. Raises ValueError on a shape or dtype that does not fit."""
        batch, width = _batch(memory), self.width
        _check("ItemMemory: memory", memory, (batch, width, width), self.initial)
        _check("ItemMemory: left", left, (batch, width), self.initial)
        _check("ItemMemory: right", right, (batch, width), self.initial)
        if (x is not None) != (self.gated and self.variant == "paper"):
            state = "missing" if x is None else "given"
            raise ValueError(f"ItemMemory: x is {state}; the gates of variant 'paper' see it, and no others")
        if not self.gated:
            return memory + left[:, :, None] * right[:, None, :]
        seen = left if x is None else x
        if x is not None:
            _check("ItemMemory: x", x, (batch, self.input_gate.in_features), self.initial)
        bias = torch.cat([self.input_bias.expand(width), self.forget_bias.expand(width)])
        if self.memory_gate.bias is not None:
            bias = bias + self.memory_gate.bias
        weight, gates = found(self, "memory_gate.weight"), self.input_gate(seen) + bias
        if self.variant == "authors":
            return ops.gated_write(memory, left, right, weight, gates)
        # Gates U tanh(M), with what x adds in every column: those of the transposed memory.
        return ops.gated_write(memory.mT, right, left, weight, gates, form="linear").mT

    def extra_repr(self) -> str:
        return f"width={self.width}, gated={self.gated}, variant={self.variant!r}"


class _SelfAttention(torch.nn.Module):
    """Associates N queries from a matrix memory with all its keys and values (Le et al. 2020, eq. 4-8)."""

    def __init__(self, slots: int, width: int, variant: str) -> None:
        super().__init__()
        self.of_paper = variant == "paper"
        self.projection = torch.nn.Linear(width, 3 * slots, bias=not self.of_paper)
        sizes = (3, width) if self.of_paper else (width, 3 * slots)
        self.norm_weight = torch.nn.Parameter(torch.ones(sizes))
        self.norm_bias = torch.nn.Parameter(torch.zeros(sizes))

    def forward(self, item: Tensor) -> Tensor:
        """item [B, D, D] -> S [B, N, D, D]."""
        norm = torch.nn.functional.layer_norm
        if self.of_paper:  # rows of W M, each normalised
            rows = found(self, "projection.weight") @ item  # [B, 3N, D]
            normal = norm(rows, rows.shape[-1:]).unflatten(1, (3, -1))
            parts = (normal * self.norm_weight[:, None] + self.norm_bias[:, None]).unbind(1)
        else:  # columns of M W^T + bias, normalised together
            columns = self.projection(item)  # [B, D, 3N]
            normal = norm(columns, self.norm_weight.shape, self.norm_weight, self.norm_bias)
            parts = normal.transpose(1, 2).chunk(3, 1)
        return ops.outer_product_attention(*parts)  # of queries, keys, values [B, N, D]


class RelationalMemory(torch.nn.Module):
    """The relational memory R [B, N, D, D] of the two-memory model (Le et al. 2020, eq. 4-8, 11-13).

    It keeps how the items of an item memory M [B, D, D] relate to one another. A step reads v from R,
    forms S, the associations of what M + alpha2 v (x) pattern holds, writes S into R, and transfers
    alpha3 times a linear map of it to M.

    slots: N. width: D. alpha1, alpha2, alpha3: the first values of these learned weights. variant:
    "authors" (their code: R' = alpha1 R + S; the pattern is compared with keys; S is transferred, its
    values along the columns of M) or "paper" (R' = R + alpha1 S; it is compared with values; R' is
    transferred, its values along the rows). The state is not part of the module: a step takes it and
    returns the next one. Parameters and their names are those of an Stm's `cell.relational`, and below
    `self_attention` those of its `cell.self_attention`.
    """

    def __init__(
        self,
        slots: int,
        width: int,
        *,
        alpha1: float = 0.0,
        alpha2: float = 0.0,
        alpha3: float = 0.0,
        variant: str = "authors",
    ) -> None:
        super().__init__()
        _check_options(variant, slots=slots, width=width)
        self.slots, self.width, self.variant = slots, width, variant
        self.alpha1 = torch.nn.Parameter(torch.tensor([float(alpha1)]))
        self.alpha2 = torch.nn.Parameter(torch.tensor([float(alpha2)]))
        self.alpha3 = torch.nn.Parameter(torch.tensor([float(alpha3)]))
        self.transfer = torch.nn.Linear(slots * width, width)
        self.self_attention = _SelfAttention(slots, width, variant)
        bound = (2 * width + slots) ** -0.5
        self.initial = torch.nn.Parameter(torch.empty(slots, width, width).uniform_(-bound, bound))

    def initial_state(self, batch: int) -> Tensor:
        """R before the first step, which is learned: [B, N, D, D]."""
        return self.initial.expand(batch, -1, -1, -1)

    def read(self, memory: Tensor, slots: Tensor, pattern: Tensor) -> Tensor:
        """What R [B, N, D, D] has for a pattern [B, D], its N matrices weighted by slots [B, N]: [B, D]
        (eq. 11)."""
        batch, width = _batch(memory), self.width
        _check("RelationalMemory: memory", memory, (batch, self.slots, width, width), self.initial)
        _check("RelationalMemory: slots", slots, (batch, self.slots), self.initial)
        _check("RelationalMemory: pattern", pattern, (batch, width), self.initial)
        matrix = torch.einsum("bn,bnde->bde", slots, memory)
        if self.variant == "authors":
            matrix = matrix.transpose(1, 2)
        return (matrix @ pattern[:, :, None])[:, :, 0]

    def forward(
        self, memory: Tensor, item: Tensor, slots: Tensor, pattern: Tensor
    ) -> tuple[Tensor, Tensor]:
        """One step: R [B, N, D, D], M [B, D, D], slots [B, N] and pattern [B, D] of the read -> R and M
        after it. Raises ValueError on a shape or dtype that does not fit."""
        read = self.read(memory, slots, pattern)
        _check("RelationalMemory: item", item, (len(memory), *self.initial.shape[1:]), self.initial)
        joined = item + self.alpha2 * read[:, :, None] * pattern[:, None, :]
        associations = self.self_attention(joined)  # S [B, N, D, D]
        if self.variant == "authors":
            memory = self.alpha1 * memory + associations
            source = associations
        else:
            memory = source = memory + self.alpha1 * associations
        transferred = self.transfer(source.permute(0, 3, 1, 2).flatten(2))  # [B, D, D]
        if self.variant == "paper":
            transferred = transferred.mT
        return memory, item + self.alpha3 * transferred

    def extra_repr(self) -> str:
        return f"slots={self.slots}, width={self.width}, variant={self.variant!r}"
