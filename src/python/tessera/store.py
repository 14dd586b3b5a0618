"""Stores of documents: memorize, recite with sources, forget exactly."""

from __future__ import annotations

import os
from pathlib import Path

from tessera import _stores
from tessera._store_jobs import StoreJobs


class Store(StoreJobs):
    """The store of documents in a folder, open for reading and for edits. Raises FileNotFoundError where
    there is no such folder, DataError where it holds no store or that is damaged.

    An edit is safe on disk when its call returns. The matrix is written, and the text of replaced
    documents is erased, at the next question or when the store is closed; until then no other process can
    write to the store. Threads may share a Store; their calls take turns.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._path.stat()  # raises FileNotFoundError
        self._open = _stores.OpenStore(self._path)

    @property
    def path(self) -> Path:
        """Its folder."""
        return self._path

    @property
    def closed(self) -> bool:
        """Whether close() was called."""
        return self._open.closed

    def close(self) -> None:
        """Writes what is left to write. Questions and edits are refused from then on. May be called twice."""
        self._open.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<tessera.Store {str(self._path)!r}{' (closed)' if self.closed else ''}>"
