"""tessera.train and tessera.study: what the program does, from Python."""

import json

import pytest

import tessera

CONFIG = """
[data]
text = "{text}"
tokenizer = "byte"
[model]
kind = "memory_mosaic"
window = 16
layers = 1
heads = 2
channels = 8
[train]
steps = 20
batch = 2
evaluate_every = 10
checkpoint_every = 10
"""


@pytest.fixture
def config(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("And the king said unto them, go and see. " * 100)
    file = tmp_path / "config.toml"
    file.write_text(CONFIG.format(text=text))
    return file


def test_trains_as_the_program_does(config, tmp_path):
    rows = []
    run = tessera.train(config, {"train.steps": 30}, out=tmp_path / "run", progress=rows.append)
    assert rows == run.metrics and rows[-1]["step"] == 30
    assert run.report.html.lower().startswith("<!doctype html>")
    assert run.model.generate("And", max_tokens=3, ignore_end=True).finish == "max_tokens"
    assert repr(run) == f"<tessera.Run '{tmp_path / 'run'}'>"


def test_settings_arrive_as_they_are(config, tmp_path):
    text = tmp_path / "\N{CROWN} text.txt"
    (tmp_path / "text.txt").rename(text)
    settings = {"data.text": text, "train.steps": 3, "sample.prompt": "\N{CROWN}", "model.bias": True}
    run = tessera.train(config, settings, out=tmp_path / "run")
    assert run.metrics[-1]["step"] == 3
    written = (tmp_path / "run/config.toml").read_text(encoding="utf-8")
    assert str(text) in written and 'prompt = "\N{CROWN}"' in written
    tables = {"data": {"text": text}, "train": {"steps": 2}}
    run = tessera.train(config, tables, out=tmp_path / "tables", progress=True)
    assert run.metrics[-1]["step"] == 2
    for setting in (None, float("nan")):
        with pytest.raises(ValueError, match="sample.prompt is None|not JSON compliant"):
            tessera.train(config, {"sample.prompt": setting}, out=tmp_path / "other")


def test_metrics_with_any_text_of_a_sample(config, tmp_path):
    prompt = "one\N{LINE SEPARATOR}two\x85three\x1cfour\rfive"
    settings = {"train.steps": 3, "train.sample_every": 3, "sample.prompt": prompt}
    run = tessera.train(config, settings, out=tmp_path / "run")
    assert [row["text"][: len(prompt)] for row in run.metrics if row["kind"] == "sample"] == [prompt]


def test_a_stopped_training_goes_on(config, tmp_path):
    class Enough(Exception):
        pass

    def stop(row):
        raise Enough

    out, settings = tmp_path / "run", {"train.steps": 100000}
    with pytest.raises(Enough):
        tessera.train(config, settings, out=out, progress=stop)
    stopped_at = json.loads((out / "metrics.jsonl").read_text().splitlines()[-1])["step"]
    steps, rows = stopped_at + 20, []
    tessera.train(config, {"train.steps": steps}, out=out, resume=True, progress=rows.append)
    # stopped during an evaluation, it begins with that one
    assert rows[0]["step"] >= stopped_at and rows[-1]["step"] == steps
    told = [(row["step"], row["kind"]) for row in tessera.Run(str(out)).metrics]
    assert len(told) == len(set(told))


def test_rows_behind_the_checkpoint_of_a_killed_run_are_not_told(config, tmp_path):
    out = tmp_path / "run"
    tessera.train(config, out=out)
    with (out / "metrics.jsonl").open("a") as log:
        log.write(json.dumps({"step": 1000, "kind": "step", "elapsed_seconds": 1.0, "loss": 1.0}) + "\n")
    rows = []
    tessera.train(config, {"train.steps": 25}, out=out, resume=True, progress=rows.append)
    assert {row["step"] for row in rows} <= set(range(20, 26)) and rows[-1]["step"] == 25


def test_runs_a_study(tmp_path):
    study = tessera.study("scaling-laws/fig1", quick=True, out=tmp_path / "study")
    assert study.tables["results"][0].keys() >= {"series", "x", "y"}
    assert all(picture.startswith("<svg") for picture in study.pictures.values())
    assert study._repr_html_().startswith("<iframe")


def test_what_is_no_error_is_passed_on(config, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Prescott")
    monkeypatch.delenv("TESSERA_KEEP_BLAS_CORE", raising=False)
    tessera.train(config, out=tmp_path / "run")
    assert "tessera: ignoring OPENBLAS_CORETYPE=Prescott" in capsys.readouterr().err


def test_errors_are_the_programs(config, tmp_path):
    with pytest.raises(tessera.UsageError, match="stepz"):
        tessera.train(config, {"train.stepz": 3}, out=tmp_path / "run")
    with pytest.raises(ValueError, match="none/such"):
        tessera.study("none/such")
    with pytest.raises(ValueError, match="^--seed is 'one', expected a whole number"):
        tessera.study("scaling-laws/fig1", seed="one", out=tmp_path / "study")


def test_what_the_system_refuses_is_an_os_error(config, tmp_path):
    for call in (
        lambda: tessera.train(tmp_path / "missing.toml", out=tmp_path / "run"),
        lambda: tessera.train(config, {"data.text": tmp_path / "missing.txt"}, out=tmp_path / "run"),
    ):
        with pytest.raises(FileNotFoundError, match="missing.t.*: cannot open: No such file or directory"):
            call()
    with pytest.raises(NotADirectoryError, match="config.toml"):
        tessera.train(config, out=config)
