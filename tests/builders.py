"""Small things made to measure, for the tests of the core."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import tokenizers
import torch
from tokenizers import decoders, models, pre_tokenizers, processors, trainers

from attention.config import AttentionConfig
from attention.implementations import IMPLEMENTATIONS
from attention.layer_record import LayerRecord, PatternRule
from attention.model import LanguageModel
from attention.model_config import ModelConfig
from attention.record import RunRecord
from attention.tokens import Tokenizer, Tokens

ZERO = -1e5  # a score whose weight after softmax is exactly 0


def assert_arrays_close(found, expected, *, rtol=1e-5, atol=1e-7):
    """The values of two arrays; the tolerance is that of float32 sums in another order."""
    torch.testing.assert_close(
        torch.as_tensor(found, dtype=torch.float64),
        torch.as_tensor(expected, dtype=torch.float64),
        rtol=rtol,
        atol=atol,
        equal_nan=True,
    )


def record_of(*patterns: Sequence[Sequence[float]], ids: Sequence[int] = ()) -> RunRecord:
    """A record of one layer whose heads have these patterns.

    q are unit vectors and k the logarithms of the patterns, so that q·k gives them back.
    """
    pattern = torch.tensor(np.array(patterns), dtype=torch.float32)  # head query key
    heads, seq_len, _ = pattern.shape
    scores = pattern.log().clamp(min=ZERO)
    q = torch.eye(seq_len).repeat(heads, 1, 1)
    k = scores.transpose(1, 2).contiguous()
    tokens = Tokens.from_ids(tuple(ids) or tuple(range(seq_len)))
    layer = LayerRecord(q=q, k=k, v=k, rule=PatternRule(scale=1.0))
    return RunRecord(tokens, torch.zeros(seq_len, 2), (layer,), "sdpa")


def previous_token_pattern(seq_len: int) -> list[list[float]]:
    """Every row on the token before; the first on itself."""
    return [[float(j == max(i - 1, 0)) for j in range(seq_len)] for i in range(seq_len)]


def uniform_pattern(seq_len: int) -> list[list[float]]:
    """Row i is 1 / (i + 1) on everything it may see."""
    return [[float(j <= i) / (i + 1) for j in range(seq_len)] for i in range(seq_len)]


def model_config(
    *,
    vocab_size: int = 101,
    num_layers: int = 2,
    num_heads: int = 3,
    num_kv_heads: int | None = None,
    context_length: int = 61,
    d_model: int = 15,
    qkv_bias: bool = False,
    d_mlp: int | None = 17,
) -> ModelConfig:
    """Sizes that cannot be mixed up: d_model 15, head_dim 10 (even for rotary), d_mlp 17."""
    return ModelConfig(
        vocab_size=vocab_size,
        num_layers=num_layers,
        d_mlp=d_mlp,
        attention=AttentionConfig(
            d_in=d_model,
            num_heads=num_heads,
            head_dim=10,
            context_length=context_length,
            num_kv_heads=num_kv_heads or num_heads,
            d_model=d_model,
            qkv_bias=qkv_bias,
            out_bias=qkv_bias,
        ),
        bos_token_id=0,
    )


def small_model(
    config: ModelConfig | None = None, *, seed: int = 20, tokenizer: Tokenizer | None = None
) -> LanguageModel:
    """A model with random weights, wide enough that its patterns are far from uniform."""
    model = LanguageModel(config or model_config(), tokenizer, name="small")
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            parameter.copy_(1 + 0.1 * noise if parameter.dim() == 1 else 0.5 * noise)
    return model.eval()


def ways(*, trained: bool = False) -> list[str]:
    """The ways in which these models' heads can be computed here, which have rotary positions.

    Args:
        trained: only those that learn on a CPU.
    """
    configs = [model_config().attention, model_config(num_heads=9, num_kv_heads=3).attention]
    return [
        name
        for name, entry in IMPLEMENTATIONS.items()
        if all(entry.supports(config, rotary=True) for config in configs)
        and (not trained or "cpu" in entry.trains_on)
    ]


CORPUS = ("the cat sat on the mat and the dog ran to the cat in the rain\n" * 5).splitlines()


def byte_level_backend(*, vocab_size: int = 300, bos: bool = True) -> tokenizers.Tokenizer:
    """A byte-level BPE trained on a few words: ordinary words are pieces, the rest is bytes."""
    backend = tokenizers.Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=["<bos>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator(CORPUS, trainer)
    if bos:
        backend.post_processor = processors.TemplateProcessing(
            single="<bos> $A", special_tokens=[("<bos>", backend.token_to_id("<bos>"))]
        )
    return backend


def tokenizer_file(folder: Path, backend: tokenizers.Tokenizer | None = None) -> Path:
    """A tokenizer.json in a folder."""
    path = folder / "tokenizer.json"
    (backend or byte_level_backend()).save(str(path))
    return path
