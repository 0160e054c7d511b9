"""Files made by the libraries people use, translated by a running server, and hostile ones."""

from __future__ import annotations

import io
import tempfile
import time
import urllib.parse
import uuid
import zipfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import docx
import pytest
import srt
from clients import Answer, Client, Serve
from odfdo import Document as OdfDocument
from odfdo import Paragraph, Span, Table

from regard.serving import service
from regard.serving.documents import archive, read_document
from regard.serving.documents.subtitles import broken
from regard.serving.limits import Limits
from regard.serving.refusal import RefusedError
from regard.serving.store import Store, safe_name


def send(client: Client, name: str, data: bytes, **fields: str) -> Answer:
    """A file as browsers send it."""
    edge, parts = uuid.uuid4().hex, list[bytes]()
    for key, value in {"source": "en", "target": "de", **fields}.items():
        parts.append(f'Content-Disposition: form-data; name="{key}"\r\n\r\n{value}'.encode())
    head = f'Content-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
    parts.append(head.encode() + data)
    body = b"".join(f"--{edge}\r\n".encode() + part + b"\r\n" for part in parts)
    body += f"--{edge}--\r\n".encode()
    kind = f"multipart/form-data; boundary={edge}"
    return client.ask("POST", "/translate_file", body, content_type=kind)


def translated(client: Client, name: str, data: bytes, **fields: str) -> bytes:
    answer = send(client, name, data, **fields)
    assert answer.status == 200, answer.body
    url = answer.json["translatedFileUrl"]
    assert url.startswith(f"{client.address}/download_file/")
    found = client.get(url.removeprefix(client.address))
    assert found.status == 200
    assert found.headers["Content-Disposition"].startswith("attachment;")
    stem, suffix = name.rsplit(".", 1)
    assert found.headers["Content-Disposition"].endswith(f"{stem}_de.{suffix}")
    return found.body


def saved(document: Any) -> bytes:
    stream = io.BytesIO()
    document.save(stream)
    return stream.getvalue()


def test_plain_text(client: Client) -> None:
    source = b"ant bee\r\n\r\n  cat dog  \n--\nant"
    assert translated(client, "a.txt", source) == b"BEE ANT\r\n\r\n  DOG CAT  \n--\nANT"


def test_docx_keeps_formatting_tables_and_headers(client: Client) -> None:
    document = docx.Document()
    paragraph = document.add_paragraph("ant ", style="Heading 1")
    paragraph.add_run("bee").bold = True
    paragraph.add_run(" cat")
    document.add_table(1, 2).rows[0].cells[1].text = "cat dog"
    document.sections[0].header.paragraphs[0].text = "dog ant"
    document.add_paragraph("ant bee\tcat dog")
    document.add_paragraph("123 --")
    found = docx.Document(io.BytesIO(translated(client, "a.docx", saved(document))))
    first = found.paragraphs[0]
    assert (first.text, first.style.name) == ("CAT BEE ANT", "Heading 1")
    assert [run.text.strip() for run in first.runs if run.bold] == ["BEE"]
    assert found.tables[0].rows[0].cells[1].text == "DOG CAT"
    assert found.sections[0].header.paragraphs[0].text == "ANT DOG"
    assert found.paragraphs[1].text == "BEE ANT\tDOG CAT"
    assert len(found.paragraphs) == len(document.paragraphs)


def test_docx_keeps_links_and_pictures(client: Client) -> None:
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn
    from PIL import Image

    document = docx.Document()
    paragraph = document.add_paragraph("ant ")
    link = OxmlElement("w:hyperlink")
    link.set(qn("w:anchor"), "there")
    run = OxmlElement("w:r")
    run.text = "bee"
    link.append(run)
    paragraph._p.append(link)
    picture = io.BytesIO()
    Image.new("RGB", (4, 4)).save(picture, "PNG")
    paragraph.add_run(" cat").add_picture(picture)
    found = docx.Document(io.BytesIO(translated(client, "a.docx", saved(document))))
    (linked,) = found.paragraphs[0].hyperlinks
    assert (found.paragraphs[0].text, linked.text, linked.fragment) == (
        "CAT BEE ANT",
        "BEE",
        "there",
    )
    assert len(found.inline_shapes) == 1


def test_odt_keeps_spans_and_tables(client: Client) -> None:
    document = OdfDocument("text")
    document.body.clear()
    paragraph = Paragraph("ant ")
    paragraph.append(Span("bee", style="Strong"))
    paragraph.append(" cat")
    document.body.append(paragraph)
    document.body.append(Paragraph("cat dog", style="Title"))
    table = Table("Animals", width=2, height=1)
    table.set_values([["ant bee", "cat"]])
    document.body.append(table)
    found = OdfDocument(io.BytesIO(translated(client, "a.odt", saved(document))))
    first, second, *cells = found.body.paragraphs
    assert first.inner_text == "CAT BEE ANT"
    (span,) = first.spans
    assert (span.text.strip(), span.style) == ("BEE", "Strong")
    assert (second.inner_text, second.style) == ("DOG CAT", "Title")
    assert [cell.inner_text for cell in cells] == ["BEE ANT", "CAT"]
    (kept,) = found.body.tables
    assert (kept.name, kept.size) == ("Animals", (2, 1))
    assert all(cell.parent.tag == "table:table-cell" for cell in cells)


def test_subtitles_keep_their_times_and_lines(client: Client) -> None:
    one, two = timedelta(seconds=1), timedelta(seconds=2)
    source = [
        srt.Subtitle(1, one, two, "ant bee\n<i>cat</i> dog"),
        srt.Subtitle(7, two, 2 * two, "{\\an8}- ant bee\n- cat dog"),
    ]
    found = list(
        srt.parse(translated(client, "a.srt", srt.compose(source, False).encode()).decode())
    )
    assert [(each.index, each.start, each.end) for each in found] == [
        (1, one, two),
        (7, two, 2 * two),
    ]
    assert found[0].content == "DOG <i>CAT</i>\nBEE ANT"
    assert found[1].content == "{\\an8}- BEE ANT\n- DOG CAT"


def test_a_subtitle_of_many_lines_takes_no_time() -> None:
    before = time.process_time()
    assert broken("ant " * 2500, 2000).count("\n") == 1999
    assert time.process_time() - before < 2


def test_lines_of_a_subtitle_are_as_long_as_each_other_without_their_tags() -> None:
    text = "ant bee <font color='red'>cat</font> dog eel"
    assert broken(text, 2) == "ant bee <font color='red'>cat</font>\ndog eel"
    assert broken(text, 9).split("\n") == [
        "ant",
        "bee",
        "<font color='red'>cat</font>",
        "dog",
        "eel",
    ]
    assert broken("ant", 3) == "ant"


def test_web_pages_keep_their_encoding(client: Client) -> None:
    page = '<meta charset="iso-8859-1"><title>ant bee</title><p>ant <b>bee</b><!-- é --></p>'
    found = translated(client, "a.html", page.encode("latin-1")).decode("latin-1")
    assert "<title>BEE ANT</title>" in found
    assert "<b>BEE</b> ANT" in found
    assert "<!-- é -->" in found


def test_auto_finds_the_language_of_a_file(client: Client) -> None:
    text = b"Das Haus ist sehr alt, und niemand wohnt dort."
    assert translated(client, "a.txt", text, source="auto") == text


def zipped(**files: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as found:
        for name, text in files.items():
            found.writestr(name.replace("_", "."), text)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("name", "data", "error"),
    [
        ("a.txt", b"", "empty file"),
        ("a.pdf", b"ant", "file format not supported"),
        ("a", b"ant", "file format not supported"),
        ("a.txt", b"\xff\xfe\x00", "the file is not text in UTF-16-LE"),
        ("a.txt", b"ant \xff", "the file is not text in UTF-8"),
        ("a.docx", b"ant", "the file is damaged, or is not what its name says"),
        ("a.docx", zipped(a_xml="<a/>"), "the file is damaged, or is not what its name says"),
        ("a.odt", zipped(content_xml="<a>"), "the file is damaged, or is not what its name says"),
        ("a.odt", zipped(content_xml="<a/>"), "the file is damaged, or is not what its name says"),
        (
            "a.docx",
            zipped(a_xml='<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/hostname">]><a>&b;</a>'),
            "the file declares a document type, which is not allowed",
        ),
        ("a.odt", zipped(a_xml="<a>" * 300 + "</a>" * 300), "the file has too many elements"),
        (
            "a.srt",
            b"1\n00:00:01,000 --> nothing\nant\n",
            "the file is damaged, or is not what its name says",
        ),
    ],
)
def test_what_cannot_be_translated_is_refused(
    client: Client, name: str, data: bytes, error: str
) -> None:
    answer = send(client, name, data)
    assert answer.status == 400
    assert answer.json == {"error": f"Invalid request: {error}"}


def test_damaged_documents_are_never_a_fault_of_the_server() -> None:
    """Every truncation, and bytes changed here and there."""
    for suffix, make in (
        (".docx", lambda: docx.Document()),
        (".odt", lambda: OdfDocument("text")),
    ):
        whole = saved(make())
        for number in range(40):
            at = number * len(whole) // 40
            changed = whole[:at] + bytes([whole[at] ^ 0x5A]) + whole[at + 1 :]
            for data in (whole[:at], changed):
                try:
                    document = read_document(suffix, data)
                except RefusedError:
                    continue
                document.write(document.texts)


def test_empty_documents_stay_empty(client: Client) -> None:
    whole = saved(docx.Document())
    assert translated(client, "a.docx", whole) == whole


def test_bombs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = zipped(a_xml="<a>" + " " * (archive.MAX_BYTES + 1) + "</a>")
    assert len(bomb) < 200_000
    for suffix in (".docx", ".odt"):
        with pytest.raises(RefusedError, match="too large when it is unpacked"):
            read_document(suffix, bomb)
    with pytest.raises(RefusedError, match="too many elements"):
        read_document(".docx", zipped(a_xml="<a>" + "<b/>" * archive.MAX_ELEMENTS + "</a>"))


def test_files_obey_the_limits(serve: Serve) -> None:
    client = serve(characters=10, file_characters=30, requests=5, body=2000)
    refused = "Invalid request: request ({}) exceeds text limit ({})"
    answer = send(client, "a.txt", b"ant bee cat dog")
    assert (answer.status, answer.json["error"]) == (400, refused.format(15, 10))
    answer = send(client, "a.txt", b"ant bee\n" * 5)
    assert (answer.status, answer.json["error"]) == (400, refused.format(40, 30))
    assert send(client, "a.txt", b"ant " * 600).status == 413
    assert send(client, "a.txt", b"ant bee\n" * 3).status == 200  # counts as three
    assert send(client, "a.txt", b"ant").status == 429


def test_a_late_file_is_cancelled(serve: Serve) -> None:
    client = serve(deadline=0.1, batch_wait=1)
    assert send(client, "a.txt", b"ant bee").status == 504


def test_without_the_packages_files_are_disabled(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "formats", list)
    client = serve()
    found = client.get("/frontend/settings").json
    assert (found["filesTranslation"], found["supportedFilesFormat"]) == (False, [])
    answer = send(client, "a.txt", b"ant")
    assert (answer.status, answer.json) == (
        403,
        {"error": "Files translation are disabled on this server."},
    )


def test_fields_of_a_file(client: Client) -> None:
    assert client.form("/translate_file", source="en", target="de").json == {
        "error": "Invalid request: missing file parameter"
    }
    assert send(client, "a.txt", b"ant", target="zz").json == {"error": "zz is not supported"}
    assert client.get("/download_file/nothing.txt").status == 404
    assert client.get("/download_file/..%2f..%2fetc%2fhostname").status == 404


def test_stored_files_are_private_bounded_and_expire(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    now = [0.0]
    store = Store(Limits(files=2, file_bytes=1000, file_seconds=60), lambda: now[0])
    first = store.add("a.txt", b"1" * 400)
    assert list(tmp_path.iterdir()) == []  # it has no name that anybody could open
    second = store.add("b.txt", b"2" * 400)
    assert first != second
    assert store.find(first) == ("a.txt", b"1" * 400)
    third = store.add("c.txt", b"3" * 700)  # the first two make room
    assert (store.find(first), store.find(second)) == (None, None)
    assert store.find(third) == ("c.txt", b"3" * 700)
    now[0] = 60.0
    (kept,) = store._files.values()
    store.sweep()
    assert (kept.file.closed, store.find(third)) == (True, None)
    last = store.add("d.txt", b"4")
    store.close()
    assert store.find(last) is None


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\a\\b.txt", "b.txt"),
        ('a"\r\nSet-Cookie: b.txt', "a_Set-Cookie_ b.txt"),
        ("..", "file"),
        ("Größe.txt", "Größe.txt"),
    ],
)
def test_names_are_made_safe(name: str, safe: str) -> None:
    assert safe_name(name) == safe
    assert len(safe_name(name * 100)) <= 100
    assert urllib.parse.quote(safe_name(name)).isascii()
    assert Path(safe_name(name)).name == safe_name(name)
