"""The pictures of docs/serve.md: the page of the server, with runs that translate captions.

Trains English to German and back on Multi30k unless the runs exist, serves both, and photographs
the page in a headless Chromium: as wide as a desktop and a phone, light and dark.
"""

from __future__ import annotations

import argparse
import io
import json
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Optional

from PIL import Image

STEPS = 800
SETTINGS = (
    "tokenizer.vocabulary=6000",
    "model.dropout=0.1",
    "training.optimizer.warmup=100",
    "training.validation_lines=200",
    "training.validate_every=400",
    "training.processes=1",
)
START_SECONDS = 120
SETTLED = "page.shown.sentences.length > 0 && !document.body.classList.contains('stale')"
KEPT = "document.querySelectorAll('#history li').length > 0"


class Picture(NamedTuple):
    name: str
    width: int
    height: int
    dark: bool
    text: str
    point: Optional[str] = None  # at this word of the source
    begin: Optional[str] = None  # the translation with this


PICTURES = (
    Picture(
        "serve", 1120, 785, False, "A little girl in a red dress is running on the beach.", "red"
    ),
    Picture(
        "serve-dark",
        1120,
        690,
        True,
        "Two children are playing with a dog in the snow.",
        begin="Die beiden",
    ),
    Picture("serve-phone", 375, 812, False, "A man is riding a bike down the street.", "bike"),
    Picture("serve-phone-dark", 375, 812, True, "Two dogs are running on the grass.", "dogs"),
)


def regard(*arguments: str) -> list[str]:
    return [str(Path(sys.executable).with_name("regard")), *arguments]


def train(data: Path, run: Path, source: str, target: str, steps: int = STEPS) -> None:
    files = {
        "source": f"train.{source}.gz",
        "target": f"train.{target}.gz",
        "valid-source": f"val.{source}.gz",
        "valid-target": f"val.{target}.gz",
    }
    options = [part for name, file in files.items() for part in (f"--{name}", str(data / file))]
    settings = [part for each in SETTINGS for part in ("--set", each)]
    languages = ["--source-language", source, "--target-language", target]
    budget = ["--run", str(run), "--steps", str(steps)]
    command = regard("train", "multi30k", *options, *languages, *budget, *settings)
    subprocess.run(command, check=True)


@contextmanager
def served(runs: list[Path]) -> Iterator[str]:
    """The address of a server for these runs."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}/"
    server = subprocess.Popen(regard("serve", *map(str, runs), "--port", str(port)))
    try:
        _wait_until_ready(address, server)
        yield address
    finally:
        server.terminate()
        server.wait()


def _wait_until_ready(address: str, server: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and server.poll() is None:
        try:
            urllib.request.urlopen(f"{address}ready").close()
            return
        except urllib.error.URLError:
            time.sleep(0.5)
    raise SystemExit("The server did not start: see its messages above.")


@contextmanager
def chromium() -> Iterator[Any]:
    from selenium import webdriver

    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        raise SystemExit("Pictures need chromium and chromedriver: run 'make browser'.")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    found = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    try:
        yield found
    finally:
        found.quit()


def take(browser: Any, address: str, picture: Picture, output: Path) -> None:
    _set_screen(browser, picture)
    browser.get(address)
    _wait(browser, "document.body.dataset.ready")
    browser.execute_script("localStorage.clear()")
    browser.get(address)
    _wait(browser, "document.body.dataset.ready")
    browser.find_element("id", "source").send_keys(picture.text)
    _wait(browser, SETTLED)
    if picture.begin:
        browser.find_element("id", "target").send_keys("\ue009a\ue000", picture.begin)
        _wait(browser, f"page.shown.text.length > {len(picture.begin) + 1} && {SETTLED}")
    _wait(browser, KEPT)
    if picture.point:
        _point(browser, picture.point)
    path = output / f"{picture.name}.png"
    image = Image.open(io.BytesIO(browser.get_screenshot_as_png())).convert("RGB")
    if picture.point and not browser.execute_script("return document.querySelector('.asked')"):
        raise SystemExit(f"{picture.name} does not show the aligned words: take it again.")
    image.quantize(200, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path}: {browser.execute_script('return page.shown.text')}")


def _set_screen(browser: Any, picture: Picture) -> None:
    size = {"width": picture.width, "height": picture.height, "deviceScaleFactor": 2}
    phone = {"mobile": picture.width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {**size, **phone})
    theme = {"name": "prefers-color-scheme", "value": "dark" if picture.dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [theme]})
    browser.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})


def _wait(browser: Any, condition: str) -> None:
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(browser, 60).until(lambda each: each.execute_script(f"return {condition}"))


def _point(browser: Any, word: str) -> None:
    """With the caret, since taking a picture lets the page believe that the mouse has left."""
    script = (
        "const found = page.source.words.find((each) => each.text === arguments[0]);"
        "page.source.area.setSelectionRange(found.start, found.start)"
    )
    browser.execute_script(script, word)
    browser.find_element("id", "source").send_keys("\ue008")  # Shift
    _wait(browser, f"document.querySelector('.mirror .asked')?.textContent === {json.dumps(word)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data/multi30k"))
    parser.add_argument("--runs", type=Path, default=Path("benchmarks/runs/page"))
    parser.add_argument("--output", type=Path, default=Path("docs/pictures"))
    parser.add_argument("--steps", type=int, default=STEPS, help="of runs that do not exist yet")
    given = parser.parse_args()
    pairs = (("en", "de"), ("de", "en"))
    runs = [given.runs / f"{source}-{target}" for source, target in pairs]
    for run, (source, target) in zip(runs, pairs, strict=True):
        if not run.exists():
            train(given.data, run, source, target, given.steps)
    with served(runs) as address, chromium() as browser:
        for picture in PICTURES:
            take(browser, address, picture, given.output)


if __name__ == "__main__":
    main()
