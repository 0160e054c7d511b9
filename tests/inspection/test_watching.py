"""What a run keeps of a few sentences, and the page that shows it while it trains."""

from __future__ import annotations

import base64
import http.client
import json
import shutil
import socket
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_page import Shown
from toy import Crash, at_step, crash, train_small, write_corpus
from untrained import untrained

from regard.cli import main
from regard.data.line import Line, Pair
from regard.errors import RegardError, UsageError
from regard.inspection.watching import own_names, run_data, start, version
from regard.models.turing import TuringConfig
from regard.runs.folder import Run
from regard.runs.snapshot import load_snapshots, save_snapshot, snapshot


def test_each_validation_keeps_a_snapshot(transformer: Path) -> None:
    run = Run.open(transformer)
    snapshots = list(load_snapshots(run))
    assert [each["step"] for each in snapshots] == [4, 8]
    pairs = run.validation_pairs(4)
    for each in snapshots:
        assert [sentence["source"] for sentence in each["sentences"]] == [
            pair.source.text for pair in pairs
        ]
        assert [sentence["reference"] for sentence in each["sentences"]] == [
            pair.target.text for pair in pairs
        ]


def test_a_snapshot_has_the_attention_between_words(able: Path) -> None:
    last = list(load_snapshots(Run.open(able / "run")))[-1]
    for sentence in last["sentences"]:
        attention = sentence["attention"]
        assert attention["columns"] == [*sentence["source"].split(), "</s>"]
        assert attention["rows"] == [*sentence["output"].split(), "</s>"]
        shape = (attention["layers"], len(attention["rows"]), len(attention["columns"]))
        steps = np.frombuffer(base64.b64decode(attention["weights"]), np.uint8).reshape(shape)
        np.testing.assert_allclose(steps.sum(axis=-1) / 255, 1, atol=0.05)


def test_a_snapshot_has_the_heads_of_a_machine() -> None:
    """Over its steps, which read the source and then write the target."""
    pair = Pair(1, Line("ant bee"), Line("bee ant"))
    predictor = untrained(TuringConfig.miniatures()[1])
    (sentence,) = snapshot(predictor, [pair], ["cat"])["sentences"]
    attention = sentence["attention"]
    assert attention["rows"] == ("ant", "bee", "</s>", "cat", "</s>")
    assert attention["columns"] == tuple(str(number) for number in range(1, 11))
    assert attention["names"] == ["read heads", "write heads"]
    steps = np.frombuffer(base64.b64decode(attention["weights"]), np.uint8).reshape(2, 5, 10)
    np.testing.assert_allclose(steps.sum(axis=-1) / 255, 1, atol=0.05)


def test_a_damaged_snapshot_is_passed_over(transformer: Path, tmp_path: Path) -> None:
    shutil.copytree(transformer, tmp_path / "run")
    (tmp_path / "run/snapshots/step-4.json").write_text("{")
    (tmp_path / "run/snapshots/step-x.json").write_text("{}")
    (tmp_path / "run/snapshots/step-6.json").write_text('{"sentences": 5}')
    run = Run.open(tmp_path / "run")
    assert [each["step"] for each in load_snapshots(run)] == [6, 8]
    assert [each["step"] for each in run_data(run)["snapshots"]] == [8]


def test_a_long_run_shows_some_of_its_snapshots(transformer: Path, tmp_path: Path) -> None:
    shutil.copytree(transformer, tmp_path / "run")
    run = Run.open(tmp_path / "run")
    for step in range(10, 2010, 10):
        save_snapshot(run, step, {"sentences": []})
    steps = [each["step"] for each in run_data(run)["snapshots"]]
    assert (len(steps), steps[0], steps[-1]) == (60, 4, 2000)
    assert steps == sorted(set(steps))


def test_a_run_that_was_killed_ends_with_the_same_snapshots(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "corpus")
    settings = ("training.validate_every=3", "training.save_every=2")
    train_small(tmp_path / "whole", corpus, *settings)
    with pytest.raises(Crash), at_step(7, crash):
        train_small(tmp_path / "broken", corpus, *settings)
    train_small(tmp_path / "broken", corpus, *settings)
    kept = [
        {path.name: path.read_bytes() for path in (tmp_path / run / "snapshots").iterdir()}
        for run in ("whole", "broken")
    ]
    assert kept[0] == kept[1]
    assert sorted(kept[0]) == ["step-3.json", "step-6.json", "step-8.json"]


@pytest.fixture
def port(able: Path) -> Iterator[int]:
    server = start(Run.open(able / "run"), 0)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()


def ask(port: int, path: str, method: str = "GET", host: str | None = None) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request(method, path, headers={} if host is None else {"Host": host})
    answer = connection.getresponse()
    found = answer.status, answer.read()
    connection.close()
    return found


def test_the_server_answers_two_questions(port: int) -> None:
    status, body = ask(port, "/")
    assert (status, body[:15]) == (200, b"<!doctype html>")
    status, body = ask(port, "/data")
    data = json.loads(body)
    assert status == 200
    assert data["step"] == data["steps"] == 120
    assert [step for step, _ in data["validation"]["loss"]] == [60, 120]
    assert ask(port, f"/data?known={data['version']}") == (204, b"")
    assert ask(port, "/config.json")[0] == 404
    assert ask(port, "/../config.json")[0] == 404
    assert ask(port, "/", method="POST")[0] == 501
    assert ask(port, "/data", host="example.org")[0] == 403  # a page of the network is refused


def test_what_cannot_be_answered_is_no_news_for_the_terminal(
    port: int, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def damaged(run: Run) -> None:
        raise UsageError("plan.json is damaged.")

    monkeypatch.setattr(Run, "steps", property(damaged))
    assert ask(port, "/data") == (500, b"plan.json is damaged.")
    assert ask(port, "x://[")[0] == 400
    with socket.create_connection(("127.0.0.1", port)) as gone:
        gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset
        gone.sendall(b"GET / HT")
    time.sleep(0.2)
    assert ask(port, "/nothing")[0] == 404
    assert capfd.readouterr() == ("", "")


def test_only_the_port_of_the_web_may_be_left_out() -> None:
    assert own_names(8765) == ["127.0.0.1:8765", "localhost:8765"]
    assert {"127.0.0.1", "localhost"} < set(own_names(80))


def test_what_is_written_while_the_page_is_made_is_shown_next_time(
    transformer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(transformer, tmp_path / "run")
    run = Run.open(tmp_path / "run")
    assert run_data(run)["version"] == version(run)
    monkeypatch.setattr(Run, "steps", property(lambda run: run.journal.add("train", 9, {})))
    assert run_data(run)["version"] != version(run)


def test_a_taken_port_is_a_plain_sentence(port: int, transformer: Path) -> None:
    with pytest.raises(RegardError, match="give another --port"):
        start(Run.open(transformer), port)


def test_the_page_shows_curves_and_translations_over_time(browser: Any, port: int) -> None:
    browser.get_log("browser")
    browser.get(f"http://127.0.0.1:{port}/")
    assert len(browser.find_elements("css selector", "svg.chart")) == 2
    assert len(browser.find_elements("css selector", ".sentence")) == 4
    slider = browser.find_element("css selector", "input[type=range]")
    assert "step 120" in browser.find_element("css selector", ".time").text
    slider.send_keys("\ue012")  # the left arrow
    assert "step 60" in browser.find_element("css selector", ".time").text
    assert browser.get_log("browser") == []
    browser.get("about:blank")  # before its server ends


def test_the_page_can_be_kept(browser: Any, able: Path, tmp_path: Path) -> None:
    assert main(["watch", str(able / "run"), "--output", str(tmp_path / "watch.html")]) == 0
    shown = Shown(browser, tmp_path / "watch.html")
    assert len(shown.all(".sentence canvas")) > 0
    assert shown.errors() == []


def test_a_run_without_any_record_has_a_page(transformer: Path, tmp_path: Path) -> None:
    shutil.copytree(transformer, tmp_path / "run")
    (tmp_path / "run/journal.jsonl").unlink()
    shutil.rmtree(tmp_path / "run/snapshots")
    assert main(["watch", str(tmp_path / "run"), "--output", str(tmp_path / "watch.html")]) == 0
    assert main(["watch", str(tmp_path / "none")]) == 2
