"""Writes the stubs of the methods that are made from declarations. Usage: write_stubs.py PACKAGE_FOLDER"""

import importlib
import inspect
import sys
from pathlib import Path
from textwrap import indent

HEAD = """# Written by the build, from the declarations of the jobs.
import os
from typing import Any, Iterable, Mapping, Union

from typing_extensions import Self

from tessera._answer import Answer
from tessera._progress import Progress

StrPath = Union[str, os.PathLike[str]]

"""


def stub_of(name, member):
    signature = inspect.signature(getattr(member, "__func__", member))
    parameters = []
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parameters:
            parameters.append("*")
        typed = parameter.name not in ("self", "cls")
        default = "" if parameter.default is parameter.empty else " = ..."
        parameters.append(parameter.name + (f": {parameter.annotation}{default}" if typed else ""))
    decorator = "@classmethod\n" if isinstance(member, classmethod) else ""
    return f"{decorator}def {name}({', '.join(parameters)}) -> {signature.return_annotation}: ...\n"


def stubs_of(members):
    return "".join(
        stub_of(name, member)
        for name, member in members.items()
        if hasattr(getattr(member, "__func__", member), "__signature__")
    )


package = Path(sys.argv[1])
sys.path.insert(0, str(package.parent))
for module, owner in (("_store_jobs", "StoreJobs"), ("_model_jobs", "ModelJobs")):
    stubs = stubs_of(vars(getattr(importlib.import_module(f"tessera.{module}"), owner)))
    (package / f"{module}.pyi").write_text(f"{HEAD}class {owner}:\n{indent(stubs, '    ')}")
functions = importlib.import_module("tessera._functions")
(package / "_functions.pyi").write_text(HEAD + stubs_of(vars(functions)))
