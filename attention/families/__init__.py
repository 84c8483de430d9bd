"""Which checkpoints can be opened: one file and one line a family."""

from attention.errors import ModelError, shown
from attention.families import (
    attention_only,
    book,
    gemma,
    gemma2,
    gemma3,
    gemma3_multimodal,
    gpt2,
    gpt_neox,
    llama,
    mistral,
    nanogpt,
    opt,
    phi,
    qwen2,
    qwen3,
    smollm3,
)
from attention.families.base import Family, Stored

FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        llama.FAMILY,
        mistral.FAMILY,
        qwen2.FAMILY,
        qwen3.FAMILY,
        smollm3.FAMILY,
        gemma.FAMILY,
        gemma2.FAMILY,
        gemma3.FAMILY,
        gemma3_multimodal.FAMILY,
        gpt2.FAMILY,
        nanogpt.FAMILY,
        gpt_neox.FAMILY,
        phi.FAMILY,
        opt.FAMILY,
        book.FAMILY,
        attention_only.FAMILY,
    )
}


def find_family(model_type: object) -> Family:
    """The family of a config.json's `model_type`.

    Raises:
        ModelError: when it is not one that can be opened; lists those that can.
    """
    if not isinstance(model_type, str) or model_type not in FAMILIES:
        raise ModelError(
            f"model_type must be one of {', '.join(FAMILIES)}; got {shown(model_type)}."
        )
    return FAMILIES[model_type]


__all__ = ["FAMILIES", "Family", "Stored", "find_family"]
