from attention.training import readers
from attention.training.readers import paragraphs, plain, r_strings
from tests.training.packages import (
    bible,
    make_deb,
    make_tgz,
    make_wheel,
    r_database,
    r_vector,
)

LONG = "A paragraph that is long enough."


def test_plain_types_quotes_and_dashes_and_drops_accents_and_italics():
    assert plain("\u201cFa\u00e7ade\u201d\u2014_so_ C\u00e6sar\u2019s") == '"Facade"--so Caesar\'s'


def test_paragraphs_are_joined_lines_without_headings_and_scraps():
    text = f"CHAPTER I\n\nA paragraph that\r\n  is long enough.\n\n* * *\n\nVolume two\n\n{LONG}"
    assert paragraphs(text) == [LONG, LONG]


def test_r_strings_reads_both_encodings():
    assert r_strings(r_vector(["é".encode(), b"b"])) == ["é", "b"]
    assert r_strings(r_vector([b"\xe9"], latin1=True)) == ["é"]


def test_austen_reads_every_book(tmp_path):
    books = [r_vector([b"A paragraph that", b"is long enough."]), r_vector([LONG.encode()])]
    archive = make_deb(tmp_path / "p.deb", {"./x/data/Rdata.rdb": r_database(books)})
    assert readers.austen(archive) == [LONG, LONG]


def test_moby_dick_has_chapter_two_before_ten_and_the_epilogue_last(tmp_path):
    names = {"chapter_10": "ten", "epilogue": "end", "chapter_2": "two", "data": "all again"}
    files = {
        f"package/moby-dick/data/{name}.txt": f"{LONG} {word}".encode()
        for name, word in names.items()
    }
    archive = make_tgz(tmp_path / "p.tgz", files)
    assert readers.moby_dick(archive) == [f"{LONG} {word}" for word in ("two", "ten", "end")]


def test_addresses_are_modern_end_with_a_sentence_and_have_no_applause(tmp_path):
    folder = "package/sotu/data"
    files = {
        f"{folder}/1929_old_r.txt": LONG.encode(),
        f"{folder}/1930_new_r.txt": f"{LONG} (Applause.) {LONG} And then the".encode(),
    }
    archive = make_tgz(tmp_path / "p.tgz", files)
    assert readers.state_of_the_union(archive) == [f"{LONG} {LONG}"]
    assert readers.old_addresses(archive) == [LONG]


def test_wordnet_keeps_entries_with_examples_apart_and_not_the_notice_or_names(tmp_path):
    lines = (
        "  1 This notice | is no entry\n"
        '0001 03 n 01 hot_dog 0 000 | a sausage; "he ate a hot dog"; "two hot dogs, please;"\n'
        "0002 03 n 01 entity 0 000 | that which is  \n"
        "0003 03 n 01 Ahab 0 000 | a captain  \n"
    )
    files = {f"./wordnet/data.{kind}": lines.encode() for kind in ("noun", "verb", "adj", "adv")}
    archive = make_deb(tmp_path / "p.deb", files)
    entry = "hot dog: a sausage. He ate a hot dog. Two hot dogs, please."
    assert readers.wordnet(archive) == [entry] * 4
    assert readers.definitions(archive) == ["entity: that which is."] * 4


def test_an_adjectives_marker_is_no_part_of_the_word():
    line = '0001 00 a 01 galore(ip) 0 000 | in great numbers; "daisies galore"'
    assert readers.wordnet_entry(line) == ("galore", "in great numbers", ["Daisies galore."])


def test_books_of_the_two_testaments_are_not_mixed(tmp_path):
    """Caught: both testaments count their books from 1, so chapters came interleaved."""
    rows = [
        (2, 1, 1, 1, "1:1 The book", ""),
        (1, 1, 1, 2, "1:2 And the earth", "was without form."),
        (1, 1, 1, 1, "1:1 In the beginning", ""),
    ]
    archive = make_wheel(tmp_path / "p.whl", {"k/DATA/Bible.db": bible(rows)})
    assert readers.king_james(archive) == [
        "In the beginning And the earth was without form.",
        "The book",
    ]
