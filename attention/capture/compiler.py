"""Compiles the C core where a C compiler is found, and keeps the library for the next time."""

import hashlib
import os
import platform
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import torch

SOURCE = Path(__file__).with_name("core.c")
FOLDER_VARIABLE = "HEADSCOPE_CACHE"
COMPILERS = ("cc", "gcc", "clang")
# From the fastest to what every compiler knows. The functions of OpenMP are not linked: they are
# those of the runtime that torch has loaded, or the library cannot be used and the next is tried.
_NATIVE = ("-O3", "-march=native")
_WIDE = ("-mprefer-vector-width=512",) if platform.machine() in ("x86_64", "AMD64") else ()
VARIANTS = ((*_NATIVE, *_WIDE, "-fopenmp"), _NATIVE, ("-O2",))
COMPILE_SECONDS = 60
CPUINFO = Path("/proc/cpuinfo")


class CompileError(Exception):
    """There is no compiler here, or it failed; the message says why."""


def find_compiler() -> list[str]:
    """The command of a C compiler: that of the variable CC, else the first of the usual names.

    Raises:
        CompileError: when there is none.
    """
    try:
        asked = shlex.split(os.environ.get("CC", ""))
    except ValueError:  # a quotation mark too many
        asked = []
    for command in ([*asked], *([name] for name in COMPILERS)):
        if command and (found := shutil.which(command[0])):
            return [found, *command[1:]]
    raise CompileError(f"no C compiler is found ({', '.join(COMPILERS)})")


def compile_core(flags: tuple[str, ...], folder: Path) -> Path:
    """Compile the core into a folder.

    Returns:
        the library.

    Raises:
        CompileError: when there is no compiler, or it fails or takes too long.
    """
    compiler = find_compiler()
    unlinked, library = folder / "core.o", folder / "core.so"
    missing_later = ("-undefined", "dynamic_lookup") if sys.platform == "darwin" else ()
    _run([*compiler, "-std=gnu11", "-fPIC", *flags, "-c", str(SOURCE), "-o", str(unlinked)])
    _run([*compiler, "-shared", *missing_later, str(unlinked), "-o", str(library)])
    return library


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(
            command,
            check=False,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=COMPILE_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CompileError(f"the compiler {command[0]} cannot be run: {error}") from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines() or ["it said nothing"]
        raise CompileError(f"the compiler {command[0]} failed: {said[0]}")


# ---------------------------------------------------------------- the cache


@cache
def key() -> str:
    """What a library is compiled from and for: source, flags, torch, CPU."""
    parts = (
        hashlib.sha256(SOURCE.read_bytes()).hexdigest(),
        repr(VARIANTS),
        str(torch.__version__),
        sys.platform,
        platform.machine(),
        _cpu(),
    )
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _cpu() -> str:
    """What decides which instructions the CPU has."""
    try:
        lines = CPUINFO.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor()
    wanted = ("model name", "flags", "Features", "CPU part")
    return "\n".join(sorted({line for line in lines if line.startswith(wanted)}))


def kept(folder: Path) -> Iterator[tuple[Path, str]]:
    """Libraries of this key in a folder with their kinds; those that were damaged are left out.

    A file's name ends in the digest of what is in it: half a library is never loaded.
    """
    for path in sorted(folder.glob(f"core-{key()}-*.so")):
        *_, kind, digest = path.stem.split("-")
        try:
            if _digest(path) == digest:
                yield path, kind
        except OSError:
            continue


def keep(library: Path, kind: str, folder: Path) -> Path:
    """Put a library into a folder in one step; two processes may do so at once.

    Args:
        library: what was compiled.
        kind: a word about it, without a hyphen.
        folder: where to.

    Raises:
        OSError: when the folder cannot be written to.
    """
    path = folder / f"core-{key()}-{kind}-{_digest(library)}.so"
    descriptor, part = tempfile.mkstemp(dir=folder, prefix=".core-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(library.read_bytes())
        Path(part).chmod(0o700)
        Path(part).replace(path)
    finally:
        Path(part).unlink(missing_ok=True)
    return path


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:32]


def cache_folder() -> Path | None:
    """Where libraries are kept for this user; None where there is no such place to trust.

    A folder that others can write to is not trusted: what lies in it is run.
    """
    try:
        folder = _usual_folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
    except (OSError, RuntimeError):  # cannot be made; no home
        return None
    owners = {0, os.getuid()} if hasattr(os, "getuid") else {status.st_uid}
    others_write = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return folder if status.st_uid in owners and not others_write else None


def _usual_folder() -> Path:
    if asked := os.environ.get(FOLDER_VARIABLE):
        return Path(asked)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "headscope"
    caches = os.environ.get("XDG_CACHE_HOME")
    return (Path(caches) if caches else Path.home() / ".cache") / "headscope"
