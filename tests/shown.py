"""A page in the browser, with what a person does to it and sees of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

READY = "return document.body.dataset.ready === 'true'"


@contextmanager
def width(browser: Any, pixels: int) -> Iterator[None]:
    """A screen of another width."""
    sizes = {"width": pixels, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", sizes)
    yield
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


class Shown:
    """A page of a file, or one that is served."""

    def __init__(self, browser: Any, path: Path | str) -> None:
        self.browser = browser
        self.address = path if isinstance(path, str) else path.as_uri()
        self.reload()

    def reload(self) -> None:
        self.browser.get("about:blank")  # what was shown before has nothing more to say
        self.browser.get_log("browser")
        self.browser.get(self.address)
        self.wait(READY)

    def wait(self, condition: str) -> Any:
        from selenium.webdriver.support.ui import WebDriverWait

        return WebDriverWait(self.browser, 60).until(lambda b: b.execute_script(condition))

    def all(self, selector: str) -> list[Any]:
        return list(self.browser.find_elements("css selector", selector))

    def click(self, element: Any) -> None:
        """A button; the page then draws itself anew."""
        self.browser.execute_script("document.body.dataset.ready = 'false'")
        element.click()
        self.wait(READY)

    def press(self, group: str, text: str) -> None:
        buttons = self.all(f"[data-choice={group}], [data-panel={group}]")
        self.click(next(each for each in buttons if each.text.strip() == text))

    def pressed(self, group: str) -> list[str]:
        return [each.text for each in self.all(f"[data-choice={group}][aria-pressed=true]")]

    def pick(self, head: str) -> None:
        self.click(self.all(f"[data-head='{head}']")[0])

    def only(self, head: str) -> None:
        self.press("preset", "mean of all")
        self.pick(head)

    def picked(self) -> list[str]:
        return [
            str(e.get_attribute("data-head")) for e in self.all("[data-head][aria-pressed=true]")
        ]

    def sentence(self, number: int) -> None:
        from selenium.webdriver.support.ui import Select

        select = Select(self.all("header select")[0])
        if select.options[number].is_selected():
            return
        self.browser.execute_script("document.body.dataset.ready = 'false'")
        select.select_by_index(number)
        self.wait(READY)

    def point_at(self, element: Any, read: str = ".readout") -> str:
        from selenium.webdriver.common.action_chains import ActionChains

        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
        ActionChains(self.browser).move_to_element(element).perform()
        return str(self.all(read)[0].text)

    def keys(self, *names: str) -> None:
        from selenium.webdriver.common.keys import Keys

        for name in names:
            self.browser.switch_to.active_element.send_keys(getattr(Keys, name))

    def said(self) -> str:
        return str(self.all(".readout")[0].text)

    def overflow(self) -> int:
        """By how many pixels the page is wider than the screen."""
        found = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        return int(self.browser.execute_script(f"return {found}"))

    def colour(self, name: str) -> list[int]:
        style = "getComputedStyle(document.documentElement)"
        text = self.browser.execute_script(f"return {style}.getPropertyValue('{name}')")
        return [int(part) for part in text.split(",")]

    def swatches(self) -> dict[str, str]:
        """The colour of each head in the legend."""
        script = (
            "return [...document.querySelectorAll('.legend > span:not(.scale)')].map((each) => "
            "[each.textContent, each.querySelector('.swatch').style.background])"
        )
        return dict(self.browser.execute_script(script))

    def pixels(self, selector: str) -> NDArray[Any]:
        """(rows, columns, 3) of a canvas, on white."""
        script = (
            "const c = document.querySelector(arguments[0]); const d = c.getContext('2d')"
            ".getImageData(0, 0, c.width, c.height).data; return [c.height, c.width, [...d]]"
        )
        rows, columns, values = self.browser.execute_script(script, selector)
        found = np.array(values, dtype=float).reshape(rows, columns, 4)
        opacity = found[..., 3:] / 255
        return found[..., :3] * opacity + 255 * (1 - opacity)

    def errors(self) -> list[Any]:
        return [each for each in self.browser.get_log("browser") if each["level"] != "INFO"]
