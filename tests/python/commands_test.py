"""The commands of README.md and docs, run in their order as a reader would type them, and what the pages say they print.

A block after a block of commands is what these print: each of its lines must come, in this order. Numbers with a point may
differ a little, and so may times, dates and memory. Two comments before a block say more:

<!-- rounding decides -->   decimals may differ by 5 %, whole numbers and lines without decimals by anything: a model was
                            trained here, or a long text drawn, and rounding differs between processors
<!-- not printed by it -->  the block is something else
"""

import difflib
import os
import re
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(os.environ["TESSERA_SOURCE_FOLDER"])
PROGRAM = Path(os.environ["TESSERA_PROGRAM"])
NIGHTLY = "TESSERA_NIGHTLY" in os.environ

PAGES = ["README.md", "docs/tutorial.md", "docs/generate.md", "docs/memo.md", "docs/tasks.md", "docs/errors.md", "docs/mcp.md",
         "models/stories/README.md"]

# What tries the commands of the other pages.
ELSEWHERE = {
    "docs/install.md": "packages, prefixes, containers: tests/install, packaging/try-on",
    "docs/library.md": "CMake and C++: tests/install",
    "docs/papers.md": "studies of minutes and hours: tests/lab/study runs each with small settings",
    "docs/python.md": "Python: documentation_test.py",
    "docs/scaling.md": "several processes and hosts: tests/program/cli/several_processes_test.cpp, tests/program/serve/hosts_test.cpp",
    "docs/server.md": "a server: tests/program/serve/page/docs_test.js",
}
NOT_RUN = {
    r"\./(quickstart|check)\b": "install and build",
    r"\S*tessera serve\b": "serves until it is stopped",
    r".*=PATH/": "data that a reader may have",
    r".* (train examples/configs/stories.toml|export --model runs/stories/)": "an hour of computing",
}
# Minutes of computing: ctest --preset nightly.
LONG = [
    r".* train (?!examples/configs/tiny.toml --(out |set train.stepz))",
    r".* study ",
    r".* eval .*(text.txt|Job.txt|runs/(retrieval|own-task))",
    r".* memo audit ",
]
VARIES = re.compile(
    r"\d{4}-\d\d-\d\d \d\d:\d\d|about \d+ (s|min|h)\b|has [\d.]+ GB|[\d.]+ MB of memory|"
    r"[\d.]+ tokens/s|\d+ samples/s")


def blocks(page):
    """Each block of a page: its language, its text, the comment before it."""
    text = (SOURCE / page).read_text()
    found = re.finditer(r"^(?:<!-- ([^\n]*) -->\n)?^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [(block[2], block[3], block[1]) for block in found]


def commands_and_output(page):
    """The commands of each block of them, and the block with what they print and its comment; none where there is no such block."""
    found = blocks(page)
    for (language, text, _), (next_language, shown, comment) in zip(found, [*found[1:], ("end", "", None)]):
        if language == "sh":
            printed = next_language == "" and comment != "not printed by it"
            yield commands_of(text), shown if printed else "", comment


def commands_of(text):
    lines = text.replace("\\\n", " ").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def is_one_of(command, patterns):
    return any(re.match(pattern, command) for pattern in patterns)


def parts(line):
    """The words of a line and the numbers between them; how wide a table is makes no difference."""
    line = VARIES.sub("*", line)
    return re.sub(r"-{3,}|\s+", " ", re.sub(r"\d+(\.\d+)?", "0", line)).strip(), re.findall(r"\d+(?:\.\d+)?", line)


def same(shown, printed, trained_here):
    (words, numbers), (printed_words, printed_numbers) = parts(shown), parts(printed)
    if words != printed_words or len(numbers) != len(printed_numbers):
        return False
    for number, other in zip(numbers, printed_numbers):
        if "." not in number:
            if number != other and not trained_here:
                return False
            continue
        last_place = 10.0 ** -len(number.split(".")[1])
        allowed = max(2 * last_place, (0.05 if trained_here else 0.02) * float(number))
        if abs(float(number) - float(other)) > allowed * 1.0001:
            return False
    return True


def missing_lines(shown, printed, trained_here):
    """The shown lines that do not come, in their order, each with the printed line that is most like it."""
    at, missing = 0, []
    for line in shown.splitlines():
        if not line.strip() or trained_here and not re.search(r"\d\.\d", line):
            continue
        found = [i for i in range(at, len(printed)) if same(line, printed[i], trained_here)]
        if found:
            at = found[0] + 1
        else:
            missing.append((line, difflib.get_close_matches(line, printed, n=1, cutoff=0)))
    return missing


class Reader:
    """Somebody at a shell, in a folder with the program and the examples."""

    def __init__(self, folder):
        self.folder = folder
        self.trained = set()
        (folder / "build").mkdir()
        (folder / "build/release").symlink_to(PROGRAM.parent)
        for name in ["examples", "models", "docs", "LICENSE"]:
            (folder / name).symlink_to(SOURCE / name)
        (folder / "runs").mkdir()

    def types(self, commands):
        """What they print, with a line for each one that fails. A training is not repeated."""
        lines = ["trap 'echo \"exit status $?\"' ERR"]
        for command in commands:
            if command in self.trained:
                continue
            if " train " in command and "--resume" not in command:
                self.trained.add(command)
            lines.append(command)
        environment = dict(os.environ, PATH=f"{PROGRAM.parent}:{os.environ['PATH']}")
        run = subprocess.run(["bash", "-c", "\n".join(lines)], cwd=self.folder, env=environment, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return run.stdout.splitlines()


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    return Reader(tmp_path_factory.mktemp("reader"))


@pytest.mark.parametrize("page", PAGES)
def test_commands_print_what_the_page_says(page, reader):
    wrong = []
    for commands, shown, comment in commands_and_output(page):
        run = [command for command in commands if not is_one_of(command, NOT_RUN)]
        today = [command for command in run if NIGHTLY or not is_one_of(command, LONG)]
        printed = reader.types(today)
        if today == run:
            wrong += missing_lines(shown, printed, comment == "rounding decides")
        if "tessera: " not in shown:
            wrong += [(today, line) for line in printed if line.startswith("exit status")]
    assert not wrong, "\n" + "\n".join(f"{page} has: {line}\nprinted:     {found}" for line, found in wrong)


def test_every_page_with_commands_is_tried():
    pages = ["README.md", "models/stories/README.md", *(f"docs/{path.name}" for path in (SOURCE / "docs").glob("*.md"))]
    assert {page for page in pages if blocks(page)} == {*PAGES, *ELSEWHERE}


def test_stale_lines_are_found():
    printed = ["loss 4.0000 nats", "5 documents", "took about 3 s"]
    assert missing_lines("loss 4.0100 nats\n5  documents\ntook about 70 s\n", printed, False) == []
    assert missing_lines("loss 4.1000 nats\n", printed, False) == [("loss 4.1000 nats", ["loss 4.0000 nats"])]
    assert missing_lines("loss 4.1000 nats\n7 documents\n", printed, True) == []
    assert missing_lines("loss 5.0000 nats\n", printed, True)
    assert missing_lines("6 documents\n", printed, False)
    assert missing_lines("5 documents\nloss 4.0000 nats\n", printed, False)  # in another order
