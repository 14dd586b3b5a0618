"""The library's tensor functions; `import tessera.ops` also registers them as torch.ops.tessera.

Shapes: B sequences, T steps, H heads of width D, V tokens, C channels, M slots. All are differentiable on
every device and dtype; on a CPU float32 runs fused loops. A wrong shape or dtype raises ValueError.
"""

# mypy: disable-error-code="no-any-return"
from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from tessera import _networks as _networks  # registers the ops

_ops: Any = getattr(torch, "ops").tessera


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

    queries, keys, values [B, T, H, D] -> [B, T, H, D]. alibi_slopes [H] (Press et al. 2022) are constants.
    """
    return _ops.causal_attention(
        queries, keys, values, scale, alibi_slopes=alibi_slopes, precision=precision
    )


def leaky_average(x: Tensor, decay: Tensor, initial: Tensor | None = None) -> Tensor:
    """y_t = x_t + decay_h y_{t-1} (Zhang et al. 2024, the keys of a contextual memory).

    x [B, T, H, D], decay [H] in [0, 1), initial [B, H, D] is y_0 (zero if None) -> [B, T, H, D].
    """
    return _ops.leaky_average(x, decay, initial)


def peek_average(x: Tensor, mix: Tensor) -> Tensor:
    """y_t = mix_h x_t + (1 - mix_h) x_{t+1}, x_{T+1} = 0 (Zhang et al. 2024, the values).

    x [B, T, H, D], mix [H] -> [B, T, H, D].
    """
    return _ops.peek_average(x, mix)


def scaled_unit_norm(x: Tensor, scale: Tensor, epsilon: float) -> Tensor:
    """y = scale_h x / (|x| + epsilon), |x| over the last dimension (Zhang et al. 2024).

    x [.., H, D], scale [H] -> [.., H, D].
    """
    return _ops.scaled_unit_norm(x, scale, epsilon)


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
    return _ops.linear_cross_entropy(
        hidden, embedding, logit_scale, targets, ignore_index=ignore_index, precision=precision
    )
