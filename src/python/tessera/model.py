"""Model directories, as `tessera train` writes them: write, score, inspect."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Iterator

from tessera import _networks
from tessera._model_jobs import ModelJobs


class Model(ModelJobs):
    """A language model that is only read. Threads may share one; their calls take turns."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        weights: str | None = None,
        pairs: str | None = None,
    ) -> None:
        self._path = Path(path)
        self._open = _networks.OpenModel(self._path, weights, pairs)

    @property
    def path(self) -> Path:
        """Its directory."""
        return self._path

    def stream(self, prompt: str, **options: Any) -> Iterator[str]:
        """The text that generate() writes, piece by piece as it comes: whole characters.

        Takes the options of generate() but progress.
        """
        written = self._open.stream({"prompt": prompt, **options})
        return (text for text in written if text)

    def __repr__(self) -> str:
        return f"<tessera.Model {str(self._path)!r}>"


def load(
    path: str | os.PathLike[str], *, weights: str | None = None, pairs: str | None = None
) -> Model:
    """The model in this directory.

    weights: the numbers of its matrices, "float32", "bf16" or "int8" (the directory's unless given). pairs:
    those of the pairs that its memories store ("float32" unless given). Raises DataError where the
    directory holds no model or it is damaged.
    """
    return Model(path, weights=weights, pairs=pairs)
