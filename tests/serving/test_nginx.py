"""The site for nginx fits the limits of the server, and works where nginx is installed."""

from __future__ import annotations

import http.client
import json
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Optional

import pytest
from clients import Answer, Serve

from regard.serving.limits import Limits

SITE = Path(__file__).parent.parent.parent / "packaging" / "nginx.conf"
TEXT = SITE.read_text(encoding="utf-8")

WHOLE = """daemon off; master_process off; pid {folder}/pid; error_log stderr;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/site.conf;
}}
"""
"""What Debian's nginx.conf does with a site, in a folder of one's own and without root."""


def number(name: str) -> int:
    (value,) = re.findall(rf"^ *{name} (\d+)[sm];", TEXT, flags=re.MULTILINE)
    return int(value)


def test_its_limits_fit_those_of_the_server() -> None:
    limits = Limits()
    assert limits.body <= number("client_max_body_size") * 2**20 < 1.1 * limits.body
    assert number("keepalive_timeout") < limits.keep_alive_seconds
    assert number("proxy_read_timeout") > limits.deadline + 1
    assert number("client_body_timeout") == limits.body_seconds


class Nginx:
    """A running nginx, asked from any address of this machine."""

    def __init__(self, port: int) -> None:
        self.port = port

    def ask(
        self,
        path: str,
        body: Optional[bytes] = None,
        client: str = "127.0.0.1",
        **headers: str,
    ) -> Answer:
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        source = (client, 0)
        asking = http.client.HTTPConnection("127.0.0.1", self.port, 60, source_address=source)
        asking.request("GET" if body is None else "POST", path, body, names)
        found = asking.getresponse()
        answer = Answer(found.status, found.headers, found.read())
        asking.close()
        return answer

    def translate(self, text: str, client: str = "127.0.0.1", **headers: str) -> Answer:
        body = json.dumps({"q": text, "source": "en", "target": "de"}).encode()
        given = {"content_type": "application/json", **headers}
        return self.ask("/translate", body, client, **given)


@contextmanager
def nginx(folder: Path, port: int) -> Iterator[Nginx]:
    """nginx with the site before a server at a port."""
    program = shutil.which("nginx")
    if program is None:
        pytest.skip("no nginx here: its site is not tried")
    with socket.create_server(("127.0.0.1", 0)) as free:
        own = free.getsockname()[1]
    site = TEXT.replace("127.0.0.1:5000", f"127.0.0.1:{port}").replace("    listen [::]:80;\n", "")
    site = site.replace("listen 80;", f"listen 127.0.0.1:{own};")
    (folder / "site.conf").write_text(site, encoding="utf-8")
    (folder / "nginx.conf").write_text(WHOLE.format(folder=folder), encoding="utf-8")
    command = [program, "-e", "stderr", "-p", str(folder), "-c", str(folder / "nginx.conf")]
    checked = subprocess.run([*command, "-t"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
    assert "warn" not in checked.stderr
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        wait_for(own)
        yield Nginx(own)
    finally:
        process.terminate()
        process.wait(30)


def wait_for(port: int) -> None:
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    pytest.fail("nginx does not listen")


def test_clients_are_told_apart_by_their_real_addresses(serve: Serve, tmp_path: Path) -> None:
    server = serve(behind_proxy=True, requests=2)
    with nginx(tmp_path, server.port) as proxy:
        assert [proxy.translate("ant bee").status for _ in range(3)] == [200, 200, 429]
        claimed = proxy.translate("ant bee", X_Forwarded_For="198.51.100.7")
        assert claimed.status == 429
        other = proxy.translate("ant bee", client="127.0.0.2")
        assert other.json == {"translatedText": "BEE ANT"}
        assert other.headers["Access-Control-Allow-Origin"] == "*"


def test_files_come_back_by_the_address_of_the_proxy(serve: Serve, tmp_path: Path) -> None:
    with nginx(tmp_path, serve(behind_proxy=True).port) as proxy:
        parts = {"source": "en", "target": "de", 'file"; filename="a.txt': "ant bee"}
        body = "".join(
            f'--X\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
            for name, value in parts.items()
        )
        kind = "multipart/form-data; boundary=X"
        answer = proxy.ask("/translate_file", f"{body}--X--\r\n".encode(), content_type=kind)
        address = f"http://127.0.0.1:{proxy.port}"
        url = answer.json["translatedFileUrl"]
        assert url.startswith(address)
        assert proxy.ask(url.removeprefix(address)).body == b"BEE ANT"


def test_sentences_pass_as_they_come(serve: Serve, tmp_path: Path) -> None:
    text = "\n".join(["ant bee cat dog eel fox gnu hen"] * 200)
    body = json.dumps({"q": text, "source": "en", "target": "de"}).encode()
    server = serve(behind_proxy=True, batch=1, deadline=200)
    with nginx(tmp_path, server.port) as proxy:
        asking = http.client.HTTPConnection("127.0.0.1", proxy.port, 60)
        asking.request("POST", "/translate_stream", body, {"Content-Type": "application/json"})
        answer = asking.getresponse()
        answer.readline()
        assert server.service.directions[0].queue.waiting  # the others are still to be translated
        assert len(answer.read().splitlines()) >= 199
        asking.close()


def test_refusals_of_nginx_are_json(serve: Serve, tmp_path: Path) -> None:
    server = serve(behind_proxy=True)
    with nginx(tmp_path, server.port) as proxy:
        assert proxy.ask("/metrics").status == 200
        assert proxy.ask("/metrics", client="127.0.0.2").status == 403
        large = proxy.ask("/translate", b"x" * (11 * 2**20))
        assert (large.status, "too large" in large.json["error"]) == (413, True)
    with nginx(tmp_path, 1) as proxy:
        down = proxy.translate("ant")
        assert (down.status, down.headers["Retry-After"]) == (503, "5")
        assert down.headers["Content-Type"] == "application/json"
        assert "try again" in down.json["error"]
