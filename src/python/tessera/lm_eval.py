"""A Tessera model in EleutherAI's lm-evaluation-harness, without a server:

import lm_eval
import tessera.lm_eval

lm_eval.simple_evaluate(tessera.lm_eval.TesseraLM("runs/tiny/model"), tasks=["lambada_openai"])
"""

from __future__ import annotations

import os
from typing import Any, Callable

from lm_eval.api.model import LM

from tessera.model import load

_LENGTH = ("max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens")  # the first that is given
_SAMPLING = ("temperature", "top_k", "top_p", "seed")  # the harness has these names, too


class TesseraLM(LM):
    """A model directory, which is opened with the options of tessera.load, or a tessera.Model, as the
    harness's model.

    Requests are answered one by one, so batch_size has no meaning. Raises as tessera.load does, and
    ValueError where a text has to begin with an end of text and the tokenizer has none.
    """

    def __init__(self, model: Any, **options: Any) -> None:
        super().__init__()
        is_open = not isinstance(model, (str, os.PathLike))
        if is_open and options:
            raise TypeError(f"{', '.join(options)}: only for a model directory, which is not open yet")
        self.model = model if is_open else load(model, **options)

    def _answers(self, requests: list[Any], answer: Callable[..., Any]) -> list[Any]:
        return [answer(*request.args) for request in requests]

    def loglikelihood(self, requests: list[Any], **_: Any) -> list[tuple[float, bool]]:
        """(log p(continuation | context), whether greedy decoding would write it) of each. Spaces at the
        end of a context belong to the continuation, as in the harness's other models."""

        def answer(context: str, continuation: str) -> tuple[float, bool]:
            before = context.rstrip()
            scored = self.model.loglikelihood(before, context[len(before) :] + continuation)
            return scored.log_probability, scored.greedy

        return self._answers(requests, answer)

    def loglikelihood_rolling(self, requests: list[Any], **_: Any) -> list[float]:
        """log p(text) of each, whole, after an end of text."""
        end = self.model.end_of_text
        if end is None:
            raise ValueError("the tokenizer has no end of text for a text to begin with")

        def answer(text: str) -> float:
            return float(self.model.score([end + text])[0].log_probability)

        return self._answers(requests, answer)

    def generate_until(self, requests: list[Any], **_: Any) -> list[str]:
        """The text that follows each context, up to the first of its stop strings: the most probable
        tokens, unless the request says do_sample or gives a temperature."""

        def answer(context: str, how: dict[str, Any]) -> str:
            stop = how.get("until") or []
            sampling = {name: how[name] for name in _SAMPLING if name in how}
            if not how.get("do_sample", sampling.get("temperature", 0) > 0):
                sampling = {"temperature": 0}
            written = self.model.generate(
                context,
                max_tokens=next((how[name] for name in _LENGTH if how.get(name) is not None), 256),
                stop=[stop] if isinstance(stop, str) else list(stop),
                **sampling,
            )
            return str(written.text)

        return self._answers(requests, answer)
