"""What a job answers."""

from __future__ import annotations

from typing import Any


class Answer(dict[str, Any]):
    """An answer of the library: a dict whose keys are also attributes, `answer.text`.

    Names that a dict has itself stay its own: a number of items is `answer["items"]`. The content is the
    JSON object that the program prints with --json. It is changed as a dict; an attribute cannot be set.
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            known = ", ".join(self)
            raise AttributeError(f"the answer has no '{name}', it has: {known}") from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]

    def __repr__(self) -> str:
        return f"Answer({super().__repr__()})"
