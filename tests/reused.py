"""What the tests of runs that reuse others share: a text, edits of it, and when two are equal."""

import torch

from attention.layer_record import LayerRecord
from attention.model import LanguageModel
from attention.record import RunRecord
from tests.builders import model_config
from tests.families.parity import randomised

IDS = (7, 1, 2, 3, 1, 2, 3, 97, 53, 11, 5, 29, 31, 83, 2, 1, 90, 17, 4)
T = len(IDS)
PLAIN = model_config()


def made(config=PLAIN):
    return randomised(LanguageModel(config, name="small"))


def assert_same_run(found: RunRecord, expected: RunRecord):
    assert found.tokens == expected.tokens
    assert type(found.read_out) is type(expected.read_out)
    assert (found.implementation, found.origin) == (expected.implementation, expected.origin)
    torch.testing.assert_close(found.logits, expected.logits)
    assert found.num_layers == expected.num_layers
    for mine, theirs in zip(found.layers, expected.layers, strict=True):
        assert isinstance(mine, LayerRecord)
        assert mine.rule == theirs.rule
        for name in ("q", "k", "v"):
            torch.testing.assert_close(getattr(mine, name), getattr(theirs, name))
    assert found.nbytes == expected.nbytes


def edited(at, length=T, *, fill=60):
    """A text that begins with the first `at` tokens of IDS and goes on differently."""
    return (*IDS[:at], *range(fill, fill + length - at))


def read_by(model, text, **settings):
    """The run, and how many tokens the model read for it."""
    read = []
    hook = model.embed.register_forward_pre_hook(lambda _, given: read.append(given[0].shape[1]))
    try:
        return model.run(text, **settings), sum(read)
    finally:
        hook.remove()
