import shutil
import sys

import pytest

from attention.capture import choice, compiler
from attention.capture.choice import NOT_YET, Choice
from attention.capture.compiler import CompileError
from tests.capture.test_compiler import script

HAS_COMPILER = any(shutil.which(name) for name in compiler.COMPILERS)
needs_compiler = pytest.mark.skipif(not HAS_COMPILER, reason="no C compiler is found")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache."""
    folder = tmp_path / "cache"
    monkeypatch.setenv(compiler.FOLDER_VARIABLE, str(folder))
    return folder


@pytest.fixture
def no_compiler(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)


@pytest.fixture
def kept(cache, built):
    """A cache with the core that this test run has compiled."""
    cache.mkdir(mode=0o700)
    return compiler.keep(*built, cache)


# ------------------------------------------------------------------ without a compiler


@pytest.mark.usefixtures("cache", "no_compiler")
def test_without_a_compiler_the_torch_core_computes_and_says_why():
    core = Choice().get()
    assert (core.name, core.native) == ("torch", None)
    assert str(core) == ("torch core: there is no C core: no C compiler is found (cc, gcc, clang)")


@pytest.mark.usefixtures("cache")
def test_failing_compiler_is_said(tmp_path, monkeypatch):
    script(tmp_path, "echo 'cannot find ld' >&2; exit 1")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    core = Choice().get()
    assert core.native is None
    assert core.reason.endswith("cc failed: cannot find ld")


@pytest.mark.usefixtures("no_compiler")
def test_kept_core_needs_no_compiler(kept):
    core = Choice().get()
    assert (core.name, core.native is None) == ("C", False)
    assert core.reason.startswith("compiled here, with ")


@pytest.mark.usefixtures("no_compiler")
def test_damaged_core_in_the_cache_is_passed_over(kept):
    kept.write_bytes(kept.read_bytes()[:4000])
    assert "no C compiler is found" in Choice().get().reason


@pytest.mark.usefixtures("no_compiler")
def test_kept_core_that_cannot_be_loaded_is_passed_over(kept, monkeypatch):
    def not_executable(*_, **__):
        raise OSError("failed to map segment from shared object")

    monkeypatch.setattr(choice, "NativeCore", not_executable)
    assert "no C compiler is found" in Choice().get().reason


# ------------------------------------------------------------------ compiled


@needs_compiler
def test_core_is_compiled_tried_and_kept(cache, monkeypatch):
    core = Choice().get()
    assert core.name == "C", core
    [(path, _)] = compiler.kept(cache)
    assert [file.name for file in cache.iterdir()] == [path.name]
    monkeypatch.setattr(compiler, "compile_core", None)  # the next process finds it
    assert Choice().get().name == "C"


@needs_compiler
def test_core_that_crashes_takes_nobody_along(tmp_path, monkeypatch):
    source = tmp_path / "core.c"
    source.write_text(
        "#include <stdlib.h>\n"
        "int headscope_has_threads(void) { return 1; }\n"
        "int headscope_capture(void *job) { abort(); }\n"
    )
    monkeypatch.setattr(compiler, "SOURCE", source)
    monkeypatch.setattr(compiler, "VARIANTS", (("-O2",),))
    monkeypatch.setenv(compiler.FOLDER_VARIABLE, str(tmp_path / "cache"))
    compiler.key.cache_clear()
    try:
        core = Choice().get()
    finally:
        compiler.key.cache_clear()
    assert core.native is None
    assert "it failed when it was tried out: " in core.reason
    assert list((tmp_path / "cache").iterdir()) == []


@pytest.fixture
def compiled(monkeypatch, built):
    """Compiling takes no time: the library of this test run is what comes out."""
    path, kind = built
    monkeypatch.setattr(compiler, "compile_core", lambda flags, folder: path)
    monkeypatch.setattr(choice, "_try_out", lambda library: kind)


@pytest.mark.usefixtures("compiled")
def test_cache_that_cannot_be_written_to_is_done_without(cache, monkeypatch):
    monkeypatch.setenv(compiler.FOLDER_VARIABLE, "/dev/null/nothing")
    chosen = Choice()
    assert chosen.get().name == "C"
    monkeypatch.setenv(compiler.FOLDER_VARIABLE, str(cache))
    keep = compiler.keep

    def read_only(library, kind, folder):
        if folder == cache:
            raise OSError(30, "Read-only file system")
        return keep(library, kind, folder)

    monkeypatch.setattr(compiler, "keep", read_only)
    folder = choice.tempfile.TemporaryDirectory

    def elsewhere(*, prefix, dir=None):
        if dir is not None:
            raise OSError(30, "Read-only file system")
        return folder(prefix=prefix)

    monkeypatch.setattr(choice.tempfile, "TemporaryDirectory", elsewhere)
    assert Choice().get().name == "C"
    assert list(cache.iterdir()) == []


@pytest.mark.usefixtures("cache", "compiled")
def test_core_that_differs_is_switched_off_with_the_reason(monkeypatch):
    monkeypatch.setattr(choice, "difference", lambda core: "its pattern differs by 2.0e-03")
    core = Choice().get()
    assert (core.name, core.native) == ("torch", None)
    assert core.reason == "the C core is not used: its pattern differs by 2.0e-03"


def test_each_variant_is_tried_until_one_works(cache, compiled, monkeypatch):
    asked, work = [], compiler.compile_core

    def only_the_last(flags, folder):
        asked.append(flags)
        if flags != compiler.VARIANTS[-1]:
            raise CompileError("unknown option")
        return work(flags, folder)

    monkeypatch.setattr(compiler, "compile_core", only_the_last)
    assert Choice().get().name == "C"
    assert tuple(asked) == compiler.VARIANTS


def test_library_that_is_none_is_refused_by_the_trial(tmp_path):
    junk = tmp_path / "junk.so"
    junk.write_bytes(b"no library")
    with pytest.raises(CompileError, match=r"tried out: .*junk\.so"):
        choice._try_out(junk)


def test_trial_that_cannot_be_run_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no python"))
    with pytest.raises(CompileError, match="it cannot be tried out"):
        choice._try_out(tmp_path)


# ------------------------------------------------------------------ the switch


@pytest.mark.parametrize("value", ["0", "no", "Off", " false "])
def test_variable_switches_it_off(kept, monkeypatch, value):
    monkeypatch.setenv(choice.SWITCH, value)
    core = Choice().get()
    assert core.native is None
    assert core.reason == f"the C core is switched off by HEADSCOPE_NATIVE={value}"


def test_function_switches_it_off_and_on_again_whatever_the_variable_says(kept, monkeypatch):
    chosen = Choice()
    chosen.want(False)
    assert str(chosen.get()) == "torch core: the C core is switched off"
    monkeypatch.setenv(choice.SWITCH, "0")
    chosen.want(True)
    assert chosen.get().name == "C"
    chosen.want(None)
    assert chosen.get().native is None


@pytest.mark.usefixtures("kept")
def test_choice_is_made_once(monkeypatch):
    chosen = Choice()
    core = chosen.get()
    monkeypatch.setenv(choice.SWITCH, "0")
    assert chosen.get() is core


# ------------------------------------------------------------------ at once


@pytest.mark.usefixtures("cache")
def test_what_is_not_compiled_yet_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(compiler, "compile_core", None)  # called, it fails
    looked, kept = [], compiler.kept
    monkeypatch.setattr(compiler, "kept", lambda folder: looked.append(1) or kept(folder))
    chosen = Choice()
    assert [chosen.get_at_once() for _ in range(3)] == [NOT_YET] * 3
    assert looked == [1]


@pytest.mark.usefixtures("kept")
def test_what_is_kept_is_used_at_once():
    chosen = Choice()
    core = chosen.get_at_once()
    assert core.name == "C"
    assert chosen.get() is core


@pytest.mark.usefixtures("cache", "compiled")
def test_while_another_thread_compiles_nobody_waits():
    chosen = Choice()
    with chosen._lock:
        assert chosen.get_at_once() is NOT_YET
    assert chosen.get().name == "C"
    assert chosen.get_at_once().name == "C"
