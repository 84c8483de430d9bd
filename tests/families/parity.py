"""Holds a model that is opened here to the one that `transformers` saved: numbers and words.

A family's test makes small random models with unusual settings and hands each to
`assert_same_as_transformers`; nanoGPT and the book have no class in `transformers`, so theirs
hand what a reference of a few lines computed to `assert_same`.
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from attention.errors import ConfigError
from attention.families.entries import NEUTRAL, Entries
from attention.implementations import IMPLEMENTATIONS
from attention.loading import load_model
from attention.model import LanguageModel

IDS = (7, 1, 2, 3, 1, 2, 3, 97, 53, 11, 5)
NUM_TOKENS = 7  # that are written
# The default tolerances of assert_close for float32, the absolute one for numbers of about 1: sums
# in another order, as another processor takes them, differ by the size of what is summed.
RTOL, ATOL = 1.3e-6, 1e-5
GAIN = 1.3  # how much longer than its input the output of a matrix is: scores of 1.7 on average


def randomised(model, *, seed=20):
    """The same model with weights of a size at which no pattern is uniform, ready to run.

    Biases and norms are moved from where they begin (0 or 1), so that none can be left out.
    """
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if parameter.dim() == 1:
                parameter.add_(0.3 * noise)
            else:
                parameter.copy_(GAIN * noise / min(parameter.shape) ** 0.5)
    return model.eval()


def from_config(config, *, seed=20):
    """A randomised causal language model of a `transformers` config, with eager attention."""
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    return randomised(model.float(), seed=seed)


def assert_same_as_transformers(
    hf_model,
    folder: Path,
    ids: Sequence[int] = IDS,
    *,
    num_tokens: int = NUM_TOKENS,
    rtol: float = RTOL,
    atol: float = ATOL,
) -> LanguageModel:
    """Save a model of `transformers`, open it here, and compare all that both compute.

    Logits, every head's pattern by every implementation that can run the model, and the tokens
    that are written greedily with a kv cache.

    Args:
        hf_model: with eager attention; see `from_config`.
        folder: an empty one.
        ids: what is read.
        num_tokens: how many are written.
        rtol: of numbers; other than the default only with its reason.
        atol: the same.

    Returns:
        the model, as it was opened here.
    """
    hf_model.eval().save_pretrained(folder)
    text = torch.tensor([list(ids)])
    with torch.no_grad():
        out = hf_model(text, output_attentions=True)
        written = hf_model.generate(
            text,
            attention_mask=torch.ones_like(text),
            min_new_tokens=num_tokens,
            max_new_tokens=num_tokens,
            do_sample=False,
            use_cache=True,
            eos_token_id=None,
            pad_token_id=0,
        )
    ours = load_model(str(folder))
    assert_same(
        ours,
        ids,
        logits=out.logits[0],
        patterns=[layer[0] for layer in out.attentions],
        rtol=rtol,
        atol=atol,
    )
    assert_writes(ours, ids, written[0].tolist())
    return ours


def assert_same(
    ours: LanguageModel,
    ids: Sequence[int],
    *,
    logits: Tensor,
    patterns: Sequence[Tensor],
    rtol: float = RTOL,
    atol: float = ATOL,
) -> None:
    """Hold what a model computes here to logits (pos, vocab) and patterns (head, query, key).

    By every implementation: the pattern that it used, where it has one, and the record's. And of
    a text whose beginning was run before.
    """
    assert_reads_on(ours, ids, logits, rtol=rtol, atol=atol)
    names = ways_of(ours)
    assert {"reference", "batched", "capture"} <= set(names)
    assert len(patterns) == ours.config.num_layers
    for name in names:
        record = ours.run(ids, implementation=name)
        close(record.logits, logits, f"logits by {name}", rtol, atol)
        used = patterns_used(ours, ids, name)
        for layer, expected in enumerate(patterns):
            assert expected.shape[0] == record.num_heads
            for head in range(record.num_heads):
                found = torch.from_numpy(record.pattern(layer, head))
                what = f"pattern of layer {layer}, head {head} by {name}"
                close(found, expected[head], f"recorded {what}", rtol, atol)
                if used:
                    close(used[layer][head], expected[head], what, rtol, atol)


def assert_reads_on(
    ours: LanguageModel, ids: Sequence[int], logits: Tensor, *, rtol: float, atol: float
) -> None:
    """Hold what is computed of a text's end, after a run that begins alike, to the same logits.

    That a text whose wavelengths depend on its length is run whole, too.
    """
    at = len(ids) // 2
    before = ours.run([*ids[:at], (ids[at] + 1) % ours.config.vocab_size, *ids[at:-1]])
    record = ours.run(ids, reuse=[before])
    ropes = [ours.config.layer(i).rope for i in range(ours.config.num_layers)]
    scalings = [rope.scaling for rope in ropes if rope is not None and rope.scaling is not None]
    varies = any(scaling.depends_on_length(len(ids)) for scaling in scalings)
    assert record.reused == (0 if varies else at)
    close(record.logits, logits, "logits after a beginning that was run before", rtol, atol)


def assert_writes(ours: LanguageModel, ids: Sequence[int], expected: Sequence[int]) -> None:
    """Hold the tokens that are written here with a kv cache, the likeliest each, to those expected.

    `expected` begins with `ids`. That every implementation reads on with a cache as it reads the
    whole is held elsewhere, for every model.
    """
    for name in sorted({ours.fastest, "batched", "capture"}):
        assert IMPLEMENTATIONS[name].has_cache
        found = ours.generate(ids, len(expected) - len(ids), implementation=name)
        assert list(found.ids) == list(expected), f"written by {name}"


def ways_of(model: LanguageModel) -> list[str]:
    """The implementations that can run a model here."""
    return [name for name in IMPLEMENTATIONS if _runs(model, name)]


def _runs(model: LanguageModel, name: str) -> bool:
    try:
        model.require(name)
    except ConfigError:
        return False
    return True


def patterns_used(model: LanguageModel, ids: Sequence[int], name: str) -> list[Tensor]:
    """The patterns (head, query, key) that an implementation computed; none if it keeps none."""
    if not IMPLEMENTATIONS[name].has_pattern:
        return []
    seen = []
    with torch.inference_mode():
        model(
            torch.tensor([list(ids)]),
            attention=model.attention_layers(name),
            watch=lambda layer: seen.append(layer.pattern[0]),
            need_pattern=True,
        )
    return seen


def close(found: Tensor, expected: Tensor, what: str, rtol: float, atol: float) -> None:
    """As assert_close, with the name of what differs.

    `atol` is of the largest number expected, where that is above 1.
    """
    atol *= max(1.0, float(expected.abs().max()))
    torch.testing.assert_close(
        found, expected, rtol=rtol, atol=atol, msg=lambda told: f"{what}: {told}"
    )


def assert_every_field_is_decided(config_class, entries: Entries) -> None:
    """Every field of a config class of `transformers` is read, refused or known to do nothing.

    What holds where an entry is missing is the default there.
    """
    defaults = {entry.name: entry.default for entry in dataclasses.fields(config_class)}
    assert set(defaults) - entries.known - set(NEUTRAL) == set()
    ours = {**entries.numbers, **{name: values[0] for name, values in entries.options.items()}}
    told = {name: value for name, value in defaults.items() if value is not None}
    differing = {
        name: (ours[name], told[name]) for name in ours if told.get(name, ours[name]) != ours[name]
    }
    assert differing == {}
