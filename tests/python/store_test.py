"""tessera.Store: what the program's jobs do, from Python."""

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
import types
import warnings
from pathlib import Path

import pytest

import tessera

LAMP = "The lamp beside the river burned all night, and nobody who passed it knew who had lit it.\n"
SHIP = "A ship without a name lay in the orchard, far from any water, and apples fell on its deck.\n"


@pytest.fixture
def store(tmp_path):
    with tessera.Store.create(tmp_path / "store", dimension=256) as store:
        store.memorize("lamp.txt", LAMP)
        store.memorize("ship.txt", SHIP, meta=["place=orchard"])
        yield store


def test_recites_with_sources(store):
    answer = store.recall("The lamp beside the river", tokens=30)
    assert answer.text == LAMP[25:55]
    assert answer.tokens[0].sources[0].document == "lamp.txt"
    assert store.recall("Something that was never stored").text == ""
    answers = store.ask(["The lamp beside the river", "A ship without a name lay"], tokens=9)
    assert [answer.text for answer in answers] == [" burned a", " in the o"]


def test_completes(store):
    answer = store.complete("The lamp beside the river", tokens=12, temperature=0)
    assert (answer.text, answer.finish) == (LAMP[25:37], "max_tokens")
    assert len(answer.tokens) == 12
    assert store.complete("Something never stored").finish == "not_stored"


def test_finds_and_searches(store):
    found = store.find("ORCHARD")
    assert (found.places, found.data[0].document, found.data[0].line) == (1, "ship.txt", 1)
    assert store.find("ORCHARD", case=True).places == 0
    assert [passage.document for passage in store.search("apples")] == ["ship.txt"]


def test_lists_shows_and_counts(store):
    assert [document.id for document in store.documents()] == ["lamp.txt", "ship.txt"]
    [ship] = store.documents(meta=["place=orchard"])
    assert ship.metadata == {"place": "orchard"}
    assert store.show("ship.txt").text == SHIP
    assert store.stat().documents == 2
    assert store.verify()["verified"] is True


def test_forgets_as_if_it_had_never_been(store, tmp_path):
    with tessera.Store.create(tmp_path / "other", dimension=256) as other:
        other.memorize("lamp.txt", LAMP)
        store.forget("ship.txt")
        assert store.recall("A ship without a name lay").text == ""
        assert store.stat().digest == other.stat().digest
    assert b"apples" not in b"".join(file.read_bytes() for file in (tmp_path / "store").iterdir())


def test_creates_as_the_program_does(tmp_path):
    with tessera.Store.create(str(tmp_path / "store"), dimension=128, seed=3) as store:
        statistics = store.stat()
        assert (statistics.dimension, statistics.seed, statistics.documents) == (128, 3, 0)
    with pytest.raises(ValueError, match="store"):
        tessera.Store.create(tmp_path / "store")
    with pytest.raises(ValueError, match="dimension is 100"):
        tessera.Store.create(tmp_path / "other", dimension=100)
    assert not (tmp_path / "other").exists()
    (tmp_path / "lamp.txt").write_text(LAMP)
    planned = tessera.Store.create(tmp_path / "planned", plan_from=tmp_path / "lamp.txt", error=0.2)
    assert planned.stat().dimension >= 64


def test_merges_rebuilds_and_exports(store, tmp_path):
    with tessera.Store.create(tmp_path / "other", dimension=256) as other:
        other.memorize("third.txt", "A third text, of which nobody has heard before.\n")
    with tessera.Store.merge(tmp_path / "both", [store.path, other.path]) as both:
        assert both.stat().documents == 3
        both.export(out=tmp_path / "memory.safetensors")
        assert (tmp_path / "memory.safetensors").stat().st_size > 256 * 256 * 4
        both.rebuild("bpe", vocabulary=300)
        assert both.stat().vocabulary > 257
        assert both.recall("The lamp beside the river").text


def test_a_store_that_another_process_rebuilt_is_read_on(store, tmp_path):
    store.stat()  # the edits are written
    opened = tessera.Store(store.path)
    assert opened.stat().vocabulary == 257
    store.rebuild("bpe", vocabulary=300)
    assert opened.stat().vocabulary > 257
    opened.close()


def test_metadata_that_another_process_gave_are_seen(store):
    store.stat()  # the edits are written
    opened = tessera.Store(store.path)
    assert opened.documents()[0].metadata == {}
    store.memorize("lamp.txt", LAMP, replace=True, meta=["by=me"])
    store.close()
    assert opened.documents()[0].metadata == {"by": "me"}
    opened.close()


def test_another_working_folder_leads_to_no_other_store(tmp_path, monkeypatch):
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        with tessera.Store.create("store", dimension=256) as made:
            made.memorize(name, LAMP)
    monkeypatch.chdir(tmp_path / "here")
    with tessera.Store("store") as store:
        store.memorize("more", SHIP)
        monkeypatch.chdir(tmp_path / "there")
        store.memorize("and more", SHIP + LAMP)
        assert [document.id for document in store.documents()] == ["and more", "here", "more"]
    for folder, ids in (("here", ["and more", "here", "more"]), ("there", ["there"])):
        with tessera.Store(tmp_path / folder / "store") as store:
            assert [document.id for document in store.documents()] == ids
            assert store.verify()["verified"] is True


def test_refuses_as_the_program_does(store, tmp_path):
    with pytest.raises(tessera.UsageError, match="tokens is -1, expected a whole number from 0 on"):
        store.recall("The lamp beside the river", tokens=-1)
    with pytest.raises(ValueError, match="lamp.txt"):
        store.memorize("lamp.txt", SHIP)
    with pytest.raises(ValueError, match="lamp.tx'.*did you mean 'lamp.txt'"):
        store.forget("lamp.tx")
    with pytest.raises(tessera.DataError, match="empty.txt: is empty"):
        store.memorize("empty.txt", "")
    with pytest.raises(tessera.DataError, match="is not a memo store"):
        tessera.Store(tmp_path)
    with pytest.raises(TypeError, match="missing a required argument: 'prompt'"):
        store.recall()
    with pytest.raises(TypeError, match=r"recall\(\): got an unexpected keyword argument 'token'"):
        store.recall("The lamp", token=3)
    with pytest.raises(TypeError, match="^prompt: a bytes was given, expected"):
        store.recall(b"The lamp")
    with pytest.raises(TypeError, match="not .?NoneType"):
        tessera.Store.create(None, dimension=64)
    with pytest.raises(UnicodeEncodeError):
        store.recall("\udc80")
    endless = ["The lamp"]
    endless.append(endless)
    with pytest.raises(RecursionError):
        store.ask(endless)
    assert store.stat().documents == 2


def test_one_text_and_what_iterates_are_lists_of_texts(store, tmp_path):
    asked = store.ask(["The lamp beside the river"])
    assert asked == store.ask("The lamp beside the river")
    assert asked == store.ask(prompt for prompt in ["The lamp beside the river"])
    (tmp_path / "texts").mkdir()
    for name in ("one.txt", "two.txt"):
        (tmp_path / "texts" / name).write_text(f"The text of {name}.\r\n")
    updated = store.update(tmp_path / "texts", meta="by=me").data
    assert [document.id for document in updated] == ["one.txt", "two.txt"]
    assert store.update((tmp_path / "texts").glob("o*")).data[0].outcome == "unchanged"
    assert store.show("one.txt").text == "The text of one.txt.\r\n"
    assert len(store.documents(meta="by=me")) == 2


def test_metadata_are_a_dict_or_texts(store):
    store.memorize("lamp.txt", LAMP, replace=True, meta={"place": "river", "by": "me=you"})
    [lamp] = store.documents(meta={"place": "river"})
    assert lamp.metadata == {"by": "me=you", "place": "river"}
    assert store.documents(meta={"place": "river"}) == store.documents(meta="place=river")
    for wrong, message in (
        ({"a=b": "c"}, "meta has the key 'a=b', expected one without '='"),
        ({"year": 1845}, "meta has 1845 for 'year', expected a text"),
        ({"": "c"}, "expected KEY=VALUE"),
    ):
        with pytest.raises(tessera.UsageError, match=message):
            store.documents(meta=wrong)
    with pytest.raises(ValueError, match="files is"):
        store.update({"place": "river"})


def test_a_path_with_a_zero_byte_is_refused(store, tmp_path):
    (tmp_path / "lamp").write_text(LAMP)
    for call in (
        lambda: store.update(f"{tmp_path}/lamp\0.txt"),
        lambda: store.audit(f"{tmp_path}/lamp\0.txt"),
        lambda: store.export(out=f"{tmp_path}/lamp\0.txt"),
        lambda: store.rebuild(tokenizer=f"{tmp_path}/lamp\0.json"),
        lambda: tessera.Store.merge(tmp_path / "merged", [f"{store.path}\0/store"]),
    ):
        with pytest.raises(ValueError, match="has a zero byte"):
            call()
    assert (tmp_path / "lamp").read_text() == LAMP and not (tmp_path / "merged").exists()


def test_a_missing_folder_is_a_file_not_found_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="missing"):
        tessera.Store(tmp_path / "missing")


def test_damage_is_a_data_error(store):
    store.close()
    (store.path / "config.json").write_text("{")
    with pytest.raises(tessera.DataError, match="config.json"):
        tessera.Store(store.path)


def test_what_the_system_refuses_is_an_os_error(store, tmp_path):
    for call in (store.update, lambda file: tessera.Store.create(file, dimension=64)):
        with pytest.raises(OSError, match="File name too long"):
            call(tmp_path / (300 * "n"))
    with pytest.raises(FileNotFoundError, match="missing: cannot open: No such file") as refused:
        store.update(tmp_path / "missing")
    assert refused.value.errno == errno.ENOENT


def test_a_message_names_a_file_whose_name_is_not_utf8(tmp_path):
    folder = tmp_path / os.fsdecode(b"a\xffb")
    folder.mkdir()
    with pytest.raises(tessera.DataError, match="a\N{REPLACEMENT CHARACTER}b: is not a memo store"):
        tessera.Store(folder)


def test_a_closed_store_is_refused(store):
    store.close()
    store.close()
    assert store.closed and "closed" in repr(store)
    for call in (lambda: store.recall("The lamp beside"), lambda: store.forget("lamp.txt")):
        with pytest.raises(ValueError, match="is closed; open it again"):
            call()
    with tessera.Store(str(store.path)) as again:
        assert again.stat().documents == 2


def test_one_writer_at_a_time(store):
    with tessera.Store(store.path) as second:
        assert second.stat().documents == 2
        store.memorize("third.txt", "A third text, of which nobody has heard before.\n")
        with pytest.raises(RuntimeError, match="another process"):
            second.memorize("fourth.txt", "A fourth one.\n")
        store.stat()  # ends the edits
        second.memorize("fourth.txt", "A fourth one, which came in time.\n")
        second.stat()
        assert store.stat().documents == 4


def test_an_edit_that_failed_keeps_nobody_from_writing(store):
    store.stat()  # ends the edits
    with tessera.Store(store.path) as second:
        with pytest.raises(ValueError, match="lamp.tx"):
            second.forget("lamp.tx")
        store.memorize("third.txt", "A third text, of which nobody has heard before.\n")
        assert second.stat().documents == 3
        store.stat()


def test_answers_are_dicts(store):
    answer = store.find("lamp")
    assert json.loads(json.dumps(answer)) == answer
    assert answer.places == answer["places"] and "places" in dir(answer)
    with pytest.raises(AttributeError, match="no 'place', it has: places, documents, data"):
        answer.place
    with pytest.raises(AttributeError):
        answer.places = 3  # which answer["places"] would not know
    assert repr(store) == f"<tessera.Store {str(store.path)!r}>"


def test_options_are_those_of_the_jobs():
    assert "tokens: maximum number of tokens to recite" in tessera.Store.recall.__doc__
    assert "\npath: folder of the new store\n" in tessera.Store.create.__doc__
    import inspect

    signature = inspect.signature(tessera.Store.recall)
    assert signature.parameters["tokens"].default == 50
    assert list(signature.parameters)[:2] == ["self", "prompt"]


def test_progress_is_told_and_may_raise(store):
    calls = []
    store.verify(progress=lambda done, of: calls.append((done, of)))
    assert calls and all(0 <= done <= of for done, of in calls)
    shares = []
    store.memorize("new.txt", "Nevermore. " * 10, progress=lambda done, of: shares.append(done / of))
    assert shares[-1] == 1
    store.forget("new.txt")

    def refuse(done, of):
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        store.verify(progress=refuse)
    with pytest.raises(ValueError, match="a progress function may not call"):
        store.verify(progress=lambda done, of: store.stat())
    assert store.stat().documents == 2


def test_other_threads_run_meanwhile(store):
    """The GIL is free: two threads that ask take turns, and neither waits for the other forever."""
    answers = []
    threads = [
        threading.Thread(target=lambda: answers.append(store.verify(progress=lambda *_: None)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(600)
    assert len(answers) == 4


def test_ctrl_c_ends_a_call(store):
    def interrupt(done, of):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.2)

    with pytest.raises(KeyboardInterrupt):
        store.memorize("long.txt", "All work and no play. " * 20000, progress=interrupt)
    assert store.stat().documents == 2


def test_a_signal_ends_a_call_soon(store):
    """After a tenth of a second of work, of which the whole text takes ten times as much."""
    text = "All work and no play. " * 1000000
    signal.signal(signal.SIGPROF, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_PROF, 0.1)
    with pytest.raises(KeyboardInterrupt):
        store.memorize("long.txt", text)
    assert store.stat().documents == 2


def test_ctrl_c_ends_the_wait_for_another_thread(store):
    asked, ended = threading.Event(), threading.Event()

    def hold(done, of):
        asked.set()
        ended.wait(600)

    holder = threading.Thread(target=lambda: store.verify(progress=hold))
    holder.start()
    asked.wait()
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        store.stat()
    ended.set()
    holder.join()
    timer.join()
    assert store.stat().documents == 2


def test_a_signal_ends_a_plan():
    """Its simulation runs in threads, of which Python tells only the main one."""
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):  # it would take hours
        timer.start()
        tessera.plan(alpha=1.5, inputs=100, outputs=10, error=0.1, runs=10**7)
    timer.join()
    assert tessera.plan(alpha=1.5, inputs=100, outputs=10, error=0.1, runs=0).dimension > 0


def test_a_plan_tells_its_progress():
    def refuse(done, of):
        raise KeyError("enough")

    calls, question = [], {"alpha": 1.5, "inputs": 1000, "outputs": 100, "error": 0.1, "runs": 0}
    tessera.plan(**question, progress=lambda done, of: calls.append((done, of)))
    assert calls and all(0 <= done <= of == 1000 for done, of in calls)
    with pytest.raises(KeyError, match="enough"):
        tessera.plan(**question, progress=refuse)


class Bar:
    """What tqdm is asked for."""

    drawn = []

    def __init__(self, desc, unit_scale):
        self.n, self.total = 0, None
        Bar.drawn.append(self)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.closed = True

    def reset(self, total):
        self.n, self.total = 0, total

    def update(self, more):
        assert more >= 0
        self.n += more


def test_progress_true_draws_with_tqdm(store, monkeypatch):
    tqdm = types.ModuleType("tqdm.auto")
    tqdm.tqdm = Bar
    monkeypatch.setitem(sys.modules, "tqdm.auto", tqdm)
    assert store.verify(progress=True).verified
    text = store.path.parent / "lamp.txt"
    text.write_text(LAMP)
    tessera.Store.create(store.path.parent / "planned", plan_from=text, error=0.2, progress=True)
    assert Bar.drawn[0].n == Bar.drawn[0].total  # the verification's
    assert len(Bar.drawn) == 2 and all(bar.closed and 0 < bar.n <= bar.total for bar in Bar.drawn)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(ModuleNotFoundError, match="python3-tqdm"):
        store.verify(progress=True)
    assert store.verify(progress=False).verified


def test_tqdm_itself(store, capsys):
    pytest.importorskip("tqdm")
    store.verify(progress=True)
    assert "verify: 100%" in capsys.readouterr().err


def test_the_gil_is_free_during_a_call(store):
    """Another thread counts on while one call works, which Python alone would not allow."""
    counted, ended = 0, threading.Event()

    def count():
        nonlocal counted
        while not ended.is_set():
            counted += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    during = []
    while max(during, default=0) <= 3 and len(during) < 100:  # the machine may be busy elsewhere
        before = counted
        store.memorize(f"{len(during)}.txt", "All work and no play. " * 100000)
        during.append(counted - before)
    ended.set()
    thread.join()
    assert during[-1] > 3


def test_documents_are_a_table_of_pandas(store):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(store.documents())
    assert table["id"].tolist() == ["lamp.txt", "ship.txt"] and table["tokens"].sum() > 100


def test_another_process_is_told_who_writes(store):
    store.memorize("third.txt", "A third text, of which nobody has heard before.\n")
    script = (
        "import tessera\n"
        f"with tessera.Store({str(store.path)!r}) as store:\n"
        "    print(store.stat().documents)\n"
        "    store.memorize('fourth.txt', 'A fourth one, which has to wait.')"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert run.stdout == "3\n" and "RuntimeError" in run.stderr and "another process" in run.stderr
    store.stat()  # ends the edits
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
    assert store.stat().documents == 4


def test_no_pytorch_is_needed(store):
    """A Python that has no torch, in a process of its own."""
    store.close()
    script = (
        "import sys; sys.modules['torch'] = None; import pydoc, tessera\n"
        "assert 'Recite what is stored' in pydoc.render_doc(tessera)\n"
        f"with tessera.Store({str(store.path)!r}) as store: print(store.stat().documents)"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (run.stdout, run.stderr) == ("2\n", "")


def in_a_fork(work):
    """What work() returns or raises in a child, as text."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():  # Python 3.12 warns where threads have run before
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            said = str(work())
        except BaseException as error:
            said = repr(error)
        os.write(writer, said.encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with open(reader) as said:
        return said.read()


def test_a_fork_may_use_what_it_imported(store):
    store.close()
    assert in_a_fork(lambda: tessera.Store(store.path).stat().documents) == "2"


def test_a_fork_leaves_open_stores_to_its_parent(store):
    """It reads what is safe on disk, and does not end the parent's edits."""
    assert in_a_fork(lambda: store.recall("The lamp beside the river", tokens=9).text) == " burned a"

    def edit():
        with pytest.raises(RuntimeError, match="another process"):
            store.memorize("child.txt", "A text of a child.\n")
        store.close()
        return store.closed

    assert in_a_fork(edit) == "True"
    store.memorize("third.txt", "A third text, of which nobody has heard before.\n")
    assert store.verify().verified and store.stat().documents == 3  # which end the edits
    in_a_fork(lambda: store.memorize("child.txt", "A text of a child.\n") and store.close())
    assert store.verify().verified and store.stat().documents == 4


def test_a_fork_computes_where_its_parent_had_several_threads(store):
    """OpenMP reads its number of threads once, so in a process of its own."""
    store.close()
    script = (
        "import os, signal, sys, tessera\n"
        f"store = tessera.Store({str(store.path)!r})\n"
        "recall = lambda: store.recall('The lamp beside the river', tokens=9).text\n"
        "recall()\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    signal.alarm(60)\n"
        "    os._exit(recall() != ' burned a')\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))"
    )
    ignoring = ["-W", "ignore::DeprecationWarning"]  # of Python 3.12, where threads have run before
    environment = {**os.environ, "OMP_NUM_THREADS": "2"}
    subprocess.run([sys.executable, *ignoring, "-c", script], env=environment, check=True)


def test_a_fork_while_another_thread_is_in_a_call(store):
    begun, forked = threading.Event(), threading.Event()

    def progress(done, of):
        begun.set()
        forked.wait(60)

    thread = threading.Thread(target=lambda: store.verify(progress=progress))
    thread.start()
    assert begun.wait(60)

    def recalled_by_threads():
        texts = []
        recall = lambda: texts.append(store.recall("The lamp beside the river", tokens=17).text)  # noqa: E731
        threads = [threading.Thread(target=recall) for _ in range(3)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        return texts

    assert in_a_fork(recalled_by_threads) == str([" burned all night"] * 3)
    forked.set()
    thread.join()
    assert store.verify().verified


def test_numbers_and_paths_of_other_libraries(store):
    numpy = pytest.importorskip("numpy")
    assert len(store.recall("The lamp beside the river", tokens=numpy.int64(5)).tokens) == 5
    for number in (numpy.float32(0.5), numpy.longdouble(0.5)):
        assert store.recall("The lamp beside the river", error_rate=number).text
    assert store.recall("The lamp beside the river", exact=numpy.bool_(True)).text
    asked = store.ask(numpy.array(["The lamp beside the river", "The ship"]))
    assert asked == store.ask(["The lamp beside the river", "The ship"])
    assert store.memorize(Path("path.txt"), "Its id is a path, which becomes a text.\n").id == "path.txt"
    for use, field in (
        (lambda path: store.memorize("e", path), "text"),
        (lambda path: store.memorize("e", "text", meta={"from": path}), "meta: from"),
        (store.recall, "prompt"),
        (lambda path: store.ask([path]), "prompts"),
        (store.find, "text"),
    ):
        with pytest.raises(TypeError, match=f"^{field}: a PosixPath was given, expected no path"):
            use(Path("/etc/hostname"))
    assert store.show(Path("path.txt")).id == "path.txt"
    assert store.forget(Path("path.txt")).deleted


def test_plans_as_the_program_does():
    plan = tessera.plan(alpha=1.5, inputs=200, outputs=20, error=0.1, runs=0)
    arguments = "--alpha 1.5 --inputs 200 --outputs 20 --error 0.1 --runs 0 --json".split()
    command = [os.environ["TESSERA_PROGRAM"], "plan", *arguments]
    assert plan == json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    with pytest.raises(ValueError, match="inputs is missing"):
        tessera.plan(alpha=1.5)
