import pytest

from attention.cli import main
from attention.loading import load_model


def printed(capsys, *arguments):
    assert main(["generate", *arguments]) == 0
    return capsys.readouterr().out


def test_text_is_printed_with_what_follows(model_folder, capsys):
    out = printed(capsys, "--model", model_folder, "--text", "the cat", "--tokens", "3")
    model = load_model(model_folder)
    assert out == model.tokenizer.decode(model.generate("the cat", 3).ids) + "\n"
    assert out.startswith("the cat")


def test_model_without_a_tokenizer_prints_ids(ids_folder, capsys):
    out = printed(capsys, "--model", ids_folder, "--ids", "7 1 2", "--tokens", "2")
    assert len(out.split()) == 5
    assert out.startswith("7 1 2 ")


def test_seed_makes_a_draw_repeatable(ids_folder, capsys):
    common = ["--model", ids_folder, "--ids", "7", "--tokens", "20", "--temperature", "3"]
    first, again, other = (printed(capsys, *common, "--seed", seed) for seed in "112")
    assert first == again
    assert first != other


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--tokens", "0"], "num_tokens must be a whole number of at least 1; got 0."),
        (["--tokens", "61"], "text and added tokens must be at most 61 together; got 1 and 61."),
        (["--temperature", "-1"], "temperature must be at least 0 and finite; got -1.0."),
        (["--temperature", "nan"], "temperature must be at least 0 and finite; got nan."),
        (["--seed", "-1"], "Invalid value for '--seed': -1 is not in the range"),
    ],
)
def test_bad_input_is_one_sentence(ids_folder, refused, options, sentence):
    told = refused("generate", "--model", ids_folder, "--ids", "7", *options)
    assert told.startswith(sentence)
