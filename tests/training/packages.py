"""Makes small Debian, npm and Python packages like those the texts come in."""

import io
import sqlite3
import struct
import tarfile
import zipfile
import zlib
from pathlib import Path


def tar_bytes(files: dict[str, bytes], mode: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as opened:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            opened.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def make_deb(path: Path, files: dict[str, bytes]) -> Path:
    members = {"debian-binary": b"2.0\n", "control.tar.xz": b"odd", "data.tar.xz": b""}
    members["data.tar.xz"] = tar_bytes(files, "w:xz")
    raw = b"!<arch>\n"
    for name, content in members.items():
        raw += f"{name:<16}{0:<12}{0:<6}{0:<6}{644:<8}{len(content):<10}`\n".encode()
        raw += content + b"\n" * (len(content) % 2)
    path.write_bytes(raw)
    return path


def make_tgz(path: Path, files: dict[str, bytes]) -> Path:
    path.write_bytes(tar_bytes(files, "w:gz"))
    return path


def make_wheel(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as opened:
        for name, content in files.items():
            opened.writestr(name, content)
    return path


def r_vector(strings: list[bytes], latin1: bool = False) -> bytes:
    flags = 9 | (1 << 14 if latin1 else 1 << 15)
    record = b"X\n" + struct.pack(">iii", 3, 0x040201, 0x030500)
    record += struct.pack(">i", 5) + b"UTF-8" + struct.pack(">Ii", 16, len(strings))
    for string in strings:
        record += struct.pack(">Ii", flags, len(string)) + string
    return record


def r_database(records: list[bytes]) -> bytes:
    return b"".join(struct.pack(">I", len(r)) + zlib.compress(r) for r in records)


def bible(rows: list[tuple[int, int, int, int, str, str]]) -> bytes:
    database = sqlite3.connect(":memory:")
    database.execute(
        "CREATE TABLE Bible (TestamentID, BookID, ChapterID, VerseID, Passage1, Passage2)"
    )
    database.executemany("INSERT INTO Bible VALUES (?, ?, ?, ?, ?, ?)", rows)
    database.commit()
    return database.serialize()
