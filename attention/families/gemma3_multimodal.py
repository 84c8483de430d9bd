"""The Gemma 3 models that read images too, opened as what reads their text.

Leaves out the part that reads images: a text is read as the whole model reads it without one.
"""

from collections.abc import Mapping
from dataclasses import replace

from attention.errors import ModelError, shown
from attention.families import gemma3, kin
from attention.families.base import Config, Family, Stored
from attention.model_config import ModelConfig

TEXT = "text_config"  # the entry that holds a Gemma 3 config of its own
PREFIX = "language_model."  # of the tensors that belong to it


def read_config(config: Config) -> ModelConfig:
    """A config.json of such a model as ours.

    Raises:
        ConfigError: when a size is no whole number of at least 1.
        ModelError: when there is no text_config, or an entry asks for something not supported.
    """
    text = config.get(TEXT)
    if not isinstance(text, Mapping):
        raise ModelError(f"{TEXT} in config.json must be an object; got {shown(text)}.")
    for told in (config, text):
        if told.get("tie_word_embeddings") not in (None, True):
            raise ModelError(
                "tie_word_embeddings must be True for a Gemma 3 that reads images to be shown "
                f"right; got {shown(told['tie_word_embeddings'])}."
            )
    if (cap := text.get("final_logit_softcapping")) is not None:  # transformers doesn't heed it
        raise ModelError(
            f"final_logit_softcapping must be left out to be shown right; got {shown(cap)}."
        )
    return gemma3.read_config(text)


def weights(config: ModelConfig) -> dict[str, Stored]:
    """Our parameter names to those of its part that reads text."""
    return {
        ours: replace(stored, name=PREFIX + stored.name)
        for ours, stored in kin.weights_plus_one(config).items()
    }


FAMILY = Family(
    "gemma3",
    read_config,
    weights,
    spare=(*kin.SPARE, r"vision_tower\..*", r"multi_modal_projector\..*"),
)
