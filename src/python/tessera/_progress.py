"""Progress of long calls: told to a function of the caller's, or drawn."""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Iterator, Union

Progress = Union[bool, Callable[[int, int], object], None]


def bar(title: str) -> Any:
    """A bar of tqdm. Raises ModuleNotFoundError where tqdm is not installed."""
    try:
        from tqdm.auto import tqdm
    except ModuleNotFoundError:
        message = "progress=True draws with tqdm, which is not installed (Debian: python3-tqdm); "
        raise ModuleNotFoundError(message + "install it, or give a function") from None
    return tqdm(desc=title, unit_scale=True)


@contextlib.contextmanager
def told(progress: Progress, title: str) -> Iterator[Callable[[int, int], object] | None]:
    """What to call with (done, of): the caller's function, or for True what moves a bar."""
    if progress is not True:
        yield progress or None
        return
    with bar(title) as drawn:

        def move(done: int, of: int) -> None:
            if of != drawn.total or done < drawn.n:  # another part of the work
                drawn.reset(of)
            drawn.update(done - drawn.n)

        yield move
