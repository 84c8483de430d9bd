from threading import Event

import pytest

from attention.errors import HeadscopeError
from attention.progress import CancelledError, until
from tests.builders import model_config, small_model

IDS = (7, 1, 2, 3, 1, 2, 3, 97, 53, 11, 5)


@pytest.fixture(scope="module")
def model():
    return small_model(model_config(num_layers=4))


def test_each_layer_and_the_end_are_told(model):
    told = []
    model.run(IDS, progress=told.append)
    assert told == [0.2, 0.4, 0.6, 0.8, 1.0]


def test_run_that_reuses_another_tells_so_too(model):
    before, told = model.run(IDS), []
    model.run((*IDS, 8), reuse=[before], progress=told.append)
    assert told == [0.2, 0.4, 0.6, 0.8, 1.0]
    told.clear()
    model.run(IDS[:3], reuse=[before], progress=told.append)
    assert told == [1.0]


def test_run_that_is_called_off_computes_no_further_layer(model):
    cancelled, begun = Event(), []
    hooks = [
        block.norm_attn.register_forward_hook(lambda *_, index=index: begun.append(index))
        for index, block in enumerate(model.blocks)
    ]

    def tell(done):
        if done > 0.3:
            cancelled.set()

    try:
        with pytest.raises(CancelledError):
            model.run(IDS, progress=until(cancelled, tell))
    finally:
        for hook in hooks:
            hook.remove()
    assert begun == [0, 1, 2]
    assert model.run(IDS).seq_len == 11  # as if nothing had been


def test_what_progress_raises_is_not_taken_for_a_fault_of_the_run(model):
    def stop(_done):
        raise HeadscopeError("enough")

    with pytest.raises(HeadscopeError, match=r"^enough$"):
        model.run(IDS, progress=stop)


def test_what_is_kept_of_all_layers_lies_together(model):
    """Apart, it leaves holes between what each layer computes and lets go."""
    layers = model.run(IDS).layers
    for name in ("q", "k", "v"):
        kept = [getattr(layer, name) for layer in layers]
        begin = kept[0].data_ptr()
        assert [t.data_ptr() - begin for t in kept] == [i * kept[0].nbytes for i in range(4)]
        assert all(t.is_contiguous() for t in kept)
