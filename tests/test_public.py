"""What other people's scripts import."""

import subprocess
import sys

import pytest

import attention

PROMISED = {
    "AttentionConfig", "HeadWeights", "IMPLEMENTATIONS", "build_attention", "load_model",
    "LanguageModel", "RunRecord", "head_scores", "HEAD_METRICS", "sweep", "BenchmarkSettings",
    "Measurement", "available_devices", "Device",
}  # fmt: skip


def test_promised_names_are_public():
    assert set(attention.__all__) >= PROMISED


@pytest.mark.parametrize("name", attention.__all__)
def test_every_public_name_is_there(name):
    assert getattr(attention, name) is not None
    assert name in dir(attention)


def test_name_that_does_not_exist_is_told_as_usual():
    with pytest.raises(AttributeError, match="module 'attention' has no attribute 'nothing'"):
        _ = attention.nothing


def test_import_does_not_wait_for_torch():
    check = "import sys, attention; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", check], check=True, timeout=60)


def test_documented_example_works(tmp_path):
    from tests.builders import small_model

    attention.loading.save_model(small_model(), tmp_path)
    model = attention.load_model(str(tmp_path), device="cpu")
    record = model.run([7, 1, 2, 3, 1, 2, 3], implementation="looped", ablate=frozenset({(0, 1)}))
    assert record.pattern(1, 2, rows=slice(4, 7), cols=slice(0, 3)).shape == (3, 3)
    assert record.pooled(1, 2, 3, reduce="max").shape == (3, 3)
    assert set(attention.head_scores(record)) == set(attention.HEAD_METRICS)
    assert record.tokens.ids == (7, 1, 2, 3, 1, 2, 3)
