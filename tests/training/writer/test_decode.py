import pytest
import torch

from attention.errors import HeadscopeError
from attention.training.writer.decode import Sampling, decode
from tests.builders import model_config, small_model

LIKELIEST = Sampling(temperature=1.0, top_k=1)
NO_END = -1


@pytest.fixture(params=[3, 1], ids=["own-kv-heads", "shared-kv-head"])
def model(request):
    return small_model(model_config(num_kv_heads=request.param)).double()


def prompts(model, rows=5, pos=7, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(1, model.config.vocab_size, (rows, pos), generator=generator)


@torch.inference_mode()
def test_the_likeliest_tokens_are_those_of_the_model_itself(model):
    ids = prompts(model)
    found = decode(model, ids, 4, end=NO_END, sampling=LIKELIEST, seed=0)
    for _ in range(4):
        ids = torch.cat([ids, model(ids)[:, -1].argmax(-1, keepdim=True)], dim=1)
    assert found == ids[:, 7:].tolist()


def test_a_text_is_over_at_its_end_token_and_the_others_go_on(model):
    ids = prompts(model)
    free = decode(model, ids, 5, end=NO_END, sampling=LIKELIEST, seed=0)
    end = free[1][2]
    found = decode(model, ids, 5, end=end, sampling=LIKELIEST, seed=0)
    for row, whole in zip(found, free, strict=True):
        assert row == (whole[: whole.index(end)] if end in whole else whole)
    assert len(found[1]) <= 2


def test_draws_depend_on_the_seed_alone(model):
    free = Sampling(temperature=2.0, top_k=50)
    found = [
        decode(model, prompts(model), 6, end=NO_END, sampling=free, seed=seed) for seed in (3, 3, 4)
    ]
    assert found[0] == found[1] != found[2]


def test_only_the_top_tokens_are_drawn():
    logits = torch.arange(50.0).repeat(200, 1)
    generator = torch.Generator().manual_seed(0)
    drawn = Sampling(temperature=100.0, top_k=3).draw(logits, generator)
    assert set(drawn.tolist()) == {47, 48, 49}


def test_what_the_context_cannot_hold_is_refused(model):
    room = model.config.context_length - 7
    with pytest.raises(HeadscopeError, match=f"num_tokens must be at most {room} after prompts"):
        decode(model, prompts(model), room + 1, end=0, sampling=LIKELIEST, seed=0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"temperature": 0.0}, "temperature must be above 0; got 0.0"),
        ({"temperature": float("nan")}, "temperature must be above 0; got nan"),
        ({"top_k": 0}, "top_k must be at least 1; got 0"),
    ],
)
def test_sampling_that_cannot_be_is_refused(changes, message):
    with pytest.raises(HeadscopeError, match=message):
        Sampling(**({"temperature": 1.0, "top_k": 5} | changes))
