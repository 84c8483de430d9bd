"""Models of the Hugging Face hub, by id: from its cache, or fetched into it.

The library brings its own cache, login and offline switch (`HF_HOME`, `hf auth login`,
`HF_HUB_OFFLINE`); nothing of them is changed here.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attention.errors import ModelError
from attention.sources.folder import CONFIG, INDEX, WEIGHTS, find_weights, stored_files
from attention.sources.hub_progress import Progress, bars
from attention.sources.safetensors_file import read_json

PART = r"[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?"
ID = re.compile(rf"({PART}(?:/{PART})?)(?:@(\w[\w./-]*))?", re.ASCII)
# What else is wanted of a repository: whatever a tokenizer may be in.
BESIDE = (
    "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
    "vocab.json", "merges.txt", "tokenizer.model", "spiece.model", "generation_config.json",
)  # fmt: skip
LONGEST, LONGEST_ID = 200, 96  # characters; the second is the hub's rule, as are the other ones
SECONDS = 10  # to wait for the hub's answer
Config = Mapping[str, Any]


@dataclass(frozen=True)
class HubId:
    """A repository of the hub.

    Attributes:
        repo: owner/name; a few old ones have a name only.
        revision: a branch, a tag or a commit; None for the newest.
    """

    repo: str
    revision: str | None = None

    def __str__(self) -> str:
        return self.repo if self.revision is None else f"{self.repo}@{self.revision}"


def parse_id(source: str) -> HubId | None:
    """What a source names on the hub; None where it reads as a path.

    Nothing that begins with a folder of this place is an id: a mistyped path is not sent away.
    """
    found = ID.fullmatch(source) if len(source) <= LONGEST else None
    if found is None or len(found[1]) > LONGEST_ID or found[1].endswith(".git"):
        return None
    if "--" in found[1] or ".." in source:
        return None
    first, slash, _ = found[1].partition("/")
    return None if slash and Path(first).is_dir() else HubId(found[1], found[2])


def fetch(
    wanted: HubId,
    *,
    progress: Progress | None = None,
    before: Callable[[Config], None] | None = None,
) -> Path:
    """The folder of a model: in the cache, or fetched into it.

    A whole copy in the cache is taken as it is; name a newer commit to have that.

    Args:
        wanted: which model.
        progress: told of bytes fetched and bytes in all.
        before: gets the config before anything large is fetched; raises to stop.

    Raises:
        ModelError: when it is not there, not open to this login, or the hub cannot be reached.
    """
    folder = cached(wanted)
    if folder is not None:
        return folder
    from huggingface_hub import HfApi, hf_hub_download

    with _errors_as_sentences(wanted):
        info = HfApi().model_info(
            wanted.repo, revision=wanted.revision, files_metadata=True, timeout=SECONDS
        )
        sizes = {file.rfilename: file.size or 0 for file in info.siblings or ()}
        files = choose(sizes, wanted)
        bar = bars(progress, sum(sizes[file] for file in files))
        for file in files:
            path = hf_hub_download(
                wanted.repo, file, revision=wanted.revision, tqdm_class=bar.of_library
            )
            bar.done(sizes[file])
            if file == CONFIG and before is not None:
                before(read_json(Path(path)))
    return Path(path).parent


def choose(files: Mapping[str, int], wanted: HubId) -> list[str]:
    """Which files to fetch, config.json first: safetensors rather than pickles.

    Args:
        files: all that the repository holds, with their sizes in bytes.
        wanted: the repository, for errors.

    Raises:
        ModelError: when it holds no model that can be opened.
    """
    if CONFIG not in files:
        gguf = sorted(file for file in files if file.endswith(".gguf"))
        hint = f" Fetch a GGUF file of it, such as {gguf[0]}, and give its path." if gguf else ""
        raise ModelError(f"{wanted} must hold {CONFIG}; it does not.{hint}")
    for usual in WEIGHTS:
        stem, suffix = usual.rsplit(".", 1)
        shards = [file for file in files if re.fullmatch(rf"{stem}-\d+-of-\d+\.{suffix}", file)]
        if usual in files or (f"{usual}{INDEX}" in files and shards):
            weights = [usual] if usual in files else [f"{usual}{INDEX}", *sorted(shards)]
            return [CONFIG, *(file for file in BESIDE if file in files), *weights]
    raise ModelError(f"{wanted} must hold {WEIGHTS[0]}, whole or in shards; it does not.")


def cached(wanted: HubId) -> Path | None:
    """The folder of a model in the cache; None unless all of it is there."""
    from huggingface_hub import try_to_load_from_cache

    config = try_to_load_from_cache(wanted.repo, CONFIG, revision=wanted.revision)
    if not isinstance(config, str):
        return None
    folder = Path(config).parent
    try:
        files = stored_files(find_weights(folder))
    except ModelError:  # begun, and not ended
        return None
    return folder if all(file.is_file() for file in files) else None


@contextmanager
def _errors_as_sentences(wanted: HubId) -> Iterator[None]:
    from huggingface_hub import errors

    page = f"https://huggingface.co/{wanted.repo}"
    try:
        yield
    except errors.GatedRepoError as error:
        raise ModelError(
            f"{wanted} must be open to you; it is gated. Accept its terms at {page} and log in "
            "with `hf auth login`."
        ) from error
    except errors.RevisionNotFoundError as error:
        raise ModelError(
            f"revision must be a branch, a tag or a commit of {wanted.repo}; "
            f"got {wanted.revision!r}."
        ) from error
    except errors.RepositoryNotFoundError as error:
        raise ModelError(
            f"model must be 'embedded', a folder, a file or a model of the Hugging Face hub; "
            f"{str(wanted)!r} is no path here, and the hub has none of that name, or a private "
            "one: check the name, or log in with `hf auth login`."
        ) from error
    except errors.HfHubHTTPError as error:
        status = getattr(error.response, "status_code", "an error")
        raise ModelError(
            f"the Hugging Face hub must give {wanted}; it answered {status}. Try again later."
        ) from error
    except (OSError, errors.HTTPError) as error:  # type: ignore[attr-defined]
        raise ModelError(_unreached(wanted, error)) from error


def _unreached(wanted: HubId, error: Exception) -> str:
    if getattr(error, "errno", None) is not None and error.__class__ is OSError:
        return f"{wanted} must be written to the hub's cache; it cannot be: {error}."
    return (
        f"model must be 'embedded', a folder or a file here, or a model of the Hugging Face hub; "
        f"{str(wanted)!r} is no path here and not in the hub's cache, and the hub cannot be "
        "reached: connect to the network once."
    )
