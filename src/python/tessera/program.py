"""Trainings and studies: the program `tessera` runs them, each in a process of its own.

Killed or interrupted runs go on where they were, and a notebook's kernel survives them.
"""

from __future__ import annotations

import csv
import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Mapping

from tessera import _stores
from tessera._page import Page
from tessera._settings import json_text

if TYPE_CHECKING:
    from tessera.model import Model

_LOOKS_PER_SECOND = 4  # for new metrics
_ERRORS: dict[int, type[Exception]] = {2: _stores.UsageError, 3: _stores.DataError}
# Of the program, or of a verb; after them comes what is no error.
_ERROR_LINE = re.compile("tessera( [a-z]+)?: (?!warning: |note: |ignoring )(.*)")


class _Folder:
    """What a program that has ended left in a folder."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    @property
    def report(self) -> Page:
        """What report.html shows; a notebook draws it."""
        return Page((self.path / "report.html").read_text(encoding="utf-8"))

    def __repr__(self) -> str:
        return f"<tessera.{type(self).__name__} {str(self.path)!r}>"


class Run(_Folder):
    """A training that is done: its folder, what was measured on the way, its model."""

    @property
    def metrics(self) -> list[dict[str, Any]]:
        """A row for each reported step and each evaluation, as metrics.jsonl has them."""
        # Not by splitlines(): the text of a sample may have the line separators of Unicode.
        with (self.path / "metrics.jsonl").open(encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]

    @property
    def model(self) -> Model:
        """The model with the lowest validation loss, if it is a language model."""
        from tessera.model import load

        return load(self.path / "model")


class Picture(str):
    """The text of an SVG picture."""

    def _repr_svg_(self) -> str:
        return str(self)


class Study(_Folder):
    """A study that is done: its folder, its tables and its pictures. A notebook draws its report."""

    @property
    def tables(self) -> dict[str, list[dict[str, str]]]:
        """The rows of each CSV file, by its name; "results" has every point that was measured."""
        tables = {}
        for file in sorted(self.path.glob("*.csv")):
            with file.open(encoding="utf-8", newline="") as lines:
                tables[file.stem] = list(csv.DictReader(lines))
        return tables

    @property
    def pictures(self) -> dict[str, Picture]:
        """Each picture by its name; a notebook draws it."""
        return {
            file.stem: Picture(file.read_text(encoding="utf-8"))
            for file in sorted(self.path.glob("*.svg"))
        }

    def _repr_html_(self) -> str:
        return self.report._repr_html_()


def train(
    config: str | os.PathLike[str],
    settings: Mapping[str, Any] | None = None,
    *,
    out: str | os.PathLike[str] = "runs/train",
    resume: bool = False,
    progress: Callable[[dict[str, Any]], object] | bool | None = None,
) -> Run:
    """Trains what a configuration file says, as `tessera train`.

    settings: keys of the file to change, {"train.steps": 100} or {"train": {"steps": 100}}. out: the
    folder of the run. resume: goes on with the run that is there. progress: called with each new row of
    metrics; where it raises, the run is stopped, saved, and the exception goes on; True and False change
    nothing: the program draws its bar in any case. Ctrl-C saves the run too; with resume=True the same
    call goes on from there.

    Raises UsageError, DataError, OSError or RuntimeError with the program's message.
    """
    folder = Path(out)
    arguments = ["train", os.fspath(config), "--out", str(folder), *_settings(settings)]
    rows = _NewLines(folder / "metrics.jsonl", None if isinstance(progress, bool) else progress)
    _run([*arguments, *(["--resume"] if resume else [])], rows)
    return Run(folder)


def study(
    id: str,
    settings: Mapping[str, Any] | None = None,
    *,
    quick: bool = False,
    out: str | os.PathLike[str] | None = None,
    seed: int = 1,
) -> Study:
    """Reproduces a figure or table of a paper, as `tessera study`.

    id: "scaling-laws/fig1"; `tessera study --list` shows them all. settings: of the study. quick: a small
    set-up that takes seconds to minutes. out: the folder; without it runs/ID, or runs/ID-quick.
    """
    folder = Path(out) if out is not None else Path("runs", id + ("-quick" if quick else ""))
    arguments = ["study", id, "--out", str(folder), "--seed", str(seed), *_settings(settings)]
    _run([*arguments, *(["--quick"] if quick else [])], lambda: None)
    return Study(folder)


class _NewLines:
    """Calls `progress` with each whole line that a run's metrics.jsonl gains.

    A run that begins or goes on writes that file anew, with those lines first that stay.
    """

    def __init__(self, path: Path, progress: Callable[[dict[str, Any]], object] | None) -> None:
        self._path, self._progress = path, progress
        self._before = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        self._file, self._place, self._lines = -1, 0, 0

    def __call__(self) -> None:
        if self._progress is None or not self._path.exists():
            return
        with self._path.open("rb") as file:
            number = os.fstat(file.fileno()).st_ino
            if number != self._file:
                self._file, self._place, self._lines = number, 0, 0
            file.seek(self._place)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                was_there = self._before[self._lines : self._lines + 1] == [line]
                self._place += len(line)
                self._lines += 1
                if not was_there:
                    self._progress(json.loads(line))


def _settings(settings: Mapping[str, Any] | None, table: str = "") -> list[str]:
    arguments = []
    for name, value in (settings or {}).items():
        key = f"{table}{name}"
        if value is None:
            raise _stores.UsageError(f"the setting {key} is None, which no key can be")
        if isinstance(value, Mapping):
            arguments += _settings(value, f"{key}.")
        else:
            arguments += ["--set", f"{key}={json_text(value)}"]
    return arguments


def _program() -> str:
    """Beside this package, in a build folder or below the same prefix; else on the PATH."""
    package = Path(_stores.__file__).parent
    for beside in ("../../tessera", "../../../../bin/tessera"):
        if (package / beside).is_file():
            return str((package / beside).resolve())
    found = shutil.which("tessera")
    if found is None:
        raise RuntimeError("the program 'tessera' is not installed beside this package nor on the PATH")
    return found


def _run(arguments: list[str], look: Callable[[], None]) -> None:
    """Runs the program, and look() again and again meanwhile; its messages go to sys.stderr."""
    process = subprocess.Popen(
        [_program(), *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,  # Ctrl-C reaches it once, from here; a second signal would end it unsaved
    )
    messages: list[str] = []
    reader = threading.Thread(target=_pass_on, args=(process, messages))
    reader.start()
    try:
        while process.poll() is None:
            look()
            try:
                process.wait(1 / _LOOKS_PER_SECOND)
            except subprocess.TimeoutExpired:
                pass
        look()
    except BaseException:
        process.send_signal(signal.SIGINT)  # the program saves what there is
        raise
    finally:
        process.wait()
        reader.join()
    if process.returncode == 130:
        raise KeyboardInterrupt
    if process.returncode != 0:
        status = f"tessera ended with status {process.returncode}"
        raise _error(process.returncode, messages[-1] if messages else status)


def _error(status: int, message: str) -> Exception:
    if status in _ERRORS:
        return _ERRORS[status](message)
    for number in errno.errorcode:
        if message.endswith(f": {os.strerror(number)}"):
            return OSError(number, message)
    return RuntimeError(message)


def _pass_on(process: subprocess.Popen[str], messages: list[str]) -> None:
    assert process.stderr is not None
    with process.stderr:
        for line in process.stderr:
            if error := _ERROR_LINE.match(line):
                messages.append(error[2].strip())
            else:
                sys.stderr.write(line)
