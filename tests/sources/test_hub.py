import json
from types import SimpleNamespace

import huggingface_hub
import pytest
from huggingface_hub import constants, errors

from attention.errors import DeviceError, ModelError
from attention.loading import load_model, save_model
from attention.sources import hub
from attention.sources.hub import HubId, choose, parse_id
from tests.builders import model_config, small_model
from tests.test_known_models import COMMIT, put_in_cache

IDS = (7, 1, 2, 3, 1, 2, 3)
SOME = HubId("some/model")


# ------------------------------------------------------------------ names


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("gpt2", HubId("gpt2")),
        ("meta-llama/Llama-3.2-1B", HubId("meta-llama/Llama-3.2-1B")),
        ("a/b@main", HubId("a/b", "main")),
        ("a/b@refs/pr/3", HubId("a/b", "refs/pr/3")),
        (f"a/b_c.d@{COMMIT}", HubId("a/b_c.d", COMMIT)),
    ],
)
def test_names_are_read(source, expected):
    assert parse_id(source) == expected
    assert str(expected) == source


@pytest.mark.parametrize(
    "source",
    [
        "",
        "/a",
        "./a",
        "a/b/c",
        "a/",
        "a b",
        "../a/b",
        "a--b",
        "~/a",
        "a/b@",
        "é/a",
        "a/b.git",
        "a/b@/etc",
    ],
)
def test_paths_are_no_names(source):
    assert parse_id(source) is None


def test_name_longer_than_the_hub_allows_is_none():
    assert parse_id("a" * 96) == HubId("a" * 96)
    assert parse_id("a" * 97) is None


def test_mistyped_path_of_a_folder_that_is_there_is_not_sent_away(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models").mkdir()
    assert parse_id("models/typo") is None


# ------------------------------------------------------------------ what is fetched

CONFIG = {"config.json": 1}
TOKENIZER = {
    "tokenizer.json": 2,
    "README.md": 3,
    "onnx/model.onnx": 4,
    "special_tokens_map.json": 5,
}
SHARDS = {f"model-0000{i}-of-00002.safetensors": i for i in (1, 2)}
INDEX = {"model.safetensors.index.json": 1}
PICKLES = {"pytorch_model.bin": 9, "tf_model.h5": 9, "flax_model.msgpack": 9}


@pytest.mark.parametrize(
    ("files", "weights"),
    [
        ({"model.safetensors": 1, **PICKLES}, ["model.safetensors"]),
        ({**SHARDS, **INDEX, **PICKLES}, [*INDEX, *SHARDS]),
        (PICKLES, ["pytorch_model.bin"]),
        ({"model.safetensors": 1, **SHARDS, **INDEX}, ["model.safetensors"]),
    ],
)
def test_only_what_is_needed_is_fetched_config_first(files, weights):
    chosen = choose({**files, **TOKENIZER, **CONFIG}, SOME)
    assert chosen == ["config.json", "tokenizer.json", "special_tokens_map.json", *weights]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (TOKENIZER, r"some/model must hold config\.json; it does not\.$"),
        ({"b.Q8_0.gguf": 1, "a.gguf": 1}, r"Fetch a GGUF file of it, such as a\.gguf, and give"),
        ({**CONFIG, "tf_model.h5": 1}, "must hold model.safetensors, whole or in shards"),
    ],
)
def test_repository_without_a_model_is_refused(files, message):
    with pytest.raises(ModelError, match=message):
        choose(files, SOME)


# ------------------------------------------------------------------ a hub that is not there


class FakeHub:
    """A repository, as the library's functions would give it."""

    def __init__(self, folder, cache):
        self.folder, self.cache, self.fetched, self.asked = folder, cache, [], []
        self.error = None

    def model_info(self, repo, *, revision, files_metadata, timeout):
        self.asked.append((repo, revision))
        if self.error is not None:
            raise self.error
        sizes = {path.name: path.stat().st_size for path in self.folder.iterdir()}
        files = [SimpleNamespace(rfilename=name, size=size) for name, size in sizes.items()]
        return SimpleNamespace(siblings=files)

    def download(self, repo, name, *, revision, tqdm_class):
        self.fetched.append(name)
        if not self.cache.exists():
            put_in_cache(self.cache, self.folder, repo)
        path = self.cache / "models--some--model" / "snapshots" / COMMIT / name
        with tqdm_class(total=path.stat().st_size, initial=0, desc=name, unit="B") as bar:
            bar.update(1)
            bar.update(path.stat().st_size - 1)
            bar.set_postfix_str("as the library does", refresh=False)
        return str(path)


@pytest.fixture
def fake(tmp_path, monkeypatch):
    save_model(small_model(model_config(num_heads=9, num_kv_heads=3)), tmp_path / "model")
    (tmp_path / "model" / "flax_model.msgpack").write_bytes(b"x" * 99)
    made = FakeHub(tmp_path / "model", tmp_path / "hub")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(huggingface_hub, "HfApi", lambda: made)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", made.download)
    monkeypatch.chdir(tmp_path)
    return made


def test_model_of_the_hub_opens_and_progress_is_that_of_its_bytes(fake):
    told = []
    model = load_model("some/model@main", progress=lambda *numbers: told.append(numbers))
    assert (model.config.num_heads, model.name) == (9, "some/model@main")
    assert fake.fetched == ["config.json", "model.safetensors"]
    assert fake.asked == [("some/model", "main")]
    size = sum((fake.folder / name).stat().st_size for name in fake.fetched)
    of_fetching = [done for done, total in told if total == size]
    assert of_fetching == sorted(of_fetching)
    assert of_fetching[-1] == size
    assert told[-1][0] == told[-1][1], "then it was read"


def test_copy_in_the_cache_is_taken_without_asking(fake):
    load_model("some/model")
    fake.asked.clear()
    fake.error = AssertionError("the hub was asked")
    assert load_model("some/model").run(IDS).seq_len == len(IDS)
    assert load_model(f"some/model@{COMMIT}").run(IDS).seq_len == len(IDS)


def test_copy_that_is_not_whole_is_fetched_again(fake):
    snapshot = put_in_cache(fake.cache, fake.folder, "some/model")
    (snapshot / "model.safetensors").unlink()
    assert hub.cached(SOME) is None
    with pytest.raises(ModelError, match="cannot be reached"):
        load_model("some/model")  # the fake has nothing to put there
    assert fake.asked == [("some/model", None)]


def test_model_too_large_is_refused_before_its_weights_are_fetched(fake):
    config = json.loads((fake.folder / "config.json").read_text()) | {"vocab_size": 10**11}
    (fake.folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(DeviceError, match=r"free memory of cpu .* for some/model"):
        load_model("some/model")
    assert fake.fetched == ["config.json"]


def answer(kind, status=404):
    response = SimpleNamespace(headers={}, request=None, status_code=status)
    return kind("what the hub says", response=response)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (answer(errors.RepositoryNotFoundError), "the hub has none of that name, or a private"),
        (answer(errors.GatedRepoError, 403), "must be open to you; it is gated. Accept its terms"),
        (answer(errors.RevisionNotFoundError), "revision must be a branch, a tag .* got 'v9'"),
        (answer(errors.HfHubHTTPError, 503), "it answered 503. Try again later"),
        (errors.OfflineModeIsEnabled("off"), "the hub cannot be reached: connect to the network"),
        (errors.LocalEntryNotFoundError("none"), "the hub cannot be reached"),
        (ConnectionError("refused"), "the hub cannot be reached"),
        (errors.HTTPError("no route"), "the hub cannot be reached"),
        (OSError(28, "No space left on device"), "must be written to the hub's cache; it cannot"),
    ],
)
def test_every_answer_of_the_hub_is_one_sentence(error, message, fake):
    fake.error = error
    with pytest.raises(ModelError, match=message) as caught:
        load_model("some/model@v9")
    assert "some/model" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_without_a_network_the_sentence_says_so(tmp_path, monkeypatch):
    # No fake here: the library's own offline switch, which the tests set.
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError, match="'some/model' is no path here and not in the hub's cache"):
        load_model("some/model")
