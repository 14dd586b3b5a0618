"""Methods made from the declarations that the program's verbs and routes are made from."""

from __future__ import annotations

import inspect
from typing import Any, Callable

from tessera._answer import Answer


def _signature(fields: list[Answer], returns: str) -> inspect.Signature:
    """(self, the required fields, *, the others, progress), with annotations as texts."""
    kinds = inspect.Parameter
    parameters = [kinds("self", kinds.POSITIONAL_OR_KEYWORD)]
    for field in sorted(fields, key=lambda field: not field.required):
        parameters.append(
            kinds(
                field.name,
                kinds.POSITIONAL_OR_KEYWORD if field.required else kinds.KEYWORD_ONLY,
                default=kinds.empty if field.required else field.default,
                annotation=field.type,
            )
        )
    progress = "Callable[[int, int], object] | None"
    parameters.append(kinds("progress", kinds.KEYWORD_ONLY, default=None, annotation=progress))
    return inspect.Signature(parameters, return_annotation=returns)


def _method(job: Answer, lists: bool) -> Callable[..., Any]:
    signature = _signature(job.fields, "list[Answer]" if lists else "Answer")

    def method(*positional: Any, **named: Any) -> Any:
        request = signature.bind(*positional, **named).arguments
        asked, progress = request.pop("self"), request.pop("progress", None)
        answer = asked._open.answer(job.name, request, progress)
        return answer.data if lists else answer

    lines = [f"{field.name}: {field.help}" for field in job.fields]
    lines.append("progress: called with (done, of) while the work goes on")
    method.__name__ = method.__qualname__ = job.name
    method.__doc__ = "\n".join([f"{job.help}.", "", *lines])
    method.__signature__ = signature  # type: ignore[attr-defined]
    return method


def add_methods(owner: type, jobs: list[Answer], lists: set[str]) -> None:
    """Gives a class a method for each job, which asks `self._open`. lists: those that answer a list."""
    for job in jobs:
        setattr(owner, job.name, _method(job, job.name in lists))
