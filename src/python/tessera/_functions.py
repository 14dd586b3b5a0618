"""The jobs that need no store as functions. `_functions.pyi`, which the build writes, says what they take."""

from tessera import _stores
from tessera._jobs import functions

globals().update(functions(_stores.functions(), _stores.call))
