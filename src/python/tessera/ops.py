"""The library's tensor functions; `import tessera.ops` also registers them as torch.ops.tessera.

Shapes: B sequences, T steps, H heads of width D, V tokens, C channels, M slots. All are differentiable on
every device and dtype; on a CPU float32 runs fused loops. A wrong shape or dtype raises ValueError.
"""

# mypy: disable-error-code="no-any-return"
from __future__ import annotations

from typing import Any, Callable

import torch
from torch import Tensor

from tessera import _networks as _networks  # registers the ops

_ops: Any = getattr(torch, "ops").tessera


def _constant(value: float, name: str) -> float:
    """Raises ValueError where it is a tensor that requires a gradient, which an op would drop."""
    if isinstance(value, Tensor) and value.requires_grad:
        raise ValueError(f"{name} is a constant, but requires a gradient; pass a number, or its detach()")
    return value


def kernel_smoothing(keys: Tensor, values: Tensor, *, precision: str = "fp32") -> Tensor:
    """y_t = sum_{i < t} softmax_i(k_t . k_i) v_i, y_1 = 0 (Zhang et al. 2024, eq. 7).

    keys, values [B, T, H, D] -> [B, T, H, D]. precision: of the matrix products, "fp32" or "bf16".
    """
    return _ops.kernel_smoothing(keys, values, precision=precision)


def causal_attention(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    scale: float,
    *,
    alibi_slopes: Tensor | None = None,
    precision: str = "fp32",
) -> Tensor:
    """y_t = sum_{i <= t} softmax_i(scale q_t . k_i - slope_h (t - i)) v_i.

    queries, keys, values [B, T, H, D] -> [B, T, H, D]. scale and alibi_slopes [H] (Press et al. 2022) are
    constants: those that require a gradient raise ValueError.
    """
    scale = _constant(scale, "causal_attention: scale")
    return _ops.causal_attention(
        queries, keys, values, scale, alibi_slopes=alibi_slopes, precision=precision
    )


def leaky_average(x: Tensor, decay: Tensor, initial: Tensor | None = None) -> Tensor:
    """y_t = x_t + decay_h y_{t-1} (Zhang et al. 2024, the keys of a contextual memory).

    x [B, T, H, D], decay [H] in [0, 1] -> [B, T, H, D]. initial [B, H, D] is y_0 (zero if None), so that a
    sequence may be read in pieces.
    """
    return _ops.leaky_average(x, decay, initial)


def peek_average(x: Tensor, mix: Tensor) -> Tensor:
    """y_t = mix_h x_t + (1 - mix_h) x_{t+1}, x_{T+1} = 0 (Zhang et al. 2024, the values).

    x [B, T, H, D], mix [H], any real -> [B, T, H, D].
    """
    return _ops.peek_average(x, mix)


def scaled_unit_norm(x: Tensor, scale: Tensor, epsilon: float) -> Tensor:
    """y = scale_h x / (|x| + epsilon), |x| over the last dimension (Zhang et al. 2024).

    x [.., H, D], scale [H] -> [.., H, D]. epsilon: 0 or more; with 0 a zero vector becomes NaN. At x = 0
    the norm's own gradient is taken as zero.
    """
    return _ops.scaled_unit_norm(x, scale, _constant(epsilon, "scaled_unit_norm: epsilon"))


def slot_read(
    queries: Tensor, slot_keys: Tensor, slot_values: Tensor, *, precision: str = "fp32"
) -> Tensor:
    """y_t = sum_m softmax_m(q_t . slot_key_m) slot_value_m (Zhang et al. 2024, appendix D.1).

    queries [B, T, H, D], slot_keys, slot_values [H, M, D] -> [B, T, H, D].
    """
    return _ops.slot_read(queries, slot_keys, slot_values, precision=precision)


def outer_product_attention(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """A(q, K, V) = sum_j tanh(q * k_j) (x) v_j (Le et al. 2020, eq. 2).

    queries [B, Nq, D], keys [B, Nk, D], values [B, Nk, E] -> [B, Nq, D, E].
    """
    return _ops.outer_product_attention(queries, keys, values)


def linear_cross_entropy(
    hidden: Tensor,
    embedding: Tensor,
    logit_scale: float,
    targets: Tensor,
    *,
    ignore_index: int = -100,
    precision: str = "fp32",
) -> Tensor:
    """Mean cross entropy (nats) of targets under logits = logit_scale hidden embedding^T.

    The logits [N, V] never exist whole. hidden [N, C], embedding [V, C], targets [N] int64 in [0, V) or
    ignore_index -> a scalar; 0 where no row counts.
    """
    logit_scale = _constant(logit_scale, "linear_cross_entropy: logit_scale")
    return _ops.linear_cross_entropy(
        hidden, embedding, logit_scale, targets, ignore_index=ignore_index, precision=precision
    )


def gated_write(
    memory: Tensor,
    left: Tensor,
    right: Tensor,
    gate_weight: Tensor,
    gate_input: Tensor,
    *,
    form: str = "sigmoid",
) -> Tensor:
    """M' = F * M + I * (left (x) right), [I, F] = tanh(M) gate_weight^T + gate_input (Le et al. 2020, eq. 10).

    memory [B, D, D], left, right [B, D], gate_weight [2D, D], gate_input [B, 2D] -> [B, D, D]. form:
    "sigmoid" (the authors' code: of the gates, and tanh of what is written) or "linear" (the paper, whose
    gates are those of the transposed M, with right for left).
    """
    return _ops.gated_write(memory, left, right, gate_weight, gate_input, form=form)


def _floating(arguments: tuple[Any, ...]) -> list[Tensor]:
    """The tensors of floating-point numbers among the arguments of an op."""
    lists = [argument if isinstance(argument, list) else [argument] for argument in arguments]
    return [x for list in lists for x in list if isinstance(x, Tensor) and x.is_floating_point()]


def _register_sizes() -> None:
    """Tells PyTorch, while it traces a program, how large a result is; what 2.4 and later ask for."""
    sizes: dict[str, Callable[..., Any]] = {
        "outer_product_attention": lambda queries, keys, values: (*queries.shape, values.shape[-1]),
        "linear_cross_entropy": lambda *_, **__: (),
    }
    as_first = ["kernel_smoothing", "causal_attention", "leaky_average", "peek_average"]
    as_first += ["scaled_unit_norm", "slot_read", "gated_write", "context_memory", "persistent_memory"]
    sizes.update({name: lambda first, *_, **__: first.shape for name in as_first})

    def empty(size: Callable[..., Any]) -> Callable[..., Tensor]:
        return lambda first, *others, **options: first.new_empty(size(first, *others, **options))

    def gradients(_: Tensor, wanted: list[bool], *arguments: Any, **options: Any) -> list[Tensor]:
        tensors = _floating(arguments + tuple(options.values()))
        return [x.new_empty(x.shape) for x, is_wanted in zip(tensors, wanted) if is_wanted]

    for name, size in sizes.items():
        torch.library.register_fake(f"tessera::{name}", empty(size))
        torch.library.register_fake(f"tessera::{name}_gradient", gradients)


if hasattr(torch.library, "register_fake"):
    _register_sizes()
