"""The Phi family (phi-1, phi-1.5, phi-2): attention and MLP read the stream through one norm."""

from attention.config import AttentionConfig
from attention.families.base import Config, Family, Stored, named
from attention.families.entries import (
    ACTIVATION_NAMES,
    Entries,
    activations,
    bos_of,
    head_dim_of,
)
from attention.families.rope import APART, longest, read_rope
from attention.model_config import ModelConfig

ENTRIES = Entries(
    sizes=(
        *("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads"),
        *("intermediate_size", "max_position_embeddings"),
    ),
    optional=("num_key_value_heads", "head_dim"),
    numbers={"layer_norm_eps": 1e-5},
    options={
        "hidden_act": activations("gelu_new"),
        "qk_layernorm": (False, True),
        "tie_word_embeddings": (False,),  # the read-out has a bias
    },
    apart=(*APART, "rope_theta", "partial_rotary_factor"),
    unused=("attention_dropout", "resid_pdrop", "embd_pdrop"),
)
NAMES = {  # within a block
    "norm_attn": "input_layernorm",
    "attn.W_query": "self_attn.q_proj",
    "attn.W_key": "self_attn.k_proj",
    "attn.W_value": "self_attn.v_proj",
    "attn.out_proj": "self_attn.dense",
    "mlp.up": "mlp.fc1",
    "mlp.down": "mlp.fc2",
}
QK_NORMS = {"norm_q": "self_attn.q_layernorm", "norm_k": "self_attn.k_layernorm"}


def read_config(config: Config) -> ModelConfig:
    """A Phi config.json as ours.

    Raises:
        ConfigError: when a size is missing or is no whole number of at least 1.
        ModelError: when an entry asks for something not supported.
    """
    given = ENTRIES.read(config)
    width, heads = given["hidden_size"], given["num_attention_heads"]
    head_dim = given.get("head_dim") or head_dim_of(
        width, heads, ("hidden_size", "num_attention_heads")
    )
    rope = read_rope(given, head_dim, share=0.5)
    return ModelConfig(
        vocab_size=given["vocab_size"],
        num_layers=given["num_hidden_layers"],
        d_mlp=given["intermediate_size"],
        attention=AttentionConfig(
            d_in=width,
            num_heads=heads,
            head_dim=head_dim,
            context_length=longest(given, rope),
            num_kv_heads=given.get("num_key_value_heads", heads),
            d_model=width,
            qkv_bias=True,
        ),
        rope=rope,
        qk_norm=bool(given["qk_layernorm"]),
        norm="layer",
        norm_eps=given["layer_norm_eps"],
        residual="shared",
        activation=ACTIVATION_NAMES[given["hidden_act"]],
        gated=False,
        mlp_bias=True,
        tied=False,
        unembed_bias=True,
        bos_token_id=bos_of(given, given["vocab_size"]),
    )


def weights(config: ModelConfig) -> dict[str, Stored]:
    """Our parameter names to Phi's."""
    found = {
        "embed.weight": Stored("model.embed_tokens.weight"),
        **named("norm", "model.final_layernorm"),
        **named("unembed", "lm_head"),
    }
    names = {**NAMES, **(QK_NORMS if config.qk_norm else {})}
    for i in range(config.num_layers):
        for ours, theirs in names.items():
            found |= named(f"blocks.{i}.{ours}", f"model.layers.{i}.{theirs}")
    return found


FAMILY = Family("phi", read_config, weights, spare=(r".*rotary_emb\.inv_freq",), prefix="model.")
