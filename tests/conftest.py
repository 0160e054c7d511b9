"""What all tests share: one thread, so that other load on the machine costs little."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import warnings
from collections.abc import Iterator
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported, and for every subprocess

import pytest
import torch

torch.set_num_threads(1)
# A shell starts what it runs in the background deaf to Ctrl-C, and subprocesses would be so too.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def limits_stay() -> Iterator[None]:
    """A limit on memory or on files that a test leaves behind would make others fail."""
    kinds = (resource.RLIMIT_DATA, resource.RLIMIT_FSIZE)
    before = [resource.getrlimit(kind) for kind in kinds]
    yield
    for kind, limits in zip(kinds, before, strict=True):
        if resource.getrlimit(kind) != limits:
            resource.setrlimit(kind, limits)
            warnings.warn("a test has left a limit behind", stacklevel=1)


@pytest.fixture(scope="module")
def short_timings() -> Iterator[None]:
    """A ladder measures the speed of decoding for a moment only."""
    from regard.ladders import measure

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measure, "TIMING_MAX_SECONDS", 0.1)
        yield


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A real Chromium without a window."""
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        if os.environ.get("CI"):
            pytest.fail("CI must try pages in a browser: install chromium and chromium-driver")
        pytest.skip("no chromium and chromedriver here: pages are not tried in a browser")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = program
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--window-size=1200,900",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    found = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield found
    found.quit()
