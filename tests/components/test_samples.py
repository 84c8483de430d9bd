"""The sample texts."""

from attention import load_model
from components.samples import SAMPLES


def test_samples_are_the_five_promised():
    names = [sample.name for sample in SAMPLES]
    assert names == ["agreement", "repeated name", "list", "rhyme", "random twice"]


def test_every_sample_fits_the_embedded_model():
    model = load_model()
    for sample in SAMPLES:
        assert len(model.tokens(sample.text)) <= model.config.context_length


def test_random_twice_is_the_same_tokens_twice():
    text = SAMPLES[-1].text.split()
    assert text[: len(text) // 2] == text[len(text) // 2 :]
