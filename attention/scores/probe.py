"""The standard probe: random tokens, twice, on which copying heads show themselves."""

import numpy as np

from attention.errors import ConfigError
from attention.model_config import ModelConfig

PROBE_LENGTH = 50  # tokens of R


def repeated_tokens(
    config: ModelConfig, *, length: int = PROBE_LENGTH, seed: int = 0
) -> tuple[int, ...]:
    """BOS + R + R, where R is drawn uniformly from the vocabulary without BOS.

    No token comes twice in R, so that each has exactly one earlier copy in the second R. A
    model without BOS gets R + R. R is shorter where the context or the vocabulary is.

    Args:
        config: the model that will read them.
        length: tokens of R.
        seed: the same seed gives the same tokens.

    Raises:
        ConfigError: when the model has no room for two tokens twice.

    Source: Olsson et al. 2022, In-context Learning and Induction Heads.
    """
    bos = () if config.bos_token_id is None else (config.bos_token_id,)
    choices = [i for i in range(config.vocab_size) if i not in bos]
    length = min(length, (config.context_length - len(bos)) // 2, len(choices))
    if length < 2:
        raise ConfigError(
            f"length of the repeated tokens must be at least 2; got {length} for a context of "
            f"{config.context_length} tokens and a vocabulary of {config.vocab_size}."
        )
    half = np.random.default_rng(seed).choice(choices, size=length, replace=False).tolist()
    return (*bos, *half, *half)
