"""./quickstart in a folder where nothing is installed, built or run: its study only notes how it was called."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(os.environ["TESSERA_SOURCE_FOLDER"])
SCRIPTS = {
    "cmake/debian-packages.sh": "",
    "bin/cmake": "",
    "build/release/tessera": """echo digest 0\n[ "$1" != study ] || printf '%s\\n' "$@" >study\n""",
}


@pytest.fixture
def quickstart(tmp_path):
    """A function that runs it on a text, or without one, and gives the folder of its study."""
    shutil.copy(SOURCE / "quickstart", tmp_path)
    for name, commands in SCRIPTS.items():
        script = tmp_path / name
        script.parent.mkdir(parents=True)
        script.write_text(f"#!/bin/sh\n{commands}")
        script.chmod(0o755)

    def run(*text):
        (tmp_path / "study").unlink(missing_ok=True)
        environment = dict(os.environ, PATH=f"{tmp_path}/bin:{os.environ['PATH']}")
        subprocess.run([tmp_path / "quickstart", *text], env=environment, check=True, capture_output=True)
        words = (tmp_path / "study").read_text().splitlines()
        assert f"data.text={''.join(map(str, text))}" in words
        return words[words.index("--out") + 1]

    return run


def test_the_book_that_it_brings_is_always_the_same(quickstart):
    assert quickstart() == "runs/quickstart/study"


def test_a_study_of_a_text_is_of_what_the_text_says_now(quickstart, tmp_path):
    text = tmp_path / "text"
    text.write_text("It was a dark night.\n")
    first, written = quickstart(text), text.stat()
    os.utime(text, (0, 0))
    assert quickstart(text) == first
    text.write_text("It was a dark light.\n")  # as long, and as old
    os.utime(text, ns=(written.st_atime_ns, written.st_mtime_ns))
    assert quickstart(text) != first
    text.write_text("It was a dark night.\n")
    assert quickstart(text) == first


def test_a_folder_is_the_files_that_the_program_reads_and_their_names(quickstart, tmp_path):
    text = tmp_path / "all my texts"
    (text / "more").mkdir(parents=True)
    for name in ["b", "a word.txt", "more/c"]:
        (text / name).write_text(f"The text {name}.\n")
    first = quickstart(text)
    (text / ".hidden").write_text("Nobody reads it.\n")
    (text / "empty").touch()
    assert quickstart(text) == first
    (text / "b").rename(text / "d")  # names are in what the memory cites, and give the order
    assert quickstart(text) != first
    (text / "d").rename(text / "b")
    (text / "more/c").write_text("The text more/d.\n")
    assert quickstart(text) != first
