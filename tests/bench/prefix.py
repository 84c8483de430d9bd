"""What an edit of the text costs when the run before is reused: against a whole run, in turns.

`python -m tests.bench.prefix` runs a text after one that has a word less, and after one whose last
eighth is another: whole, and reading on after what is the same. The models are one of GPT-2
small's size with random weights, and the embedded one. A few minutes; `--lengths 256` takes
seconds, and `--edits 5` shows how much less it helps the earlier the edit is.
"""

import os
import platform

import click
import numpy as np
import torch

from attention.benchmark.environment import cpu_model
from attention.config import AttentionConfig
from attention.difference import largest_difference
from attention.loading import load_model
from attention.model import LanguageModel
from attention.model_config import ModelConfig
from attention.timing import time_interleaved

ROUNDS = 3
SECONDS = 0.05  # at least, each
EDITS = {  # where the first changed token is, of so many
    "one word more": lambda seq_len: seq_len - 1,
    "last eighth changed": lambda seq_len: seq_len - seq_len // 8,
    "changed in the middle": lambda seq_len: seq_len // 2,
    "changed after a quarter": lambda seq_len: seq_len // 4,
    "changed after an eighth": lambda seq_len: seq_len // 8,
}


def gpt2_size(longest: int) -> LanguageModel:
    """12 layers × 12 heads, d_model 768, 50,257 tokens."""
    attention = AttentionConfig.total(768, 768, 12, longest)
    config = ModelConfig(
        vocab_size=50257,
        num_layers=12,
        d_mlp=3072,
        gated=False,
        attention=attention,
        rope=None,
        positions=longest,
        norm="layer",
        activation="gelu",
    )
    return LanguageModel(config, name="GPT-2's size").eval()


def edit(
    model: LanguageModel, seq_len: int, at: int, implementation: str
) -> dict[str, list[float]]:
    """Samples in ms of running a text whole, and of running it after another.

    Args:
        model: what to run.
        seq_len: tokens of the text.
        at: the first token in which the two differ.
        implementation: how the heads are computed.
    """
    ids = np.random.default_rng(0).integers(1, model.config.vocab_size, seq_len).tolist()
    before = model.run([*ids[:at], 0], implementation=implementation)
    calls = {
        "whole": lambda: model.run(ids, implementation=implementation),
        "reused": lambda: model.run(ids, implementation=implementation, reuse=[before]),
    }
    records = [call() for call in calls.values()]
    last = [record.logits_at(slice(-1, None)) for record in records]
    samples = time_interleaved(
        calls,
        device=model.device,
        threads=torch.get_num_threads(),
        rounds=ROUNDS,
        min_run_time=SECONDS,
    )
    whole, reused = (float(np.median(found)) for found in samples.values())
    off = largest_difference(*last)
    return (
        f"{records[1].reused:,} reused, {whole:.1f} ms whole, {reused:.1f} ms after the other: "
        f"{whole / reused:.1f} times as fast (last logits differ by {off:.0e})"
    )


@click.command()
@click.option("--lengths", default="256,1024,2048", show_default=True, help="Tokens of a text.")
@click.option("--implementation", default="sdpa", show_default=True)
@click.option("--edits", default=2, show_default=True, help="How many of the kinds of edits.")
def main(lengths: str, implementation: str, edits: int) -> None:
    """Time edits, and print each as a ratio."""
    wanted = [int(length) for length in lengths.split(",")]
    print(
        f"{cpu_model() or platform.machine()}, {torch.get_num_threads()} threads, load "
        f"{os.getloadavg()[0]:.1f}; torch {torch.__version__}, Python {platform.python_version()}; "
        f"{implementation}, medians of {ROUNDS} rounds in turns"
    )
    for model in (gpt2_size(max(wanted)), load_model("embedded")):
        print(f"{model.name}: {model.device}, {model.dtype}")
        for seq_len in wanted:
            if seq_len > model.config.context_length:
                continue
            for name in list(EDITS)[:edits]:
                told = edit(model, seq_len, EDITS[name](seq_len), implementation)
                print(f"  {seq_len:,} tokens, {name}: {told}", flush=True)


if __name__ == "__main__":
    main()
