"""Every kind of damage is found on its line, and nothing is found in a clean corpus."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from regard import Parallel, UsageError, doctor
from regard.config import override
from regard.diagnosis.report import Finding, Report
from regard.recipes import find_recipe

Pairs = list[tuple[str, str]]
ReportOf = Callable[..., Report]

FRENCH = (
    "Les enfants jouent dans le jardin pendant que leur mère prépare le repas.",
    "Une femme traverse la rue avec son chien et un parapluie rouge.",
    "Nous avons acheté des légumes frais au marché ce matin.",
)
CYRILLIC = "Мы видели двух собак у реки."


def changed(pairs: Pairs, index: int, source: str = "", target: str = "") -> Pairs:
    old = pairs[index]
    return [*pairs[:index], (source or old[0], target or old[1]), *pairs[index + 1 :]]


def finding(report: Report, kind: str) -> Finding:
    (found,) = (each for each in report.findings if each.kind == kind)
    return found


def test_a_clean_corpus_has_no_damage(clean: Pairs, report_of: ReportOf) -> None:
    report = report_of(clean)
    assert (report.pairs, report.damaged, report.damage) == (len(clean), 0, {})
    assert report.findings == ()
    assert [side.language for side in report.sides] == ["en", "de"]
    assert report.recipe == "multi30k"
    assert str(report).startswith(f"{len(clean)} pairs without visible damage.\n")


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("encoding", lambda pair: (pair[0], "Die MÃ¤nner sahen zwei groÃŸe Hunde am Fluss.")),
        ("control", lambda pair: (f"{pair[0]}\x07", pair[1])),
        ("markup", lambda pair: (pair[0], f"<b>{pair[1]}</b>")),
        ("script", lambda pair: (CYRILLIC, pair[1])),
        ("untranslated", lambda pair: (pair[0], pair[0])),
        ("language", lambda pair: (FRENCH[0], pair[1])),
        ("length", lambda pair: (pair[0], " ".join([pair[1]] * 8))),
    ],
)
def test_damage_is_found_on_its_line(
    kind: str,
    change: Callable[[tuple[str, str]], tuple[str, str]],
    clean: Pairs,
    report_of: ReportOf,
) -> None:
    report = report_of(changed(clean, 500, *change(clean[500])))
    assert report.damage[kind] == 1
    assert report.damaged == 1
    [example] = finding(report, kind).examples
    assert example.where.endswith("train.en:501")


def test_duplicates_and_near_duplicates_are_told_apart(clean: Pairs, report_of: ReportOf) -> None:
    source, target = clean[7]
    pairs = [*clean, clean[3], (source.upper(), target.upper()), (source + " ,", target + "!")]
    typo = ("x" + clean[9][0][1:], clean[9][1])
    report = report_of([*pairs, typo])
    assert report.damage == {"duplicate": 1, "near-duplicate": 3}
    found = finding(report, "duplicate")
    assert found.examples[0].where.endswith(f"train.en:{len(clean) + 1}")
    assert " repeats an earlier pair; the first is " in found.sentence
    assert (
        " nearly repeat an earlier pair; the first is "
        in finding(report, "near-duplicate").sentence
    )


def test_many_lines_in_another_language_are_all_found(clean: Pairs, report_of: ReportOf) -> None:
    pairs = list(clean)
    for index, line in enumerate(FRENCH * 5):
        pairs[index * 50] = (line if index % 2 else pairs[index * 50][0], line + str(index))
    assert report_of(pairs).damage["language"] >= 14


def test_unrelated_pairs_are_found(clean: Pairs, report_of: ReportOf) -> None:
    pairs = list(clean)
    wrong = list(range(0, len(clean) - 400, 7))
    for index in wrong:
        pairs[index] = (clean[index][0], clean[index + 371][1])
    report = report_of(pairs)
    assert report.damage["unrelated"] > 0.2 * len(wrong)  # of 900 pairs little is learned
    assert report.damaged < 1.1 * len(wrong)
    assert any("nothing to do with each other" in each for each in report.warnings)


def test_what_cannot_be_used_is_counted(clean: Pairs, report_of: ReportOf) -> None:
    pairs = changed(changed(clean, 30, target=" "), 40, source="a\0b")
    report = report_of(pairs)
    assert report.damage["unusable"] == 2
    assert [each.where[-2:] for each in finding(report, "unusable").examples] == ["31", "41"]


def test_most_pairs_being_copies_is_the_task(clean: Pairs, report_of: ReportOf) -> None:
    report = report_of([(source, source) for source, _ in clean])
    found = finding(report, "untranslated")
    assert found.level == "note"
    assert "taken to be part of the task" in found.sentence
    assert (report.damaged, report.headline) == (0, f"{len(clean)} pairs without visible damage.")


def test_training_is_compared_with_validation_and_test(
    clean: Pairs, data: Callable[..., Parallel]
) -> None:
    valid = [(clean[5][0].upper(), clean[5][1]), (clean[6][0], "Etwas ganz anderes."), clean[890]]
    test = [("We saw a zyzzyva in the harbour.", "Wir sahen einen Rüsselkäfer im Hafen.")]
    report = doctor(data(clean[:880]), valid=data(valid, "valid"), test=data(test, "test"))
    with_valid, with_test = report.compared
    assert (with_valid.pairs, with_valid.shared, with_valid.shared_sources) == (3, 1, 2)
    assert with_test.shared == 0
    assert report.damage == {"overlap": 1}
    assert "zyzzyva" in with_test.coverage["source"].missing
    assert with_test.coverage["source"].share < 1
    assert any("1 of 3 validation pairs (33 %) is a training" in each for each in report.warnings)
    said = [each.sentence for each in report.findings]
    assert "1 more validation source (33 %) is a training source with a different target." in said
    assert any("words of the validation source occur in training" in each for each in said)
    assert any("of the distinct ones); missing" in each for each in said)


def test_swapped_validation_files_are_an_error(clean: Pairs, data: Callable[..., Parallel]) -> None:
    swapped = [(target, source) for source, target in clean[600:]]
    report = doctor(data(clean[:600]), valid=data(swapped, "valid"))
    assert ["are swapped" in each for each in report.errors] == [True]


def test_the_language_may_be_another_than_was_said(
    clean: Pairs, data: Callable[..., Parallel]
) -> None:
    given = data(clean)
    report = doctor(Parallel(given.source, given.target, languages=("fr", "de")))
    assert report.warnings == ["The source seems to be en, not fr."]


def test_labels_are_not_taken_for_sentences(clean: Pairs, report_of: ReportOf) -> None:
    report = report_of([(source, "yes" if i % 3 else "no") for i, (source, _) in enumerate(clean)])
    assert report.damaged == 0
    assert [side.name for side in report.sides] == ["source"]
    assert report.recipe == "classifier"


def test_one_side_is_enough(clean: Pairs, tmp_path: Path) -> None:
    path = tmp_path / "text.de"
    lines = [target for _, target in clean]
    lines[10] = FRENCH[1]
    path.write_text("\n".join([*lines, lines[0]]) + "\n", encoding="utf-8")
    report = doctor(Parallel(target=path))
    assert report.damage == {"language": 1, "duplicate": 1}
    assert (report.recipe, [side.name for side in report.sides]) == ("language", ["target"])


def test_files_of_pairs_and_several_files_name_their_lines(clean: Pairs, tmp_path: Path) -> None:
    tsv = tmp_path / "a.tsv"
    rows = [f"{source}\t{target}\n" for source, target in clean[:450]]
    tsv.write_text("".join(rows), encoding="utf-8")
    other = tmp_path / "b.tsv"
    damaged = changed(clean[450:], 20, target="<i>kursiv</i> und &amp;")
    other.write_text("".join(f"{s}\t{t}\n" for s, t in damaged), encoding="utf-8")
    report = doctor(Parallel(pairs=[tsv, other]))
    assert report.damage["markup"] == 1
    assert finding(report, "markup").examples[0].where == f"{other}:21"


def test_a_recipe_decides_what_is_checked(clean: Pairs, data: Callable[..., Parallel]) -> None:
    """A tagger needs a tag for each word, as training would say."""
    report = doctor(data(clean[:50]), recipe="tagger")
    assert len(report.errors) == 1
    with pytest.raises(UsageError, match="There is no recipe"):
        doctor(data(clean[:50]), recipe="taggr")


def test_other_things_than_parallel_are_refused() -> None:
    files: Sequence[str] = ("a", "b")
    with pytest.raises(UsageError, match="does not say which side"):
        doctor(files[0])  # type: ignore[arg-type]


def test_a_recipe_is_forecast(clean: Pairs, data: Callable[..., Parallel]) -> None:
    small = ["model.width=16", "model.layers=1", "tokenizer.vocabulary=500"]
    config = override(find_recipe("tiny"), small)
    forecast = doctor(data(clean[:300]), recipe=config).forecast
    assert forecast is not None
    assert 300 < forecast.tokens < 20_000
    assert forecast.steps >= 1
    assert forecast.seconds > 0
    assert forecast.memory > 4 * forecast.parameters
    assert forecast.fits
    assert doctor(data(clean[:300])).forecast is None
