"""First weights: small normal matrices, smaller where a block writes to the stream."""

import torch
from torch import nn

from attention.errors import ConfigError, require_index
from attention.implementations.base import AttentionModule
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


@torch.no_grad()
def restart_head(model: LanguageModel, layer: int, head: int, generator: torch.Generator) -> None:
    """Let one head begin anew, silent at first: its q, k, v drawn as above, its rows of W_O zero.

    Raises:
        ConfigError: there is no such layer or head, or heads share their keys.
    """
    weights = model.head_weights(layer)
    require_index("head", head, weights.num_heads)
    if weights.W_K.shape[0] != weights.num_heads:
        raise ConfigError("restarted must name heads with keys of their own; these share them.")
    fresh = weights.map(torch.clone)
    for name, part in fresh.parts().items():
        if part is None or name == "b_O":
            continue
        if name in ("W_Q", "W_K", "W_V"):
            part[head].normal_(std=STD, generator=generator)
        else:  # biases, and what the head adds to the stream
            part[head].zero_()
    attention = model.blocks[layer].get_submodule("attn")
    assert isinstance(attention, AttentionModule)  # a Block builds no other
    attention.load_state_dict(fresh.to_state_dict(attention.layout))
