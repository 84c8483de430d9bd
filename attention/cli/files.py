"""Writes a run to a .npz file, some rows at a time; the file is whole or is not there at all."""

import os
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from attention.errors import HeadscopeError

if TYPE_CHECKING:
    from attention.record import RunRecord


BLOCK = 1 << 20  # weights, or logits, in memory at a time


class OutputError(HeadscopeError):
    """A file that cannot be written."""


def check_output(path: Path) -> None:
    """Refuse a place that cannot hold the file, before anything is computed.

    Raises:
        OutputError: when the folder is missing or the path is a folder, a device or the like.
    """
    try:
        has_folder, is_folder = path.parent.is_dir(), path.is_dir()
        is_special = path.exists() and not path.is_file()
    except OSError as error:  # such as a name that is too long
        raise OutputError(f"--out must be writable; {error.strerror}.") from error
    if not has_folder:
        raise OutputError(f"--out must be in a folder that exists; {str(path.parent)!r} does not.")
    if is_folder:
        raise OutputError(f"--out must be a file; {str(path)!r} is a folder.")
    if is_special:  # a new file would take its place: /dev/null would be gone
        raise OutputError(f"--out must be an ordinary file; {str(path)!r} is none.")


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file to write, which takes the name `path` only when the block ends well.

    Raises:
        OutputError: when it cannot be written.
    """
    try:
        descriptor, part = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.")
        try:
            with os.fdopen(descriptor, "wb") as file:
                yield file
            umask = os.umask(0)
            os.umask(umask)
            Path(part).chmod(0o666 & ~umask)  # as any new file; mkstemp's is private
            Path(part).replace(path)
        finally:
            Path(part).unlink(missing_ok=True)
    except OSError as error:
        reason = error.strerror or error
        raise OutputError(f"--out must be writable; {str(path)!r}: {reason}.") from error


def write_run(path: Path, record: "RunRecord", layers: list[int], heads: list[int]) -> None:
    """Write a .npz that `numpy.load` reads.

    Keys: ids (T,), labels (T,), offsets (T, 2) in characters, logits (T, V), layers, heads
    (which ones) and pattern (layers, heads, T, T).

    Args:
        path: where to.
        record: the run.
        layers: whose patterns, from 0.
        heads: which of their heads, from 0.

    Raises:
        OutputError: when it cannot be written; what was there before stays.
    """
    tokens, seq_len = record.tokens, record.seq_len
    arrays = {
        "ids": np.array(tokens.ids, dtype=np.int64),
        "labels": np.array(tokens.labels),
        "offsets": np.array(tokens.offsets, dtype=np.int64),
        "layers": np.array(layers),
        "heads": np.array(heads),
    }
    num_logits = record.logits_at(slice(0, 1)).shape[1]
    logits = (record.logits_at(rows).numpy() for rows in _blocks(seq_len, num_logits))
    patterns = (
        record.pattern(layer, head, rows)
        for layer in layers
        for head in heads
        for rows in _blocks(seq_len, seq_len)
    )
    shape = (len(layers), len(heads), seq_len, seq_len)
    with whole_file(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            _write_array(archive, name, array.shape, iter([array]), array.dtype)
        _write_array(archive, "logits", (seq_len, num_logits), logits, np.dtype(np.float32))
        _write_array(archive, "pattern", shape, patterns, np.dtype(np.float32))


def _blocks(num_rows: int, width: int) -> Iterator[slice]:
    """Rows of so many numbers each, as many at a time as may be in memory."""
    at_once = max(1, BLOCK // width)
    return (slice(start, start + at_once) for start in range(0, num_rows, at_once))


def _write_array(
    archive: zipfile.ZipFile,
    name: str,
    shape: tuple[int, ...],
    parts: Iterator[NDArray[np.generic]],
    dtype: np.dtype[np.generic],
) -> None:
    """One array, given in parts along its first axes, so that it is never in memory whole."""
    header = {
        "descr": np.lib.format.dtype_to_descr(dtype),
        "fortran_order": False,
        "shape": shape,
    }
    with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
        np.lib.format.write_array_header_1_0(member, header)
        for part in parts:
            member.write(np.ascontiguousarray(part).tobytes())
