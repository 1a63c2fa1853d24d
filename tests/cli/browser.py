"""A page in a real browser: headless Chromium, with a profile of its own, and no network."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)


def programs() -> tuple[str, str] | None:
    """The browser and its driver; None where they are not installed."""
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    return (browser, driver) if browser and driver else None


class Page:
    def __init__(self, driver: Any, file: Path, width: int, dark: bool):
        self.driver = driver
        driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500},
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        address = file.resolve().as_uri()
        driver.get(address)
        self.messages = [one["message"] for one in driver.get_log("browser")]
        events = [json.loads(one["message"])["message"] for one in driver.get_log("performance")]
        sent = [one["params"] for one in events if one["method"] == "Network.requestWillBeSent"]
        # The browser's own first page asks for things too.
        self.requests = [one["request"]["url"] for one in sent if one["documentURL"] == address]

    def run(self, script: str) -> Any:
        return self.driver.execute_script(script)

    def picture(self, file: Path) -> None:
        """The window as it is seen, small enough for a document."""
        from PIL import Image

        self.driver.save_screenshot(str(file))
        Image.open(file).convert("RGB").quantize(160).save(file, optimize=True)

    def printed(self, file: Path) -> None:
        found = self.driver.execute_cdp_cmd(
            "Page.printToPDF", {"printBackground": True, "preferCSSPageSize": True}
        )
        file.write_bytes(base64.b64decode(found["data"]))


@contextmanager
def opened(file: Path, profile: Path, width: int = 1280, dark: bool = False) -> Iterator[Page]:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    found = programs()
    assert found is not None
    options = Options()
    options.binary_location = found[0]
    for argument in (*ARGUMENTS, f"--user-data-dir={profile}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(found[1]))
    try:
        yield Page(driver, file, width, dark)
    finally:
        driver.quit()
