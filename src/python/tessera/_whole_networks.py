"""Whole networks of the library as torch.nn.Modules."""

# mypy: disable-error-code="no-any-return"
from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor

from tessera._memories import found, new_seed, register
from tessera._settings import json_text
from tessera._stores import UsageError
from tessera.ops import _ops

_Self = TypeVar("_Self", bound="_Network")


def _parameters(network: Any) -> dict[str, Tensor]:
    """The library's own tensors."""
    parameters = dict(_ops.network_parameters(network))
    for parameter in parameters.values():
        parameter.__class__ = torch.nn.Parameter  # a new one would be another tensor
    return parameters


class _Network(torch.nn.Module):
    """A whole network of the library, on the CPU, in float32 or float64.

    Its parameters are the library's own tensors, under the names that model directories have: change them
    in place. A network one of whose parameters was replaced by another tensor raises ValueError.
    """

    kind: str  # as the table [model] of a configuration names it

    def __init__(self, **fields: Any) -> None:
        super().__init__()
        self._adopt(_ops.new_network(self.kind, json_text(fields), new_seed()))

    def _adopt(self, network: Any) -> None:
        self._opened = network
        self._fields = json.loads(_ops.network_table(network))
        kind = self._fields.pop("kind")
        if kind != self.kind:
            raise ValueError(f"the model is of the kind {kind}, expected {self.kind}")
        self._own = _parameters(network)
        register(self, self._own)

    @property
    def _network(self) -> Any:
        """The library's, which computes with its own parameters. Raises UsageError where those of this
        module are others."""
        for name, parameter in self._own.items():
            try:
                is_own = found(self, name) is parameter
            except AttributeError:
                is_own = False
            if not is_own:
                raise UsageError(f"the parameter {name} was replaced; change it in place")
        return self._opened

    @classmethod
    def _adopted(cls: type[_Self], network: Any) -> _Self:
        module = cls.__new__(cls)
        torch.nn.Module.__init__(module)
        module._adopt(network)
        return module

    @classmethod
    def load(cls: type[_Self], path: str | os.PathLike[str]) -> _Self:
        """The network in a model directory. Raises FileNotFoundError where there is no such directory,
        DataError where it holds no model, ValueError where it is of another kind."""
        Path(path).stat()
        return cls._adopted(_ops.load_network(os.fspath(path)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes config.json and model.safetensors, which tessera.load and the program read beside a
        tokenizer.json. Raises ValueError unless the network is in float32, as these files are."""
        _ops.save_network(self._network, os.fspath(path))

    @property
    def fields(self) -> dict[str, Any]:
        """Its hyper-parameters, as the table [model] of a configuration has them."""
        return dict(self._fields)

    def _seed(self) -> int | None:
        return new_seed() if self.training and self._fields.get("dropout", 0) > 0 else None

    def forward(self, x: Tensor) -> Tensor:
        return _ops.network_forward(self._network, x, self._seed())

    def __copy__(self: _Self) -> _Self:
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def __getstate__(self) -> dict[str, Any]:
        self._network  # raises where the parameters are others
        return {**self.__dict__, "_opened": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        values = self._own
        self._opened = _ops.new_network(self.kind, json_text(self._fields), 0)
        self._own = _parameters(self._opened)
        for name, own in self._own.items():
            own.data = values[name].data
            own.requires_grad_(values[name].requires_grad)
        own_of = {id(values[name]): own for name, own in self._own.items()}
        for module in self.modules():  # also those with tied parameters that a subclass added
            for name, parameter in module._parameters.items():
                module._parameters[name] = own_of.get(id(parameter), parameter)

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in self._fields.items())


class _LanguageModel(_Network):
    def forward(self, tokens: Tensor) -> Tensor:
        """tokens [B, T] int64 -> the logits of the tokens after them, [B, T, V]."""
        return super().forward(tokens)

    def loss(self, tokens: Tensor, targets: Tensor) -> Tensor:
        """Mean cross entropy (nats) of targets [B, T], of which -1 does not count; without the logits,
        so that it needs less memory."""
        return _ops.network_loss(self._network, tokens, targets, self._seed())


class MemoryMosaic(_LanguageModel):
    """The language model of contextual and persistent memories (Zhang et al. 2024, figure 6)."""

    kind = "memory_mosaic"


class MemoryMosaicV2(_LanguageModel):
    """The language model of short-term, long-term and persistent memories (Zhang & Bottou 2025).

    While training, each call draws the delay of the long-term memory from `delay` to `longest_delay`.
    """

    kind = "memory_mosaic_v2"

    def _seed(self) -> int | None:
        return new_seed() if self.training else None


class Gpt(_LanguageModel):
    """A transformer decoder after GPT-2, the baseline."""

    kind = "gpt"


class Stm(_Network):
    """The two-memory model (Le et al. 2020): x [B, T, inputs] -> [B, T, outputs]."""

    kind = "stm"


for _kind in (MemoryMosaic, MemoryMosaicV2, Gpt, Stm):
    _kind.__doc__ = f"{(_kind.__doc__ or '').rstrip()}\n\n    Arguments, by name:\n\n{_ops.describe_fields(_kind.kind)}"
