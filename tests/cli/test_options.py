"""Options that several commands share."""

import json

import numpy as np
import pytest

from attention.cli import main
from attention.loading import load_model


@pytest.mark.parametrize(
    ("options", "labels"),
    [
        ([], ["<bos>", "the", "␣cat"]),
        (["--bos"], ["<bos>", "the", "␣cat"]),
        (["--no-bos"], ["the", "␣cat"]),
    ],
)
def test_bos_comes_first_as_the_model_expects_or_as_asked_for(
    model_folder, tmp_path, options, labels
):
    out = tmp_path / "run.npz"
    run = ["run", "--model", model_folder, "--text", "the cat", "--out", str(out), *options]
    assert main(run) == 0
    with np.load(out, allow_pickle=False) as written:
        assert written["labels"].tolist() == labels


def test_scores_and_generated_text_are_without_bos_too(model_folder, capsys):
    main(["scores", "--model", model_folder, "--text", "the cat", "--no-bos", "--json"])
    assert json.loads(capsys.readouterr().out)["seq_len"] == 2
    more = ["generate", "--model", model_folder, "--text", "the cat", "--no-bos", "--tokens", "2"]
    main([*more, "--temperature", "0"])
    model = load_model(model_folder)
    prompt = model.tokenizer.encode("the cat", bos=False)
    expected = model.tokenizer.decode(model.generate(prompt, 2, temperature=0).ids)
    assert capsys.readouterr().out == f"{expected}\n"


def test_bos_beside_ids_is_refused(model_folder, refused):
    sentence = refused("scores", "--model", model_folder, "--ids", "1 2", "--bos")
    assert sentence == "--bos and --no-bos are for a text; ids are run as they are."


def test_bos_of_a_model_without_a_tokenizer_is_refused(ids_folder, refused):
    sentence = refused("scores", "--model", ids_folder, "--text", "a", "--bos")
    assert sentence.endswith("has no tokenizer; give token ids instead of text.")
