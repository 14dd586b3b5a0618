"""The examples of docs/python.md, as a reader would type them."""

import doctest
import os
import re
import shutil
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
