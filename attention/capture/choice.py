"""Which core computes: the compiled one where it is to be had and exact, else the torch one."""

import os
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import overload

from attention.capture import compiler
from attention.capture.compiler import CompileError
from attention.capture.native import NativeCore, difference
from attention.capture.trial import UNLOADABLE

SWITCH = "HEADSCOPE_NATIVE"
OFF = ("0", "no", "off", "false")
TRIAL_SECONDS = 120


@dataclass(frozen=True)
class Core:
    """What computes the patterns, and why.

    Attributes:
        name: "C" or "torch".
        reason: a clause for a person.
        native: the compiled core; None for the torch one.
    """

    name: str
    reason: str
    native: NativeCore | None = None

    def __str__(self) -> str:
        """One line for a person."""
        return f"{self.name} core: {self.reason}"


NOT_YET = Core("torch", "the C core is not compiled yet")


class Choice:
    """The choice of a process, made once, when it is first needed. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: Core | None = None
        self._wanted: bool | None = None
        self._none_kept = False
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def want(self, wanted: bool | None) -> None:
        """Ask for the compiled core or against it; None leaves it to the environment."""
        with self._lock:
            self._wanted, self._made, self._none_kept = wanted, None, False

    def get(self) -> Core:
        """The core; the first call may compile it, which takes seconds."""
        made = self._made
        if made is None:
            with self._lock:
                made = self._made = self._made or self._make()
        return made

    def get_at_once(self) -> Core:
        """The core as far as it is known or kept; nothing is compiled or waited for."""
        if self._made is not None or self._none_kept or not self._lock.acquire(blocking=False):
            return self._made or NOT_YET
        try:
            self._made = self._made or self._make(compiling=False)
            self._none_kept = self._made is None
        finally:
            self._lock.release()
        return self._made or NOT_YET

    @overload
    def _make(self) -> Core: ...
    @overload
    def _make(self, *, compiling: bool) -> Core | None: ...

    def _make(self, *, compiling: bool = True) -> Core | None:
        if self._wanted is False:
            return Core("torch", "the C core is switched off")
        if self._wanted is None and os.environ.get(SWITCH, "").strip().lower() in OFF:
            return Core("torch", f"the C core is switched off by {SWITCH}={os.environ[SWITCH]}")
        try:
            native = self._kept()
            if native is None and not compiling:
                return None
            native = native or self._compiled()
        except CompileError as error:
            return Core("torch", f"there is no C core: {error}")
        wrong = difference(native)
        if wrong is not None:
            return Core("torch", f"the C core is not used: {wrong}")
        with_what = "torch's matrix product" if native.blas else "a plain matrix product"
        how = "threads" if native.has_threads else "one thread"
        return Core("C", f"compiled here, with {with_what} and {how}", native)

    def _kept(self) -> NativeCore | None:
        """What an earlier process has compiled."""
        folder = compiler.cache_folder()
        for path, kind in [] if folder is None else compiler.kept(folder):
            try:
                return NativeCore(path, blas=kind == "blas")
            except OSError:  # such as a folder whose files cannot be run
                continue
        return None

    def _compiled(self) -> NativeCore:
        """A core compiled, tried and kept now.

        Raises:
            CompileError: when none of the ways gives one that works; with the last reason.
        """
        reason = CompileError("there is nowhere to compile it")
        for flags in compiler.VARIANTS:
            try:
                with _workplace() as folder:
                    library = compiler.compile_core(flags, Path(folder))
                    kind = _try_out(library)
                    return NativeCore(self._keep(library, kind), blas=kind == "blas")
            except CompileError as error:
                reason = error
            except OSError as error:
                reason = CompileError(f"it cannot be kept or loaded: {error}")
        raise reason

    def _keep(self, library: Path, kind: str) -> Path:
        """Into the cache; where there is none, for this process only."""
        folder = compiler.cache_folder()
        if folder is not None:
            try:
                return compiler.keep(library, kind, folder)
            except OSError:  # read-only, full
                pass
        self._folder = tempfile.TemporaryDirectory(prefix="headscope-")
        return compiler.keep(library, kind, Path(self._folder.name))


def _workplace() -> tempfile.TemporaryDirectory[str]:
    """Where to compile: in the cache, for files in the system's own place may not be run."""
    folder = compiler.cache_folder()
    if folder is not None:
        try:
            return tempfile.TemporaryDirectory(prefix=".new-", dir=folder)
        except OSError:  # read-only, full
            pass
    return tempfile.TemporaryDirectory(prefix="headscope-")


def _try_out(library: Path) -> str:
    """Which matrix product works with a library, tried in a process of its own: blas or plain.

    Raises:
        CompileError: when it does not work at all.
    """
    said = ""
    for kind in ("blas", "plain"):
        command = [sys.executable, "-m", "attention.capture.trial", str(library), kind]
        root = str(Path(__file__).parents[2])
        paths = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
        try:
            done = subprocess.run(
                command,
                check=False,
                capture_output=True,
                stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": paths},
                timeout=TRIAL_SECONDS,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise CompileError(f"it cannot be tried out: {error}") from error
        if done.returncode == 0:
            return kind
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        said = lines[-1] if lines else f"it ended with {done.returncode}"
        if done.returncode == UNLOADABLE:
            break
    raise CompileError(f"it failed when it was tried out: {said}")


CHOICE = Choice()


def capture_core() -> Core:
    """Which core `capture` uses in this process, and why.

    The first call looks for a compiled core, and compiles one where a C compiler is found; that
    takes some seconds, once on a machine for each version of torch.
    """
    return CHOICE.get()


def use_native(wanted: bool | None) -> None:
    """Switch the compiled core on or off for this process; None leaves it to HEADSCOPE_NATIVE.

    Args:
        wanted: False computes everything with the torch core.
    """
    CHOICE.want(wanted)
