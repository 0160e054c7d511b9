"""TMX and XLIFF as translators' tools write them, and XML that is broken or hostile."""

from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path
from typing import Optional

import pytest

from regard.data.corpus import Pairs
from regard.data.parallel import Parallel
from regard.errors import UsageError

TMX = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4">
  <header creationtool="x" segtype="sentence" srclang="en-US" datatype="xml"/>
  <body>
    <tu tuid="1">
      <note>not a text</note>
      <tuv xml:lang="de-DE"><prop type="x">nor this</prop><seg>Ein Boot &amp; mehr</seg></tuv>
      <tuv xml:lang="en-US"><seg>A boat &amp; more</seg></tuv>
    </tu>
    <tu>
      <tuv xml:lang="EN-GB"><seg>Click <bpt i="1">&lt;b&gt;</bpt>here<ept i="1">&lt;/b&gt;</ept>,
         <hi>now</hi><ph>{0}<sub>hidden</sub></ph>!</seg></tuv>
      <tuv xml:lang="de"><seg>Hier <it pos="begin">&lt;i&gt;</it>klicken</seg></tuv>
    </tu>
    <tu>
      <tuv xml:lang="en-US"><seg>No translation</seg></tuv>
    </tu>
    <tu>
      <tuv xml:lang="en-US"><seg>Empty</seg></tuv>
      <tuv xml:lang="de-DE"><seg> <ph/> </seg></tuv>
    </tu>
  </body>
</tmx>
"""
TMX_TEXTS = [("A boat & more", "Ein Boot & mehr"), ("Click here, now!", "Hier klicken")]

XLIFF_1 = """<?xml version="1.0"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2" xmlns:sdl="http://sdl.com">
 <file original="a.txt" source-language="en-US" target-language="de" datatype="plaintext">
  <header><note>no</note></header>
  <body>
   <group>
    <trans-unit id="1">
     <source>One <g id="1">two</g><x id="2"/></source>
     <seg-source><mrk mtype="seg" mid="1">One two</mrk></seg-source>
     <target state="final"><mrk mtype="seg" mid="1">Eins <g id="1">zwei</g></mrk></target>
     <alt-trans><source>wrong</source><target>falsch</target></alt-trans>
     <sdl:seg-defs><sdl:seg id="1"/></sdl:seg-defs>
    </trans-unit>
    <trans-unit id="2"><source>Untranslated</source></trans-unit>
    <trans-unit id="3">
     <source>Three</source><target>Drei<bpt id="1">&lt;b></bpt></target>
    </trans-unit>
   </group>
  </body>
 </file>
</xliff>
"""
XLIFF_2 = """<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0"
 srcLang="en-US" trgLang="de-DE">
 <file id="f1">
  <unit id="1" xmlns:mtc="urn:oasis:names:tc:xliff:matches:2.0">
   <mtc:matches>
    <mtc:match ref="#1"><source>no</source><target>nein</target></mtc:match>
   </mtc:matches>
   <originalData><data id="d1">&lt;b&gt;</data></originalData>
   <segment id="1"><source>One <pc id="1">two</pc></source><target>Eins zwei</target></segment>
   <ignorable><source> </source></ignorable>
   <segment><source>Three<ph id="2" dataRef="d1"/></source><target>Drei</target></segment>
   <segment><source>Untranslated</source></segment>
  </unit>
 </file>
</xliff>
"""
XLIFF_TEXTS = [("One two", "Eins zwei"), ("Three", "Drei")]


def opened(path: Path, content: str | bytes, columns: Optional[str] = None) -> Pairs:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return Parallel(pairs=path, columns=columns).open()


def texts(pairs: Pairs) -> list[tuple[str, str]]:
    return [pair.texts for pair in pairs]


def refusal(pairs: Pairs) -> str:
    with pytest.raises(UsageError) as caught:
        pairs.check()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def reverse(found: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(target, source) for source, target in found]


def test_tmx_of_two_languages_needs_no_choice(tmp_path: Path) -> None:
    path = tmp_path / "memory"
    pairs = opened(path, TMX)
    assert texts(pairs) == TMX_TEXTS
    assert [pair.number for pair in pairs] == [1, 2]
    assert set(pairs.check().sentences()) == {
        f"Skipped 1 of 4 pairs: empty (first at {path}:19).",
        f"Skipped 1 of 4 pairs: source or target missing (first at {path}:16).",
        f"Read en-US as the source and de-DE as the target of {path}.",
        f"Removed 7 inline tags from the texts of {path}.",
    }


@pytest.mark.parametrize("columns", ["en,de", "EN, de-de", "en-us,de-DE", "en_US,de"])
def test_tmx_languages_by_tag(columns: str, tmp_path: Path) -> None:
    given = TMX.replace('"de"', '"de-DE"').replace("EN-GB", "en-US")
    assert texts(opened(tmp_path / "a.tmx", given, columns)) == TMX_TEXTS
    swapped = ",".join(reversed(columns.split(",")))
    assert texts(opened(tmp_path / "a.tmx", given, swapped)) == reverse(TMX_TEXTS)


def test_a_region_asked_for_is_not_any_other(tmp_path: Path) -> None:
    pairs = opened(tmp_path / "a.tmx", TMX, "en-GB,de")
    assert texts(pairs) == TMX_TEXTS[1:]
    assert pairs.check().skipped["source or target missing"].count == 3


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be", "iso-8859-1"])
def test_tmx_in_other_encodings(encoding: str, tmp_path: Path) -> None:
    text = TMX.replace("UTF-8", encoding.removesuffix("-sig")).replace("Boot", "Boot für Ärzte")
    if encoding == "utf-16-be":
        text = "\ufeff" + text.replace("utf-16-be", "utf-16")
    assert texts(opened(tmp_path / "a.tmx", text.encode(encoding)))[0][1].startswith(
        "Ein Boot für Ärzte"
    )


def unit(**sides: str) -> str:
    inside = "".join(
        f'<tuv xml:lang="{tag}"><seg>{text}</seg></tuv>' for tag, text in sides.items()
    )
    return f"<tu>{inside}</tu>\n"


def memory(*units: str, source: str = "*all*") -> str:
    return f'<tmx><header srclang="{source}"/><body>\n{"".join(units)}</body></tmx>'


def test_the_header_says_which_language_is_the_source(tmp_path: Path) -> None:
    path, units = tmp_path / "a.tmx", unit(de="eins", en="one")
    assert texts(opened(path, memory(units))) == [("eins", "one")]
    assert texts(opened(path, memory(units, source="en"))) == [("one", "eins")]


def test_two_regions_of_a_language_are_two_languages(tmp_path: Path) -> None:
    sides = {"zh-CN": "a", "zh-TW": "b"}
    assert (
        texts(opened(tmp_path / "a.tmx", memory(unit(**sides), unit(**sides)))) == [("a", "b")] * 2
    )


def test_a_third_language_must_be_chosen_from(tmp_path: Path) -> None:
    path = tmp_path / "a.tmx"
    content = memory(unit(en="1", de="2"), unit(en="1", fr="3"))
    message = refusal(opened(path, content))
    assert "a.tmx:3 has fr beside en and de: choose two languages, such as --columns" in message
    assert texts(opened(path, content, "fr,en")) == [("3", "1")]


def test_languages_that_a_file_does_not_have(tmp_path: Path) -> None:
    message = refusal(opened(tmp_path / "a.tmx", TMX, "en,sv"))
    assert "a.tmx has no unit in en and sv: its languages are EN-GB, de, de-DE, en-US" in message
    message = refusal(opened(tmp_path / "a.tmx", memory(unit(en="1"))))
    assert "a.tmx has no unit in two languages: its languages are en." in message
    for content in (XLIFF_1, XLIFF_2):
        message = refusal(opened(tmp_path / "a.xlf", content, "en,sv"))
        assert "a.xlf has no segment in en and sv: its languages are de" in message


@pytest.mark.parametrize(("content", "line"), [(XLIFF_1, 14), (XLIFF_2, 12)])
def test_xliff(content: str, line: int, tmp_path: Path) -> None:
    path = tmp_path / "file"
    pairs = opened(path, gzip.compress(content.encode()))
    assert texts(pairs) == XLIFF_TEXTS
    sentences = pairs.check().sentences()
    assert f"Skipped 1 of 3 pairs: source or target missing (first at {path}:{line})." in sentences
    assert any("Read en-US as the source and de" in note for note in sentences)
    assert any("inline tags" in note for note in sentences)
    assert texts(opened(path, content, "en,de")) == XLIFF_TEXTS
    assert texts(opened(path, content, "de,en")) == reverse(XLIFF_TEXTS)


def bomb() -> str:
    names = [f'<!ENTITY a{n} "{f"&a{n - 1};" * 10 if n else "ha" * 10}">' for n in range(10)]
    return f"<?xml version='1.0'?>\n<!DOCTYPE tmx [\n{''.join(names)}]>\n" + memory(
        unit(en="&a9;", de="x")
    )


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (bomb(), "a.tmx:2 has declarations inside its DOCTYPE"),
        (
            '<!DOCTYPE tmx [<!ENTITY x SYSTEM "file:///etc/passwd">]>\n'
            + memory(unit(en="&x;", de="x")),
            "a.tmx:1 has declarations inside its DOCTYPE",
        ),
        (
            '<!DOCTYPE tmx SYSTEM "a.dtd">\n' + memory(unit(en="a&nbsp;b", de="x")),
            "a.tmx:3 has the entity &nbsp;",
        ),
        (memory(unit(en="a&nbsp;b", de="x")), "a.tmx:2 is not well-formed XML (undefined entity)"),
        (
            memory(unit(en="a", de="b"), "<tu><tuv></tu>"),
            "a.tmx:3 is not well-formed XML (mismatch",
        ),
        (TMX[:-20], "is not well-formed XML"),
        (TMX.encode().replace(b"boat", b"bo\xfft"), "a.tmx:9 is not well-formed XML"),
        (memory("<x>" * 1_000 + "</x>" * 1_000), "a.tmx:2 has more than 200 elements inside"),
        (memory(f"<!-- {'x' * 9_000_000} -->"), "has a tag or a comment of more than 4 MB"),
        (TMX.replace("UTF-8", "klingon"), "unknown encoding"),
        (memory(), "a.tmx has no unit in two languages: its languages are none"),
        ('<?xml version="1.0"?>\n<html/>', "is not TMX"),
        ("", "is not well-formed XML (no element found)"),
        (b"PK\x03\x04" + bytes(30), "a.tmx is a zip archive"),
    ],
)
def test_broken_and_hostile_files_are_refused(
    content: str | bytes, said: str, tmp_path: Path
) -> None:
    if said == "is not TMX":
        message, said = refusal(opened(tmp_path / "a.xml", content)), "neither TMX nor XLIFF"
    else:
        message = refusal(opened(tmp_path / "a.tmx", content))
    assert said in message


def test_no_other_file_is_read_for_a_dtd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tmx14.dtd").write_text('<!ENTITY x "text">')
    monkeypatch.chdir(tmp_path)
    assert "has the entity &x;" in refusal(opened(tmp_path / "a.tmx", TMX.replace("boat", "&x;")))


def test_a_large_memory_is_read_as_a_stream(tmp_path: Path) -> None:
    content = memory(*(unit(en=f"line {n} " + "x" * 900, de="y" * 900) for n in range(5_000)))
    pairs = opened(tmp_path / "a.tmx", content)
    size = len(content)
    del content
    tracemalloc.start()
    assert sum(1 for _ in pairs) == 5_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < size / 3


def test_a_very_long_text_is_skipped_without_being_held(tmp_path: Path) -> None:
    long = "word and\n" * 2_000_000
    pairs = opened(tmp_path / "a.tmx", memory(unit(en="1", de="2"), unit(en=long, de=" " * 90_000)))
    tracemalloc.start()
    assert texts(pairs) == [("1", "2")]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8_000_000
    assert f"(first at {tmp_path / 'a.tmx'}:3)" in pairs.check().sentences()[0]
