"""A saved model for the commands to open."""

import pytest
import torch

from attention.loading import save_model
from attention.tokens import Tokenizer
from tests.builders import byte_level_backend, model_config, small_model


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli") / "model"
    tokenizer = Tokenizer(byte_level_backend(vocab_size=300))
    save_model(
        small_model(model_config(vocab_size=300), tokenizer=tokenizer), folder, dtype=torch.float32
    )
    return str(folder)


@pytest.fixture(scope="session")
def ids_folder(tmp_path_factory):
    """A model without a tokenizer."""
    folder = tmp_path_factory.mktemp("cli") / "ids"
    save_model(small_model(), folder, dtype=torch.float32)
    return str(folder)


@pytest.fixture
def refused(capsys):
    """Run a command that must refuse in one sentence, and give that sentence."""
    from attention.cli import main

    def refuse(*arguments):
        assert main([str(argument) for argument in arguments]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert len(err.splitlines()) == 1
        return err.removeprefix("Error: ").rstrip()

    return refuse
