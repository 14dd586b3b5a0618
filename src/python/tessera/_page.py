"""Pages that a notebook draws."""

from __future__ import annotations

import html
import os
from pathlib import Path


class Page:
    """An HTML page that loads nothing."""

    def __init__(self, html: str) -> None:
        self.html = html

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes it to a file."""
        Path(path).write_text(self.html, encoding="utf-8")

    def _repr_html_(self) -> str:
        frame = "width: 100%; height: 40rem; border: 0"
        return f'<iframe style="{frame}" srcdoc="{html.escape(self.html)}"></iframe>'

    def __repr__(self) -> str:
        return f"<tessera.Page of {len(self.html)} characters>"
