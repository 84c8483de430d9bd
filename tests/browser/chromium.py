"""Find a Chromium for the browser tests, or provide one: `python -m tests.browser.chromium`.

An installed browser first, else the one that Playwright downloads, else the system's package.
"""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from playwright.sync_api import sync_playwright

VARIABLE = "HEADSCOPE_CHROMIUM"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MAC_APPS = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
CHROMIUM_PACKAGE = "chromium"
# Playwright's own node needs it, and a bare Debian lacks it.
DRIVER_PACKAGE = "libatomic1"
DOWNLOAD_LIMIT_S = 600


class NoChromiumError(RuntimeError):
    """There is no Chromium to drive, or nothing to drive it with, and none could be had."""


def find_chromium() -> Path | None:
    """The Chromium that the tests drive, or None.

    `HEADSCOPE_CHROMIUM` names one; without it, one on the PATH, a macOS application, or the one
    that Playwright downloaded. One that does not start (a package's stub, a missing library) is
    passed over.
    """
    if chosen := os.environ.get(VARIABLE):
        if not starts(Path(chosen)):
            raise NoChromiumError(f"{VARIABLE} must name a Chromium that starts; got {chosen}.")
        return Path(chosen)
    installed = [Path(path) for name in NAMES if (path := shutil.which(name))]
    for path in [*installed, *map(Path, MAC_APPS)]:
        if starts(path):
            return path
    downloaded = playwright_chromium()
    return downloaded if starts(downloaded) else None


def playwright_chromium() -> Path:
    """Where Playwright keeps the Chromium that it downloads, whether or not it is there."""

    def ask() -> Path:
        with sync_playwright() as playwright:
            return Path(playwright.chromium.executable_path)

    # In a thread of its own: Playwright refuses a second one of itself in the caller's.
    with ThreadPoolExecutor(1) as aside:
        return aside.submit(ask).result()


def starts(path: Path) -> bool:
    """Whether the browser is there and can say its version."""
    if not path.exists():
        return False
    command = [path, "--no-sandbox", "--version"]
    try:
        done = subprocess.run(command, check=False, capture_output=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def driver_starts() -> bool:
    """Whether Playwright itself runs here."""
    command = [sys.executable, "-m", "playwright", "--version"]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


def download() -> None:
    """Have Playwright download its Chromium into the user's cache."""
    command = [sys.executable, "-m", "playwright", "install", "chromium"]
    try:
        done = subprocess.run(
            command, check=False, timeout=DOWNLOAD_LIMIT_S, stderr=subprocess.PIPE, text=True
        )
    except subprocess.TimeoutExpired:
        print("The download took too long.", flush=True)
        return
    if done.returncode != 0:
        reasons = [line for line in done.stderr.splitlines() if line.startswith("Error")]
        print("The download failed.", *reasons[:1], flush=True)


def install_package(name: str) -> None:
    """Install a package of the system with apt-get, where there is one and we may."""
    if not shutil.which("apt-get"):
        return
    if os.geteuid() == 0:
        become_root = []
    elif shutil.which("sudo"):
        become_root = ["sudo"] if sys.stdin.isatty() else ["sudo", "--non-interactive"]
    else:
        return
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for arguments in (["update", "-qq"], ["install", "-qq", "-y", name]):
        subprocess.run([*become_root, "apt-get", *arguments], check=False, env=quiet)


def provide_driver() -> None:
    """Make sure that Playwright runs.

    Raises:
        NoChromiumError: If it does not, and the package it needs could not be installed.
    """
    if driver_starts():
        return
    print(f"The browser tests need the package {DRIVER_PACKAGE}: installing it", flush=True)
    install_package(DRIVER_PACKAGE)
    if not driver_starts():
        raise NoChromiumError(
            "Playwright, which drives the browser, does not start here: see `python -m playwright "
            f"--version`. On Debian and its kin: sudo apt-get install {DRIVER_PACKAGE}."
        )


def provide_chromium() -> Path:
    """Find a Chromium; where there is none, get one.

    Raises:
        NoChromiumError: If no way worked.
    """
    if found := find_chromium():
        return found
    print("The browser tests need a Chromium: downloading Playwright's", flush=True)
    download()
    if found := find_chromium():
        return found
    print("Trying the system's package instead", flush=True)
    install_package(CHROMIUM_PACKAGE)
    if found := find_chromium():
        return found
    raise NoChromiumError(
        "The browser tests need a Chromium and none could be installed. Install Chromium or "
        f"Chrome, set {VARIABLE} to one, or leave these tests out: make test BROWSER=no."
    )


if __name__ == "__main__":
    try:
        provide_driver()
        provide_chromium()
    except NoChromiumError as error:
        sys.exit(str(error))
