"""First weights: small normal matrices, smaller where a block writes to the stream."""

import torch
from torch import nn

from attention.model import LanguageModel

STD = 0.02
WRITERS = ("attn.out_proj.weight", "mlp.down.weight")


def initialise(model: LanguageModel, generator: torch.Generator) -> None:
    """Draw matrices from N(0, 0.02²), clear biases, leave norms at one.

    The two matrices of a block that add to the residual stream are divided by
    sqrt(2 * num_layers), so that the stream does not grow with the depth.

    Source: Radford et al. 2019 (GPT-2), section 2.3.
    """
    shrink = (2 * model.config.num_layers) ** -0.5
    for name, parameter in model.named_parameters():
        if parameter.dim() >= 2:
            std = STD * shrink if name.endswith(WRITERS) else STD
            nn.init.normal_(parameter, std=std, generator=generator)
        elif name.endswith("bias"):
            nn.init.zeros_(parameter)
