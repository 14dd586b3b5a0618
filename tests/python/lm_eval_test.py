"""tessera.lm_eval: what the harness asks, with a stand-in for the harness where it is not installed."""

import os
import sys
import types
from pathlib import Path

import pytest

pytest.importorskip("torch")

MODEL = Path(os.environ["TESSERA_SOURCE_FOLDER"]) / "tests/checkpoint/model_without_checksum"
NAMES = ["king", "man", "child", "woman", "lamb", "son", "day", "sea", "ark", "star"]
TEXTS = [f"And the {name} said unto them" for name in NAMES]


@pytest.fixture(scope="module")
def harness():
    """A TesseraLM, and what makes its requests."""
    try:
        from lm_eval.api.instance import Instance

        request = lambda *args: Instance("loglikelihood", {}, args, 0)  # noqa: E731
    except ModuleNotFoundError:
        api = types.ModuleType("lm_eval.api.model")
        api.LM = type("LM", (), {})
        sys.modules.update({name: types.ModuleType(name) for name in ("lm_eval", "lm_eval.api")})
        sys.modules["lm_eval.api.model"] = api
        request = lambda *args: types.SimpleNamespace(args=args)  # noqa: E731
    from tessera.lm_eval import TesseraLM

    return TesseraLM(MODEL), request


def test_rolling_is_what_eval_measures(harness, tmp_path):
    lm, request = harness
    sums = lm.loglikelihood_rolling([request(text) for text in TEXTS])
    for text, total in zip(TEXTS, sums):
        (tmp_path / "text.txt").write_text(text)
        measured = lm.model.eval(tmp_path / "text.txt", reading="streaming")
        first = lm.model.loglikelihood("", text[0]).log_probability
        after_end, alone = lm.model.score([lm.model.end_of_text + text, text])
        assert alone.log_probability == pytest.approx(-measured.loss * measured.tokens, abs=1e-5)
        assert total == pytest.approx(after_end.log_probability, abs=1e-5)
        assert after_end.tokens[1].log_probability == pytest.approx(first, abs=1e-5)


def test_continuations(harness):
    lm, request = harness
    pairs = [(text[:8], text[8:]) for text in TEXTS] + [("", "And")]
    for pair, (total, greedy) in zip(pairs, lm.loglikelihood([request(*pair) for pair in pairs])):
        expected = lm.model.loglikelihood(*pair)
        assert (total, greedy) == (expected.log_probability, expected.greedy)
    whole, before = lm.model.score([TEXTS[0], TEXTS[0][:8]])
    (total, _), = lm.loglikelihood([request(TEXTS[0][:8], TEXTS[0][8:])])
    assert total == pytest.approx(whole.log_probability - before.log_probability, abs=1e-5)


def test_texts_up_to_a_stop_string(harness):
    lm, request = harness
    greedy = lm.model.generate("And", temperature=0, max_tokens=12).text
    stop = greedy[6:8]
    whole, stopped, drawn = lm.generate_until(
        [
            request("And", {"until": [], "max_gen_toks": 12}),
            request("And", {"until": stop, "max_gen_toks": 12, "temperature": 0.7, "do_sample": False}),
            request("And", {"max_gen_toks": 12, "temperature": 0.7, "seed": 3, "do_sample": True}),
        ]
    )
    assert whole == greedy and stopped == greedy[: greedy.index(stop)]
    assert drawn == lm.model.generate("And", temperature=0.7, seed=3, max_tokens=12).text
