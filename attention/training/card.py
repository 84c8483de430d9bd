"""The model card: what the model is, what it was trained on, how, and what came out."""

from dataclasses import dataclass

from attention.scores import HEAD_METRICS, HeadTable
from attention.training.checkpoint import LogEntry
from attention.training.corpus import CorpusFile
from attention.training.evaluate import best_head
from attention.training.measure import Reading
from attention.training.sources import WRITTEN
from attention.training.stages import Stage

LOG_LINES = 24


@dataclass(frozen=True, kw_only=True)
class CardFacts:
    """All that the card says of one training run.

    Args:
        files: the texts.
        stages: the recipe.
        seed: of the run.
        tokens_per_step: rows times their length.
        parameters: weights of the model.
        log: the run's log.
        scores: every head's scores on repeated random tokens, by metric.
        on_text: the same on today's sentences.
        copy_accuracy: on repeated random tokens.
        held_out: each text's end, by its name, read by this model.
        compared: the same texts read by an earlier model, or None.
        samples: prompts and what the model wrote after them.
        finished: whether every stage is done.
        environment: versions and threads, in one line.
    """

    files: list[CorpusFile]
    stages: tuple[Stage, ...]
    seed: int
    tokens_per_step: int
    parameters: int
    log: list[LogEntry]
    scores: dict[str, HeadTable]
    on_text: dict[str, HeadTable]
    copy_accuracy: float
    held_out: dict[str, Reading]
    compared: dict[str, Reading] | None
    samples: list[tuple[str, str]]
    finished: bool
    environment: str


def write_card(facts: CardFacts) -> str:
    """Return the card as Markdown."""
    parts = [
        _intro(facts),
        _results(facts),
        _heads(facts.scores),
        _samples(facts.samples),
        _limits(facts.files),
        texts_section(facts.files),
        _recipe(facts),
        _log(facts.log),
    ]
    return "\n\n".join(parts) + "\n"


def _intro(facts: CardFacts) -> str:
    state = "" if facts.finished else "\n\n**Not finished: taken out between two stages.**"
    return (
        "# Headscope's embedded model\n\n"
        f"A small Llama-style language model ({facts.parameters / 1e6:.2f}M parameters) made to "
        "have heads worth looking at: previous-token heads in the first layer, induction heads "
        "above them. It opens as a `LlamaForCausalLM` folder; weights are float16. Licence: "
        "Apache-2.0; the texts' own licences are below. "
        "`python -m attention train` makes it anew." + state
    )


def _results(facts: CardFacts) -> str:
    best = [
        f"| best head{on}, {metric.replace('_', ' ')} | {score:.3f} (layer {layer}, head {head}) |"
        for on, tables in (("", facts.scores), (" on today's sentences", facts.on_text))
        for metric, table in tables.items()
        for score, layer, head in [best_head(table)]
    ]
    lines = [
        "## What came out",
        "",
        "| measure | value |",
        "|---|---|",
        f"| repeated random tokens guessed right | {facts.copy_accuracy:.3f} |",
        *best,
        "",
        *(f"{line}\n" for line in missing_kinds(facts.scores)),
        _losses(facts),
    ]
    return "\n".join(lines)


def missing_kinds(scores: dict[str, HeadTable]) -> list[str]:
    """Say of which kinds of head there is none."""
    return [
        f"On repeated random tokens no head is a {HEAD_METRICS[name].label} head: the best "
        f"score is {best_head(table)[0]:.2f}, under {HEAD_METRICS[name].threshold:g}."
        for name, table in scores.items()
        if best_head(table)[0] < HEAD_METRICS[name].threshold
    ]


def _losses(facts: CardFacts) -> str:
    """The loss a character can be compared between tokenizers; the loss a token cannot."""
    earlier = facts.compared or {}
    lines = [
        "On text that the training never sees: the end of every text, and forty sentences of "
        "today that are in none of them.",
        "",
        "| held out | nats a token | characters a token | bits a character "
        + ("| model compared with, bits a character |" if earlier else "|"),
        "|---|---|---|---|" + ("---|" if earlier else ""),
    ]
    for name, read in facts.held_out.items():
        cells = [
            name,
            f"{read.nats_per_token:.3f}",
            f"{read.characters_per_token:.2f}",
            f"{read.bits_per_character:.3f}",
        ]
        if earlier:
            cells.append(f"{earlier[name].bits_per_character:.3f}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _heads(scores: dict[str, HeadTable]) -> str:
    layers, heads = next(iter(scores.values())).shape
    lines = [
        "## Every head",
        "",
        "On `<bos>` + R + R, where R are 50 random tokens, means over eight such texts. "
        "Everything but the entropy is a mean weight: on (i, i-1), (i, i), (i, 0), and over the "
        "second R on (i, i-50) for duplicate tokens and (i, i-49) for induction.",
        "",
        f"| head | {' | '.join(HEAD_METRICS[name].title for name in scores)} |",
        "|---|" + "---|" * len(scores),
    ]
    for layer in range(layers):
        for head in range(heads):
            cells = [_cell(name, float(table[layer, head])) for name, table in scores.items()]
            lines.append(f"| L{layer}H{head} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(metric: str, score: float) -> str:
    return f"**{score:.2f}**" if score >= HEAD_METRICS[metric].threshold else f"{score:.2f}"


def _samples(samples: list[tuple[str, str]]) -> str:
    lines = [f"> **{prompt}**{' '.join(text.split(chr(10)))}" for prompt, text in samples]
    return "## Samples\n\nTemperature 0.7, the 30 likeliest tokens, seed 0.\n\n" + "\n\n".join(
        lines
    )


def _limits(files: list[CorpusFile]) -> str:
    written = any(file.source in WRITTEN for file in files)
    modern = (
        "- Part of its text was written by another small model, mistakes included.\n"
        if written
        else "- The texts are mostly old; words such as *website* are split into pieces.\n"
    )
    return (
        "## Limits\n\n"
        "- It writes in the manner of its texts, and knows nothing: use it to study heads, "
        "not to learn facts.\n"
        "- Letters outside ASCII were never trained on, and come as single bytes.\n"
        f"{modern}"
        "- Old texts hold the prejudices of their time, and so may what it writes.\n"
        "- At most 256 tokens."
    )


def texts_section(files: list[CorpusFile]) -> str:
    """Return the part about the texts: where each comes from, its licence, its hashes."""
    lines = [
        "## Texts",
        "",
        "| text | package | licence | weight |",
        "|---|---|---|---|",
    ]
    for file in files:
        source = file.source
        package = source.package
        lines.append(
            f"| {source.title} | {package.client}: `{package.name}` {package.version} | "
            f"{source.licence}. {source.provenance} | {source.weight} |"
        )
    lines += ["", "SHA-256 of the packages, and of the clean texts read from them:", "", "```"]
    for file in files:
        lines += [
            f"{file.archive_sha256}  {file.source.package.name}",
            f"{file.text_sha256}  {file.source.name}.txt",
        ]
    lines += ["```", "", "WordNet's notice is in `assets/licences/wordnet.txt`."]
    return "\n".join(lines)


def _recipe(facts: CardFacts) -> str:
    lines = [
        "## Recipe",
        "",
        f"Seed {facts.seed}; {facts.tokens_per_step:,} tokens a step; "
        "gradients clipped at 1; weight decay 0.1 on matrices; bfloat16 autocast; a new optimizer "
        "for each stage: AdamW has betas 0.9 and 0.98; Muon moves the matrices of the blocks, and "
        f"AdamW the rest. {facts.environment}",
        "",
        "| stage | tokens a row | repeated random | mirrored random | copied passages "
        "| heads | optimizer | learning rate | ends |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for stage in facts.stages:
        fall = (
            f"{stage.learning_rate:g} to {stage.hold:.0%} of the steps, then falls to "
            f"{stage.final:.0%}"
            if stage.hold < 1
            else f"{stage.learning_rate:g}, constant"
        )
        gate = "by steps" if stage.until is None else str(stage.until)
        lines.append(
            f"| {stage.name} | {stage.length} | {stage.mix.random:.0%}, of which "
            f"{stage.mix.from_pool:.0%} of the 512 commonest | {stage.mix.mirrored:.0%} | "
            f"{stage.mix.copies:.0%} | {_heads_of(stage)} | {stage.optimizer} | {fall} | "
            f"{gate}, at most {stage.max_steps:,} steps |"
        )
    return "\n".join(lines)


def _heads_of(stage: Stage) -> str:
    """What is done to heads besides training them."""
    anew = [f"L{layer}H{head} begins anew" for layer, head in stage.restarted]
    left_out = [f"each left out of {stage.drop_heads:.0%} of the rows"] if stage.drop_heads else []
    return ", ".join(anew + left_out) or "all"


def _log(log: list[LogEntry]) -> str:
    lines = [
        "## Log",
        "",
        "Minutes count while the training ran, whatever else used the machine at the same time.",
        "",
        "| stage | step | tokens | minutes | train | held out | copies "
        "| previous | induction | first | duplicate |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {entry.stage} | {entry.step} | {entry.tokens / 1e6:.2f}M | "
        f"{entry.seconds / 60:.1f} | {entry.train_loss:.3f} | {entry.loss:.3f} | "
        f"{entry.copy_accuracy:.2f} | {entry.previous:.2f} | {entry.induction:.2f} | "
        f"{entry.first:.2f} | {entry.duplicate:.2f} |"
        for entry in thinned(log)
    ]
    return "\n".join(lines)


def thinned(log: list[LogEntry], most: int = LOG_LINES) -> list[LogEntry]:
    """Return about ``most`` lines of the log, evenly spaced, the last one among them."""
    every = max(1, -(-len(log) // most))
    return list(reversed(log[::-1][::every]))
