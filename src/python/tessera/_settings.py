"""Settings of networks and trainings as the library reads them."""

from __future__ import annotations

import json
import os
from typing import Any


def _plain(value: Any) -> Any:
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "tolist"):  # of NumPy or PyTorch
        return value.tolist()
    raise TypeError(f"a {type(value).__name__} was given, expected a bool, a number, a str, a path or a list")


def json_text(value: Any) -> str:
    """As JSON, which for all but None and tables is also TOML. Raises TypeError and ValueError on what has
    no such form."""
    return json.dumps(value, default=_plain, ensure_ascii=False, allow_nan=False)
