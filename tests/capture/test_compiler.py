import os
import shutil

import pytest

from attention.capture import compiler
from attention.capture.compiler import CompileError


def script(folder, text, name="cc"):
    """A program of that name."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o700)
    return path


@pytest.fixture
def only(tmp_path, monkeypatch):
    """A folder that is all of PATH, and no CC."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("CC", raising=False)
    return folder


# ------------------------------------------------------------------ the compiler


def test_compiler_is_that_of_cc_or_the_first_of_the_usual_names(only, monkeypatch):
    with pytest.raises(CompileError, match=r"no C compiler is found \(cc, gcc, clang\)"):
        compiler.find_compiler()
    script(only, "", "clang")
    assert compiler.find_compiler() == [str(only / "clang")]
    script(only, "", "gcc")
    assert compiler.find_compiler() == [str(only / "gcc")]
    script(only, "", "mine")
    monkeypatch.setenv("CC", "mine --fast")
    assert compiler.find_compiler() == [str(only / "mine"), "--fast"]
    for nothing in ("not-there", "  ", "a 'quote"):
        monkeypatch.setenv("CC", nothing)
        assert compiler.find_compiler() == [str(only / "gcc")]


def test_what_a_failing_compiler_says_is_the_reason(only, tmp_path):
    script(only, "echo 'stdio.h: no such file' >&2; echo more >&2; exit 1")
    with pytest.raises(CompileError, match=r"cc failed: stdio\.h: no such file$"):
        compiler.compile_core(("-O2",), tmp_path)
    script(only, "exit 1")
    with pytest.raises(CompileError, match="it said nothing"):
        compiler.compile_core(("-O2",), tmp_path)


def test_compiler_that_hangs_is_given_up(only, tmp_path, monkeypatch):
    monkeypatch.setattr(compiler, "COMPILE_SECONDS", 0.1)
    script(only, f"exec {shutil.which('sleep', path=os.defpath)} 30")
    with pytest.raises(CompileError, match=r"cannot be run: .* timed out"):
        compiler.compile_core(("-O2",), tmp_path)


def test_compiler_that_is_no_program_is_the_reason(only, tmp_path):
    (only / "cc").write_bytes(b"\x7fELF nothing")
    (only / "cc").chmod(0o700)
    with pytest.raises(CompileError, match="cannot be run"):
        compiler.compile_core(("-O2",), tmp_path)


# ------------------------------------------------------------------ the cache


@pytest.fixture
def library(tmp_path):
    path = tmp_path / "core.so"
    path.write_bytes(b"a library")
    return path


def test_kept_library_is_found_with_its_kind(tmp_path, library):
    path = compiler.keep(library, "blas", tmp_path)
    assert list(compiler.kept(tmp_path)) == [(path, "blas")]
    assert path.read_bytes() == b"a library"
    assert path.stat().st_mode & 0o077 == 0


def test_damaged_library_is_not_loaded(tmp_path, library):
    # Half a library, or one with a changed bit, brings the whole process down.
    path = compiler.keep(library, "blas", tmp_path)
    path.write_bytes(b"a lib")
    assert list(compiler.kept(tmp_path)) == []
    assert compiler.keep(library, "blas", tmp_path) == path  # put in its place
    assert list(compiler.kept(tmp_path)) == [(path, "blas")]


def test_library_for_another_torch_or_cpu_is_another(tmp_path, library, monkeypatch):
    compiler.keep(library, "blas", tmp_path)
    for change in (("_cpu", lambda: "another"), ("VARIANTS", (("-O0",),))):
        compiler.key.cache_clear()
        with monkeypatch.context() as patch:
            patch.setattr(compiler, *change)
            assert list(compiler.kept(tmp_path)) == []
        compiler.key.cache_clear()
    assert len(list(compiler.kept(tmp_path))) == 1


def test_nothing_is_left_behind_when_keeping_fails(tmp_path, library, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(compiler.Path, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        compiler.keep(library, "blas", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["core.so"]


def test_cache_is_a_folder_of_the_users_own(tmp_path, monkeypatch):
    monkeypatch.delenv(compiler.FOLDER_VARIABLE)
    monkeypatch.setattr(compiler.sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert compiler.cache_folder() == tmp_path / "headscope"
    assert (tmp_path / "headscope").stat().st_mode & 0o777 == 0o700
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert compiler.cache_folder() == tmp_path / ".cache" / "headscope"


@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_folder_that_others_can_write_to_is_not_trusted(tmp_path, monkeypatch, mode):
    monkeypatch.setenv(compiler.FOLDER_VARIABLE, str(tmp_path / "shared"))
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(mode)
    assert compiler.cache_folder() is None


def test_folder_that_cannot_be_made_is_none(library, monkeypatch):
    monkeypatch.setenv(compiler.FOLDER_VARIABLE, str(library / "below a file"))
    assert compiler.cache_folder() is None
