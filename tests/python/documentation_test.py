"""The examples of docs/python.md, as a reader would type them."""

import contextlib
import doctest
import io
import json
import os
import re
import shutil
import tempfile
from pathlib import Path

import pytest

pytest.importorskip("torch")

SOURCE = Path(os.environ["TESSERA_SOURCE_FOLDER"])


def test_examples_print_what_the_page_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(SOURCE / "tests/checkpoint/model_without_checksum", "runs/tiny/model")
    shutil.copytree(SOURCE / "examples/configs", "examples/configs")
    page = (SOURCE / "docs/python.md").read_text()
    examples = "\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL))
    test = doctest.DocTestParser().get_doctest(examples, {}, "docs/python.md", None, 0)
    assert len(test.examples) > 20
    result = doctest.DocTestRunner(optionflags=doctest.FAIL_FAST).run(test)
    assert result.failed == 0


def test_the_notebook_prints_what_it_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # where it makes a folder that it leaves
    notebook = json.loads((SOURCE / "examples/python/memories.ipynb").read_text())
    names = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        shown = [line for output in cell["outputs"] for line in output.get("text", [])]
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec("".join(cell["source"]), names)
        assert printed.getvalue() == "".join(shown)
