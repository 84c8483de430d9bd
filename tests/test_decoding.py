import pytest
import torch

from attention.decoding import with_caches
from attention.errors import TextError
from attention.implementations import IMPLEMENTATIONS
from tests.builders import model_config, small_model
from tests.implementations.contract import WITH_CACHE

CONFIG = model_config(num_heads=9, num_kv_heads=3)
NAMES = [
    name for name in WITH_CACHE if IMPLEMENTATIONS[name].supports(CONFIG.attention, rotary=True)
]


@pytest.fixture(scope="module")
def model():
    return small_model(CONFIG).double()


def texts(rows=2, pos=7):
    generator = torch.Generator().manual_seed(0)
    return torch.randint(1, CONFIG.vocab_size, (rows, pos), generator=generator)


@pytest.mark.parametrize("name", NAMES)
@torch.inference_mode()
def test_reading_on_gives_the_logits_of_reading_everything_anew(model, name):
    ids, expected = texts(), model(texts())
    attention = with_caches(model.attention_layers(name), batch=2, room=7)
    torch.testing.assert_close(model.next_logits(ids[:, :4], attention), expected[:, 3])
    for at in (4, 5, 6):
        found = model.next_logits(ids[:, at : at + 1], attention)
        torch.testing.assert_close(found, expected[:, at])


@torch.inference_mode()
def test_two_readers_of_one_model_do_not_disturb_each_other(model):
    layers = model.attention_layers("sdpa")
    one, other = (with_caches(layers, batch=2, room=7) for _ in range(2))
    model.next_logits(texts(), one)
    torch.testing.assert_close(model.next_logits(texts(), other), model(texts())[:, -1])


@torch.inference_mode()
def test_reading_beyond_the_room_is_refused(model):
    attention = with_caches(model.attention_layers("sdpa"), batch=2, room=7)
    model.next_logits(texts(), attention)
    with pytest.raises(TextError, match=r"room for 7\); got 1"):
        model.next_logits(texts(pos=1), attention)
