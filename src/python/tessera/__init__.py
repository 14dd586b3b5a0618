"""Networks of associative memories: stores of documents, memories for PyTorch, models.

What needs PyTorch (`load`, `Model`, `nn`, `ops`) is loaded when it is first used.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

from tessera._answer import Answer
from tessera._functions import plan
from tessera._stores import DataError, UsageError, __version__
from tessera.program import Run, Study, study, train
from tessera.store import Store

if TYPE_CHECKING:
    from tessera import nn, ops
    from tessera.model import Model, load

__all__ = [
    "Answer",
    "DataError",
    "Model",
    "Run",
    "Store",
    "Study",
    "UsageError",
    "__version__",
    "load",
    "nn",
    "ops",
    "plan",
    "study",
    "train",
]


_NEED_TORCH = {"Model", "load", "nn", "ops"}


def __getattr__(name: str) -> Any:
    if name not in _NEED_TORCH:
        raise AttributeError(f"module 'tessera' has no attribute {name!r}")
    if name in ("nn", "ops"):
        return importlib.import_module(f"tessera.{name}")
    return getattr(importlib.import_module("tessera.model"), name)


def __dir__() -> list[str]:
    """What can be had here: help() asks for each of them."""
    has_torch = importlib.util.find_spec("torch") is not None
    return [name for name in __all__ if has_torch or name not in _NEED_TORCH]
