"""The journal: readable whatever a kill left of it, and rewound exactly."""

from __future__ import annotations

import json
import re
from pathlib import Path

from regard.drawing.curves import save_curves
from regard.training.journal import Journal


def written(path: Path) -> Journal:
    journal = Journal(path / "journal.jsonl")
    for step in (10, 20, 30):
        journal.add("train", step, {"loss": 1 / step})
    journal.add("validation", 30, {"loss": 0.5, "bleu": 12.0})
    return journal


def test_every_record_is_one_line_of_json(tmp_path: Path) -> None:
    journal = written(tmp_path)
    lines = journal.path.read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [10, 20, 30, 30]
    assert list(journal)[3] == {"event": "validation", "step": 30, "loss": 0.5, "bleu": 12.0}


def test_rewinding_forgets_what_came_later_and_nothing_else(tmp_path: Path) -> None:
    journal = written(tmp_path)
    journal.rewind(20)
    assert [record["step"] for record in journal] == [10, 20]
    journal.add("train", 30, {"loss": 0.1})
    assert [record["step"] for record in journal] == [10, 20, 30]


def test_rewinding_to_a_step_saved_before_its_validation_forgets_the_validation(
    tmp_path: Path,
) -> None:
    journal = written(tmp_path)
    journal.rewind(30, validated=False)
    assert [record["event"] for record in journal] == ["train"] * 3


def test_a_torn_last_line_is_passed_over_and_gone_after_rewinding(tmp_path: Path) -> None:
    journal = written(tmp_path)
    whole = journal.path.read_bytes()
    for size in range(len(whole)):
        journal.path.write_bytes(whole[:size])
        complete = whole[:size].count(b"\n")
        assert len(list(journal)) in (complete, complete + 1)
    journal.path.write_bytes(whole[:-5])
    journal.rewind(30)
    journal.add("train", 40, {"loss": 0.1})
    assert [record["step"] for record in journal] == [10, 20, 30, 40]


def test_records_that_are_not_ours_are_passed_over(tmp_path: Path) -> None:
    journal = written(tmp_path)
    with journal.path.open("ab") as stream:
        stream.write(b'[1]\n{"step": "x", "event": "train"}\n{"event": "train"}\n\xff\xfe\n\n')
    assert len(list(journal)) == 4
    journal.rewind(30)
    assert len(journal.path.read_text().splitlines()) == 4


def test_a_missing_journal_is_an_empty_one(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    assert list(journal) == []
    journal.rewind(0)
    assert list(journal) == []


def test_the_curves_show_what_the_journal_holds(tmp_path: Path) -> None:
    curves = written(tmp_path).curves()
    assert curves == {
        "loss per token": {
            "training": [(10, 1 / 10), (20, 1 / 20), (30, 1 / 30)],
            "validation": [(30, 0.5)],
        },
        "bleu": {"validation": [(30, 12.0)]},
    }
    save_curves(tmp_path / "curves.svg", curves, "step")
    drawn = (tmp_path / "curves.svg").read_text()
    assert "<svg" in drawn
    assert "loss per token" in drawn
    assert "bleu" in drawn
    assert len(re.findall(r'id="panel-\d-curve-\d"', drawn)) == 3
    save_curves(tmp_path / "empty.svg", Journal(tmp_path / "none.jsonl").curves(), "step")
    assert "nothing yet" in (tmp_path / "empty.svg").read_text()
