"""The card of the model whose heads are watched while they form."""

from collections.abc import Sequence
from dataclasses import dataclass

from attention.history import History
from attention.scores import HEAD_METRICS
from attention.training.card import texts_section
from attention.training.corpus import CorpusFile
from attention.training.train import TrainSettings

HABITS = ("previous_token", "current_token", "first_token", "duplicate_token", "induction")


@dataclass(frozen=True, kw_only=True)
class FormingFacts:
    """All that the card says of one run.

    Args:
        history: every look.
        chosen: the looks whose weights are kept.
        files: the texts.
        settings: the recipe.
        parameters: weights of the model.
        seconds: spent on training and looking.
        environment: versions and threads, in one line.
    """

    history: History
    chosen: Sequence[int]
    files: list[CorpusFile]
    settings: TrainSettings
    parameters: int
    seconds: float
    environment: str


def write_forming_card(facts: FormingFacts) -> str:
    """Return the card as Markdown."""
    parts = [
        _intro(facts),
        _formed(facts),
        _checkpoints(facts),
        _recipe(facts),
        texts_section(facts.files),
    ]
    return "\n\n".join(parts) + "\n"


def _millions(tokens: int) -> str:
    return f"{tokens / 1e6:.2f}M"


def _intro(facts: FormingFacts) -> str:
    sizes, bump = facts.settings.model, facts.history.bump
    return (
        "# Headscope's model in which heads form\n\n"
        f"One training of a small attention-only model ({sizes.num_layers} layers, "
        f"{sizes.num_heads} heads, d_model {sizes.d_model}, vocabulary {sizes.vocab_size:,}, "
        f"no MLP; {facts.parameters:,} parameters), kept at {len(facts.chosen)} moments. Weights "
        "are float16, one file a moment, in a format of our own: other libraries have no such "
        "model and refuse it. Licence: Apache-2.0; the texts' own licences are below. "
        "`python -m attention forming` makes it anew.\n\n"
        f"The induction heads form between {_millions(bump.start)} and {_millions(bump.end)} "
        "tokens: there the best induction score rises from 10% to 80% of its final value.\n\n"
        "Limits: it knows nothing and writes no sentences; it is for watching heads. Letters "
        "outside ASCII were never trained on."
    )


def _formed(facts: FormingFacts) -> str:
    history = facts.history
    sizes = facts.settings.model
    lines = [
        "## When each head formed",
        "",
        "Tokens from which the head's score stays at what earns the label; on `<bos>` + R + R, "
        "where R are 50 random tokens, means over eight such texts.",
        "",
        "| head | habit | from | score at the end |",
        "|---|---|---|---|",
    ]
    for layer in range(sizes.num_layers):
        for head in range(sizes.num_heads):
            found = [
                f"| L{layer}H{head} | {HEAD_METRICS[name].label} | {_millions(since)} | "
                f"{history.looks[-1].scores[name][layer, head]:.2f} |"
                for name in HABITS
                for since in [history.formed(name, layer, head)]
                if since is not None
            ]
            lines += found or [f"| L{layer}H{head} | none | – | – |"]
    return "\n".join(lines)


def _checkpoints(facts: FormingFacts) -> str:
    lines = [
        "## Checkpoints",
        "",
        f"Chosen of {len(facts.history.looks)} looks, evenly far from each other, where the way "
        "is the mean of three shares of their final value: the log of the tokens, the best "
        "induction and the best previous-token score so far. Losses are nats a token; copies "
        "are the random tokens of the first and of the second R. `history.json` holds all looks.",
        "",
        "| tokens | step | stage | train | held out | first copy | second copy "
        "| previous | induction |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for look in (facts.history.looks[at] for at in facts.chosen):
        train = "–" if look.step == 0 else f"{look.train_loss:.3f}"
        best = [
            f"{score:.2f} (L{layer}H{head})"
            for name in ("previous_token", "induction")
            for score, layer, head in [look.best(name)]
        ]
        lines.append(
            f"| {_millions(look.tokens)} | {look.step} | {look.stage} | {train} | "
            f"{look.held_out_loss:.3f} | {look.first_copy_loss:.3f} | "
            f"{look.second_copy_loss:.3f} | {' | '.join(best)} |"
        )
    return "\n".join(lines)


def _recipe(facts: FormingFacts) -> str:
    settings = facts.settings
    lines = [
        "## Recipe",
        "",
        f"Seed {settings.seed}; {settings.tokens_per_step:,} tokens a step; AdamW (0.9, 0.98), "
        "weight decay 0.1 on matrices; gradients clipped at 1; bfloat16 autocast; a new "
        f"optimizer for each stage. {facts.seconds / 60:.0f} minutes with {facts.environment}, "
        "beside other work on the same cores.",
        "",
    ]
    for stage in settings.stages:
        end = f"{stage.max_steps:,} steps"
        if stage.until is not None:
            end = f"until a head's score is {stage.until}, at most {end}"
        rate = f"learning rate {stage.learning_rate:g}"
        if stage.hold < 1:
            rate += f" for {stage.hold:.0%} of the steps, then down to {stage.final:.0%} of it"
        lines.append(
            f"- **{stage.name}**: rows of {stage.length} tokens, {stage.mix.random:.0%} of them "
            f"random tokens repeated, {stage.mix.copies:.0%} with a passage that comes twice, the "
            f"rest plain text; {rate}; {end}."
        )
    return "\n".join(lines)
