import torch

from attention.blank import blank_model
from tests.builders import model_config, small_model


def test_blank_model_is_the_model_once_its_weights_are_there():
    whole = small_model()
    blank = blank_model(whole.config)
    assert all(parameter.is_meta for parameter in blank.parameters())
    assert not any(buffer.is_meta for buffer in blank.buffers())
    blank.load_state_dict(whole.state_dict(), assign=True)
    ids = (7, 1, 2, 3, 1, 2)
    torch.testing.assert_close(blank.run(ids).logits, whole.run(ids).logits, rtol=0, atol=0)


def test_no_random_number_is_drawn():
    before = torch.get_rng_state()
    blank_model(model_config())
    torch.testing.assert_close(torch.get_rng_state(), before)
