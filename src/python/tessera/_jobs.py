"""Methods made from the declarations that the program's verbs and routes are made from."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any, Callable

from tessera._answer import Answer
from tessera._progress import told

_PATH = Answer(name="path", help="folder of the new store", type="StrPath", required=True)


def _signature(first: str | None, fields: list[Answer], returns: str) -> inspect.Signature:
    """(first, the required fields, *, the others, progress), with annotations as texts."""
    kinds = inspect.Parameter
    parameters = [kinds(first, kinds.POSITIONAL_OR_KEYWORD)] if first else []
    for field in sorted(fields, key=lambda field: not field.required):
        parameters.append(
            kinds(
                field.name,
                kinds.POSITIONAL_OR_KEYWORD if field.required else kinds.KEYWORD_ONLY,
                default=kinds.empty if field.required else field.default,
                annotation=field.type,
            )
        )
    parameters.append(kinds("progress", kinds.KEYWORD_ONLY, default=None, annotation="Progress"))
    return inspect.Signature(parameters, return_annotation=returns)


def _function(
    job: Answer, ask: Callable[..., Any], *, first: str | None = None, returns: str = "Answer"
) -> Callable[..., Any]:
    """ask: called with the job's name, the arguments by their names and what to tell the progress to."""
    signature = _signature(first, job.fields, returns)

    def function(*positional: Any, **named: Any) -> Any:
        try:
            request = signature.bind(*positional, **named).arguments
        except TypeError as error:
            raise TypeError(f"{job.name}(): {error}") from None
        with told(request.pop("progress", None), job.name) as progress:
            return ask(job.name, request, progress)

    lines = [f"{field.name}: {field.help}" for field in job.fields]
    lines.append("progress: called with (done, of) while the work goes on; True draws a bar (tqdm)")
    function.__name__ = function.__qualname__ = job.name
    function.__doc__ = "\n".join([f"{job.help}.", "", *lines])
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function


def _method(job: Answer, lists: bool) -> Callable[..., Any]:
    def ask(name: str, request: dict[str, Any], progress: Any) -> Any:
        answer = request.pop("self")._open.answer(name, request, progress)
        return answer.data if lists else answer

    return _function(job, ask, first="self", returns="list[Answer]" if lists else "Answer")


def _maker(job: Answer, make: Callable[..., Answer]) -> Callable[..., Any]:
    def ask(name: str, request: dict[str, Any], progress: Any) -> Any:
        owner, path = request.pop("cls"), Path(request.pop("path"))
        make(path, name, request, progress)
        return owner(path)

    with_path = Answer({**job, "fields": [_PATH, *job.fields]})
    return _function(with_path, ask, first="cls", returns="Self")


def functions(jobs: list[Answer], call: Callable[..., Answer]) -> dict[str, Callable[..., Any]]:
    """A function for each job, by its name."""
    return {job.name: _function(job, call) for job in jobs}


def add_methods(owner: type, jobs: list[Answer], lists: set[str]) -> None:
    """Gives a class a method for each job, which asks `self._open`. lists: those that answer a list."""
    for job in jobs:
        setattr(owner, job.name, _method(job, job.name in lists))


def add_makers(owner: type, jobs: list[Answer], make: Callable[..., Answer]) -> None:
    """Gives a class a class method for each job that makes what its constructor then opens."""
    for job in jobs:
        setattr(owner, job.name, classmethod(_maker(job, make)))
