import pytest

from attention.training.archives import ArchiveError, read_members
from tests.training.packages import make_deb, make_tgz, make_wheel

FILES = {"./b/two.txt": b"2", "./a/one.txt": b"1", "./a/skip.bin": b"0"}


@pytest.mark.parametrize(
    ("make", "name"), [(make_deb, "p.deb"), (make_tgz, "p.tgz"), (make_wheel, "p.whl")]
)
def test_the_wanted_files_come_sorted_by_path(make, name, tmp_path):
    archive = make(tmp_path / name, FILES)
    found = read_members(archive, lambda path: path.endswith(".txt"))
    assert list(found.items()) == [("./a/one.txt", b"1"), ("./b/two.txt", b"2")]


@pytest.mark.parametrize("name", ["p.deb", "p.tgz", "p.whl"])
def test_a_damaged_archive_is_told(name, tmp_path):
    archive = tmp_path / name
    archive.write_bytes(b"nothing of the kind")
    with pytest.raises(ArchiveError):
        read_members(archive, lambda path: True)


def test_an_archive_cut_short_is_told(tmp_path):
    archive = make_tgz(tmp_path / "p.tgz", {"a": bytes(range(256)) * 100})
    archive.write_bytes(archive.read_bytes()[:-40])
    with pytest.raises(ArchiveError, match=r"p\.tgz must be a whole package"):
        read_members(archive, lambda path: True)


def test_an_archive_without_the_text_is_told(tmp_path):
    archive = make_wheel(tmp_path / "p.whl", FILES)
    with pytest.raises(ArchiveError, match="got no such file"):
        read_members(archive, lambda path: False)
