"""Model directories, as `tessera train` writes them: write, score, inspect."""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import Any, Iterator

import torch

from tessera import _networks
from tessera._answer import Answer
from tessera._model_jobs import ModelJobs
from tessera._page import Page
from tessera._progress import Progress, told
from tessera._stores import UsageError


class Inspection(Answer):
    """What Model.inspect answers. A notebook draws the page of the text."""

    def __init__(self, answer: Answer, model: Model | None, text: str) -> None:
        super().__init__(answer)
        self._model, self._text = model, text

    def weights(self) -> torch.Tensor:
        """The share of each position in what each head read, [L, H, T]. Positions that are not among the
        `memories` loudest of a head, as asked for, count as 0."""
        shares = torch.zeros(len(self.layers), len(self.layers[0].heads), len(self.tokens))
        for layer, block in enumerate(self.layers):
            for head, read in enumerate(block.heads):
                for pair in read.memories:
                    shares[layer, head, pair.position] = pair.weight
        return shares

    def _repr_html_(self) -> str | None:
        if self._model is None:
            return None
        try:
            return self._model.inspection_page(self._text)._repr_html_()
        except UsageError:  # the text is too long for a page
            return None

    def __reduce__(self) -> Any:
        return Inspection, (Answer(self), None, self._text)  # a model is not copied


class Model(ModelJobs):
    """A language model that is only read. Threads may share one; their calls take turns."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        weights: str | None = None,
        pairs: str | None = None,
        device: str | torch.device = "cpu",
    ) -> None:
        self._path = Path(path)
        self._path.stat()  # raises FileNotFoundError
        weights, pairs = weights and str(weights), pairs and str(pairs)  # a wrong type is a wrong name
        self._open = _networks.OpenModel(self._path, weights, pairs, str(device))

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

    def inspect(self, text: str, **options: Any) -> Inspection:
        return Inspection(super().inspect(text, **options), self, text)

    functools.update_wrapper(inspect, ModelJobs.inspect)

    def inspection_page(  # type: ignore[override]
        self, text: str, *, progress: Progress = None
    ) -> Page:
        """A text of at most 1024 tokens, of which every token shows the memories behind it.

        A notebook draws the page; save("text.html") makes a file that opens offline.
        """
        made = super().inspection_page(text, title=str(self._path), progress=progress)
        return Page(made.html)

    @property
    def end_of_text(self) -> str | None:
        """The name of the token that ends a text; prompts may contain it."""
        return self._open.end_of_text

    def session(self, prompt: str = "") -> Session:
        """A text that can be gone on with, and forked, without reading it again."""
        session = Session(self._open.session(), self)
        return session.read(prompt) if prompt else session

    def __repr__(self) -> str:
        return f"<tessera.Model {str(self._path)!r}>"


class Session:
    """What a model knows of a text that it has read: reading on costs the new tokens alone.

    model.session(prompt) begins one. fork() is cheap, and the fork goes on by itself.
    """

    def __init__(self, opened: Any, model: Model) -> None:
        self._open, self._model = opened, model

    @property
    def tokens(self) -> list[int]:
        """The ids of all that was read."""
        return list(self._open.tokens())

    @property
    def text(self) -> str:
        """All that was read, with the texts that generate() wrote."""
        return str(self._model.decode(self.tokens).text)

    def read(self, text: str) -> Session:
        """Reads on. Returns itself. Raises ValueError on an empty text."""
        self._open.read(text)
        return self

    def generate(self, *, progress: Progress = None, **options: Any) -> Answer:
        """Writes on, with the options of Model.generate() but its prompt, and reads what it writes. Raises
        ValueError where nothing was read yet."""
        with told(progress, "generate") as function:
            answer: Answer = self._open.generate(options, function)
        return answer

    def fork(self) -> Session:
        """Another session that has read the same."""
        return Session(self._open.fork(), self._model)

    def __repr__(self) -> str:
        return f"<tessera.Session of {len(self.tokens)} tokens>"


def load(
    path: str | os.PathLike[str],
    *,
    weights: str | None = None,
    pairs: str | None = None,
    device: str | torch.device = "cpu",
) -> Model:
    """The model in this directory.

    weights: the numbers of its matrices, "float32", "bf16" or "int8" (the directory's unless given). pairs:
    those of the pairs that its memories store ("float32" unless given). device: that runs it,
    "cpu" or, where LibTorch has it, "cuda". Raises FileNotFoundError where there is no such directory,
    DataError where it holds no model or that is damaged.
    """
    return Model(path, weights=weights, pairs=pairs, device=device)
