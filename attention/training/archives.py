"""Read files out of Debian, npm and Python packages, without unpacking to disk."""

import io
import lzma
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

from attention.errors import HeadscopeError

AR_MAGIC = b"!<arch>\n"
AR_HEADER = 60


class ArchiveError(HeadscopeError):
    """An archive does not hold what it should."""


def read_members(archive: Path, wanted: Callable[[str], bool]) -> dict[str, bytes]:
    """Return the wanted files of a package, by their path inside it.

    Args:
        archive: a ``.deb``, ``.tgz``, ``.tar.gz``, ``.whl`` or ``.zip`` file.
        wanted: says of a path inside the archive whether it is to be read.

    Returns:
        The files' bytes, sorted by path.

    Raises:
        ArchiveError: the archive is damaged, or no file in it is wanted.
    """
    try:
        if archive.suffix in {".whl", ".zip"}:
            found = dict(_zip_members(archive, wanted))
        else:
            found = dict(_tar_members(_open_tar(archive), wanted))
    except (OSError, EOFError, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile) as error:
        raise ArchiveError(
            f"{archive.name} must be a whole package; got: {error}; remove it to fetch it anew"
        ) from error
    if not found:
        raise ArchiveError(f"{archive.name} must hold the wanted text; got no such file in it")
    return dict(sorted(found.items()))


def _zip_members(archive: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(archive) as opened:
        for name in opened.namelist():
            if wanted(name):
                yield name, opened.read(name)


def _tar_members(
    opened: tarfile.TarFile, wanted: Callable[[str], bool]
) -> Iterator[tuple[str, bytes]]:
    with opened:
        for member in opened:
            file = opened.extractfile(member) if wanted(member.name) else None
            if file is not None:
                yield member.name, file.read()


def _open_tar(archive: Path) -> tarfile.TarFile:
    if archive.suffix != ".deb":
        return tarfile.open(archive)
    return tarfile.open(fileobj=io.BytesIO(_deb_data(archive.read_bytes())))


def _deb_data(raw: bytes) -> bytes:
    """Return the ``data.tar`` member of a Debian package, which is an ``ar`` archive."""
    if not raw.startswith(AR_MAGIC):
        raise ArchiveError("a Debian package must start as an ar archive; got other bytes")
    start = len(AR_MAGIC)
    while start + AR_HEADER <= len(raw):
        header = raw[start : start + AR_HEADER]
        size = int(header[48:58])
        start += AR_HEADER
        if header.startswith(b"data.tar"):
            return raw[start : start + size]
        start += size + size % 2  # members start on even bytes
    raise ArchiveError("a Debian package must hold data.tar; got none")
