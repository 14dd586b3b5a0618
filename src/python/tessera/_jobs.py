"""Methods made from the declarations that the program's verbs and routes are made from."""

from __future__ import annotations

import inspect
from typing import Any, Callable

from tessera._answer import Answer
from tessera._progress import told

_PATH = Answer(name="path", type="str | os.PathLike[str]", required=True)


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


def _describe(
    function: Callable[..., Any], job: Answer, signature: inspect.Signature
) -> Callable[..., Any]:
    lines = [f"{field.name}: {field.help}" for field in job.fields]
    lines.append("progress: called with (done, of) while the work goes on; True draws a bar (tqdm)")
    function.__name__ = function.__qualname__ = job.name
    function.__doc__ = "\n".join([f"{job.help}.", "", *lines])
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function


def _method(job: Answer, lists: bool) -> Callable[..., Any]:
    signature = _signature("self", job.fields, "list[Answer]" if lists else "Answer")

    def method(*positional: Any, **named: Any) -> Any:
        request = signature.bind(*positional, **named).arguments
        asked = request.pop("self")
        with told(request.pop("progress", None), job.name) as progress:
            answer = asked._open.answer(job.name, request, progress)
        return answer.data if lists else answer

    return _describe(method, job, signature)


def _maker(job: Answer, make: Callable[..., Answer]) -> Callable[..., Any]:
    signature = _signature("cls", [_PATH, *job.fields], "Self")

    def maker(*positional: Any, **named: Any) -> Any:
        request = signature.bind(*positional, **named).arguments
        owner, path = request.pop("cls"), request.pop("path")
        with told(request.pop("progress", None), job.name) as progress:
            make(path, job.name, request, progress)
        return owner(path)

    return _describe(maker, job, signature)


def functions(jobs: list[Answer], call: Callable[..., Answer]) -> dict[str, Callable[..., Any]]:
    """A function for each job, by its name."""

    def function(job: Answer) -> Callable[..., Any]:
        signature = _signature(None, job.fields, "Answer")

        def asked(*positional: Any, **named: Any) -> Any:
            request = signature.bind(*positional, **named).arguments
            with told(request.pop("progress", None), job.name) as progress:
                return call(job.name, request, progress)

        return _describe(asked, job, signature)

    return {job.name: function(job) for job in jobs}


def add_methods(owner: type, jobs: list[Answer], lists: set[str]) -> None:
    """Gives a class a method for each job, which asks `self._open`. lists: those that answer a list."""
    for job in jobs:
        setattr(owner, job.name, _method(job, job.name in lists))


def add_makers(owner: type, jobs: list[Answer], make: Callable[..., Answer]) -> None:
    """Gives a class a class method for each job that makes what its constructor then opens."""
    for job in jobs:
        setattr(owner, job.name, classmethod(_maker(job, make)))
