"""tessera.lm_eval and the server: what lm-evaluation-harness asks of them. Where it is not installed, a
stand-in asks, and what needs the harness itself is skipped."""

import importlib.util
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import types
from pathlib import Path

import pytest

pytest.importorskip("torch")

import tessera  # noqa: E402

INSTALLED = importlib.util.find_spec("lm_eval") is not None
# The harness and its libraries warn.
pytestmark = [pytest.mark.filterwarnings("default")] if INSTALLED else []
PROGRAM = os.environ["TESSERA_PROGRAM"]
SOURCE = Path(os.environ["TESSERA_SOURCE_FOLDER"])
MODEL = SOURCE / "tests/checkpoint/model_without_checksum"
NAMES = ["king", "man", "child", "woman", "lamb", "son", "day", "sea", "ark", "star"]
TEXTS = [f"And the {name} said unto them" for name in NAMES]


@pytest.fixture(scope="module")
def harness():
    """A TesseraLM, and what makes its requests."""
    if INSTALLED:
        from lm_eval.api.instance import Instance

        request = lambda *args: Instance("loglikelihood", {}, args, 0)  # noqa: E731
    else:
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
    pairs = [(text[:7], text[7:]) for text in TEXTS] + [("", "And")]
    for pair, (total, greedy) in zip(pairs, lm.loglikelihood([request(*pair) for pair in pairs])):
        expected = lm.model.loglikelihood(*pair)
        assert (total, greedy) == (expected.log_probability, expected.greedy)
    whole, before = lm.model.score([TEXTS[0], "And the"])
    for context in ("And the", "And the "):  # a space at its end counts to the continuation
        (total, _), = lm.loglikelihood([request(context, TEXTS[0][len(context) :])])
        assert total == pytest.approx(whole.log_probability - before.log_probability, abs=1e-5)


def test_options_are_for_a_model_directory(harness):
    lm, _ = harness
    assert type(lm)(MODEL, weights="bf16").model.generate("And", max_tokens=1).tokens
    assert type(lm)(lm.model).model is lm.model
    with pytest.raises(TypeError, match="weights: only for a model directory"):
        type(lm)(lm.model, weights="bf16")


def test_texts_up_to_a_stop_string(harness):
    lm, request = harness
    greedy = lm.model.generate("And", temperature=0, max_tokens=12).text
    stop = greedy[6:8]
    whole, stopped, drawn = lm.generate_until(
        [
            request("And", {"until": [], "max_gen_toks": 12, "max_tokens": 5}),
            request("And", {"until": stop, "max_gen_toks": 12, "temperature": 0.7, "do_sample": False}),
            request("And", {"max_new_tokens": 12, "temperature": 0.7, "seed": 3, "do_sample": True}),
        ]
    )
    assert whole == greedy and stopped == greedy[: greedy.index(stop)]
    assert drawn == lm.model.generate("And", temperature=0.7, seed=3, max_tokens=12).text

TASK = """
task: kings
dataset_path: json
dataset_kwargs:
  data_files: {test: kings.jsonl}
output_type: multiple_choice
test_split: test
doc_to_text: "{{prompt}}"
doc_to_choice: "{{choices}}"
doc_to_target: answer
target_delimiter: ""
metric_list:
  - {metric: acc, aggregation: mean, higher_is_better: true}
  - {metric: acc_norm, aggregation: mean, higher_is_better: true}
"""
QUESTIONS = [
    ("And the king said", [" unto them", "zzqxj", " 7391"], 0),
    ("In the beginning", ["#%&*", " God created", "kkkkkkkk"], 1),
    ("And it came to ", ["Xylophone", "pass", "~~~~"], 1),
    ("The children of ", ["Israel", "0x7f", "{}[]"], 0),
    ("And he said ", ["@@@@", "|||", "unto him"], 2),
]


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """Of a server of two models with different tokenizers, of which MODEL is the second."""
    if not INSTALLED:
        pytest.skip("lm-evaluation-harness is not installed")
    folder = tmp_path_factory.mktemp("other")
    (folder / "text.txt").write_text("And the king said unto them, go and see. " * 100)
    learn = ["tokenizer", "train", folder / "text.txt", "--vocabulary", "270"]
    subprocess.run([PROGRAM, *learn, "--out", folder / "tokenizer.json"], check=True)
    sizes = {"vocabulary": 270, "window": 16, "layers": 1, "heads": 2, "channels": 8}
    tessera.nn.MemoryMosaic(**sizes).save(folder)
    models = ["--model", f"other={folder}", "--model", f"tiny={MODEL}"]
    serve = [PROGRAM, "serve", "--port", "0", *models]
    with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True) as server:
        line = next(line for line in server.stdout if line.startswith("Serving at "))
        yield line.split()[-1]
        server.send_signal(signal.SIGTERM)


def test_the_harness_asks_the_server(address, harness):
    """Its own class for servers gets the answers of TesseraLM."""
    from lm_eval.models.openai_completions import LocalCompletionsAPI

    lm, request = harness
    served = LocalCompletionsAPI(
        base_url=f"{address}/models/tiny/v1/completions",
        model="tiny",
        tokenizer_backend="remote",
        batch_size=4,
    )
    pairs = [request(text[:8], text[8:]) for text in TEXTS]
    for ours, theirs in zip(lm.loglikelihood(pairs), served.loglikelihood(pairs)):
        assert theirs == (pytest.approx(ours[0], abs=1e-4), ours[1])
    texts = [request(text) for text in TEXTS]
    rolling = served.loglikelihood_rolling(texts, disable_tqdm=True)
    assert rolling == pytest.approx(lm.loglikelihood_rolling(texts), abs=1e-4)
    how = {"until": ["\n"], "max_gen_toks": 12}
    prompts = [request(text, how) for text in TEXTS]
    assert served.generate_until(prompts, disable_tqdm=True) == lm.generate_until(prompts)


def test_its_command_line_scores_a_task(address, harness, tmp_path, monkeypatch):
    """The command of docs/server.md, with a task and an address of this test's."""
    import lm_eval
    from lm_eval.tasks import TaskManager

    monkeypatch.chdir(tmp_path)
    Path("kings.yaml").write_text(TASK)
    names = ("prompt", "choices", "answer")
    rows = [json.dumps(dict(zip(names, question))) for question in QUESTIONS]
    Path("kings.jsonl").write_text("\n".join(rows))
    page = (SOURCE / "docs/server.md").read_text()
    command = re.search(r"^lm_eval (--model local-completions(?:.*\\\n)*.*)$", page, re.MULTILINE)[1]
    command = command.replace("lambada_openai", "kings").replace("http://localhost:8080", address)
    words = shlex.split(command.replace("\\\n", "")) + ["--include_path", ".", "--output_path", "out.json"]
    subprocess.run([sys.executable, "-m", "lm_eval", *words], check=True, capture_output=True)
    [written] = Path().rglob("*.json")
    through_server = json.loads(written.read_text())["results"]["kings"]
    here = lm_eval.simple_evaluate(
        harness[0], tasks=["kings"], task_manager=TaskManager(include_path="."), bootstrap_iters=0
    )["results"]["kings"]
    for metric in ("acc,none", "acc_norm,none"):
        assert through_server[metric] == here[metric]
    assert here["acc_norm,none"] == 1
