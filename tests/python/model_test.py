"""tessera.load: what the program says about the same model directory."""

import json
import os
import pickle
import shutil
import signal
import subprocess
import threading
import weakref
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import tessera  # noqa: E402

MODEL = Path(os.environ["TESSERA_SOURCE_FOLDER"]) / "tests/checkpoint/model_without_checksum"


@pytest.fixture(scope="module")
def model():
    return tessera.load(MODEL)


@pytest.fixture(scope="module")
def characters(tmp_path_factory):
    """The same model with a tokenizer that knows only some characters, no Q among them."""
    folder = tmp_path_factory.mktemp("characters")
    (folder / "text.txt").write_text("And the king said unto them.")
    model = shutil.copytree(MODEL, folder / "model", ignore=shutil.ignore_patterns("tokenizer.json"))
    command = [os.environ["TESSERA_PROGRAM"], "tokenizer", "train", folder / "text.txt", "--kind", "character"]
    subprocess.run([*command, "--out", model / "tokenizer.json"], check=True)
    return tessera.load(model)


def near(found, expected):
    """Whether they are equal but for rounding: PyTorch may multiply with another library than the program."""
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(near(found[key], expected[key]) for key in expected)
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(near, found, expected))
    return found == (pytest.approx(expected, abs=1e-5) if isinstance(expected, float) else expected)


def program(*arguments):
    """The JSON object that the program prints."""
    command = [os.environ["TESSERA_PROGRAM"], *map(str, arguments), "--json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def test_writes_what_the_program_writes(model):
    expected = program("generate", "--model", MODEL, "--prompt", "And", "--max-tokens", 20, "--seed", 7)
    answer = model.generate("And", max_tokens=20, seed=7)
    assert (answer.text, answer.finish) == (expected["text"], expected["finish"])
    assert [token.id for token in answer.tokens] == [token["id"] for token in expected["tokens"]]
    probabilities = [token["log_probability"] for token in expected["tokens"]]
    assert [token.log_probability for token in answer.tokens] == pytest.approx(probabilities, abs=1e-5)


def test_streams_the_same_text(model):
    whole = model.generate("And", max_tokens=20, seed=7).text
    pieces = list(model.stream("And", max_tokens=20, seed=7))
    assert "".join(pieces) == whole and len(pieces) > 1
    assert list(model.stream("And", max_tokens=0)) == []
    stop = whole[4:7]
    stopped = model.generate("And", max_tokens=20, seed=7, stop=[stop]).text
    assert "".join(model.stream("And", max_tokens=20, seed=7, stop=stop)) == stopped
    assert model.session("And").generate(max_tokens=20, seed=7, stop=stop).text == stopped


def test_two_streams_at_once(model):
    first, second = (model.stream("And", max_tokens=9, seed=seed) for seed in (1, 2))
    assert "".join(a + b for a, b in zip(first, second))


def test_scores_add_up(model):
    whole, short = model.score(text for text in ["And the king", "And"])
    assert model.score("And")[0].log_probability == pytest.approx(short.log_probability)
    assert whole.tokens[0].get("log_probability") is None
    assert whole.log_probability == pytest.approx(sum(t.log_probability for t in whole.tokens[1:]))
    rest = model.loglikelihood("And", " the king")
    assert rest.log_probability == pytest.approx(whole.log_probability - short.log_probability)
    assert rest.greedy is False and len(rest.tokens) == 9
    best = model.generate("And", max_tokens=1, temperature=0).tokens[0].text
    assert model.loglikelihood("And", best).greedy is True


def test_inspects_as_the_program_does(model):
    expected = program("inspect", "--model", MODEL, "--text", "And the", "--memories", 3)
    assert near(model.inspect("And the", memories=3), expected)


def test_sums_of_an_inspection(model):
    answer = model.inspect("And the")
    layers = sum(
        layer.persistent_memory + sum(head.logit for head in layer.heads) for layer in answer.layers
    )
    assert answer.embedding + answer.biases + layers == pytest.approx(answer.logit, abs=1e-4)


def test_an_inspection_can_be_drawn(model):
    answer = model.inspect("And the king", memories=100)
    assert answer.weights().shape == (1, 2, 12)
    assert torch.allclose(answer.weights().sum(-1), torch.ones(1, 2))
    loudest = answer.layers[0].heads[1].memories[0]
    assert answer.weights()[0, 1].argmax() == loudest.position
    assert answer._repr_html_() == model.inspection_page("And the king")._repr_html_()
    assert model.inspect("And the king " * 100)._repr_html_() is None  # too long for a page
    copied = pickle.loads(pickle.dumps(answer))
    assert copied == answer and torch.equal(copied.weights(), answer.weights())
    assert copied._repr_html_() is None  # it has no model


def test_refuses_as_the_program_does(model, tmp_path):
    with pytest.raises(tessera.DataError, match="config.json"):
        tessera.load(tmp_path)
    for load in (tessera.load, tessera.nn.Gpt.load):
        with pytest.raises(FileNotFoundError, match="missing"):
            load(tmp_path / "missing")
    with pytest.raises(ValueError, match="device is 'meta', expected one of"):
        tessera.load(MODEL, device=torch.device("meta"))
    with pytest.raises(ValueError, match="weights is '3', expected one of"):
        tessera.load(MODEL, weights=3)
    with pytest.raises(ValueError, match="weights is 'half', expected one of: float32, bf16, int8"):
        tessera.load(MODEL, weights="half")
    with pytest.raises(ValueError, match="top_p is 2"):
        model.generate("And", top_p=2)
    with pytest.raises(ValueError, match="unknown key 'seeds'.*'seed'"):
        model.stream("And", seeds=2)
    with pytest.raises(ValueError, match="the text is empty"):
        model.inspect("")
    with pytest.raises(ValueError, match="tokens is 65, expected a list"):
        model.decode(65)
    for refuse in (model.generate, model.session, model.session("And").read):
        with pytest.raises(TypeError, match="a bytes was given, expected"):
            refuse(b"And")
    for refuse in (model.generate, model.stream, model.session, model.inspect, lambda path: model.score([path])):
        with pytest.raises(TypeError, match="a PosixPath was given, expected (a str|no path)"):
            refuse(MODEL)
    with pytest.raises(UnicodeEncodeError):
        model.session("\udc80")


@pytest.mark.parametrize(
    "read",
    [
        lambda model: model.generate("Quay"),
        lambda model: model.stream("Quay"),
        lambda model: model.score(["And", "Quay"]),
        lambda model: model.loglikelihood("And", "Quay"),
        lambda model: model.inspect("Quay"),
        lambda model: model.inspect("And", token="Q"),
        lambda model: model.inspection_page("Quay"),
        lambda model: model.encode("Quay"),
        lambda model: model.session("Quay"),
        lambda model: model.session("And").read("Quay"),
    ],
)
def test_a_text_that_cannot_be_encoded_is_a_wrong_argument(characters, read):
    with pytest.raises(tessera.UsageError, match=r"U\+0051 is not among the tokenizer's"):
        read(characters)


def test_a_file_that_cannot_be_encoded_is_bad_data(characters, tmp_path):
    (tmp_path / "text.txt").write_text("And the Quay")
    with pytest.raises(tessera.DataError, match=r"U\+0051 is not among the tokenizer's"):
        characters.eval(tmp_path / "text.txt")


def test_ctrl_c_ends_a_text(model):
    def interrupt(done, of):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.generate("And", max_tokens=100000, ignore_end=True, progress=interrupt)
    assert model.generate("And", max_tokens=3, ignore_end=True).finish == "max_tokens"
    assert repr(model) == f"<tessera.Model {str(MODEL)!r}>"


LONG = "And the king said unto them, go and see. " * 20000


@pytest.mark.parametrize(
    "read",
    [
        lambda model: model.session().read(LONG),
        lambda model: model.loglikelihood(LONG, " the king"),
        lambda model: model.generate(LONG),
        lambda model: next(model.stream(LONG)),
        lambda model: model.score([LONG]),
    ],
)
def test_ctrl_c_ends_the_reading_of_a_long_text(model, read):
    """What would take minutes."""
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        read(model)
    timer.join()
    assert model.generate("And", max_tokens=3, ignore_end=True).finish == "max_tokens"


def test_a_session_goes_on_where_it_was(model):
    session = model.session("And the")
    fork = session.fork().read(" king")
    written = session.generate(max_tokens=9, seed=7)
    assert written.text == model.generate("And the", max_tokens=9, seed=7).text
    assert session.text == "And the" + written.text
    assert fork.text == "And the king" and len(fork.tokens) == 12
    again = session.generate(max_tokens=2, seed=8)
    assert session.text.endswith(again.text) and len(session.tokens) == 18
    with pytest.raises(ValueError, match="read nothing yet"):
        model.session().generate()
    with pytest.raises(ValueError, match="the text is empty"):
        session.read("")
    with pytest.raises(ValueError, match="unknown key 'prompt'"):
        session.generate(prompt="a")


def test_a_fork_outlives_what_it_was_forked_from():
    """It needs the model alone: a chain of forks would keep what each of them has read."""
    session = tessera.load(MODEL).session("And the")
    opened = weakref.ref(session._open)
    session = session.fork().read(" king")
    assert opened() is None and session.text == "And the king"


def test_a_session_is_looked_at_between_its_calls(model):
    """While one thread writes, another one waits with its look."""
    session, looks = model.session("And the"), []

    def look(done, of):
        if not looks:
            looks.append(threading.Thread(target=lambda: looks.append(session.fork().tokens)))
            looks[0].start()
            looks[0].join(0.2)
        assert len(looks) == 1
        with pytest.raises(ValueError, match="a progress function may not call"):
            session.fork()

    session.generate(max_tokens=3, ignore_end=True, progress=look)
    looks[0].join()
    assert looks[1] == session.tokens and len(session.tokens) == 10


def test_a_page_that_a_notebook_draws(model, tmp_path):
    page = model.inspection_page("And <the>")
    frame = page._repr_html_()
    assert frame.startswith("<iframe") and "&lt;!doctype html&gt;" in frame and "<!doctype" not in frame
    page.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == page.html
    assert page.html.startswith("<!doctype html>") and "model_without_checksum" in page.html


def test_encodes_and_decodes(model):
    assert model.encode("And").tokens == [65, 110, 100]
    assert model.decode([65, 110]).text == "An"
    assert model.decode(torch.tensor([65, 110])).text == "An"
    with pytest.raises(ValueError, match="no token 999"):
        model.decode([999])


def test_evaluates_as_the_program_does(model, tmp_path):
    (tmp_path / "text.txt").write_text("And the king said unto them. " * 20)
    expected = program("eval", "--model", MODEL, "--data", tmp_path / "text.txt")
    assert model.eval(tmp_path / "text.txt") == pytest.approx(expected)
