"""A readable causal language model whose heads can be computed in any way, by name."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from attention.ablation import Head, heads_by_layer
from attention.blocks import Block, LayerObservation
from attention.decoding import Attention, with_caches
from attention.errors import ConfigError, TextError, require_index, require_positive, require_seed
from attention.implementations import build_attention, find_implementation
from attention.implementations.base import AttentionModule
from attention.layer_cache import LayerCache
from attention.memory import memory_errors_as_sentences
from attention.model_config import ModelConfig
from attention.record import LayerRecord, PatternRule, RunRecord
from attention.rotary import Rotary
from attention.sampling import next_token, require_finite, require_temperature
from attention.tokens import Ids, Tokenizer, Tokens, read
from attention.weights import HeadWeights


class LanguageModel(nn.Module):
    """Embedding, blocks, norm, and the embedding again as the read-out.

    The parameters are those of the `batched` implementation; every other one is built from
    them when it is first asked for and kept. Nothing in a run changes the model, so threads
    may share it.

    Args:
        config: its sizes.
        tokenizer: how it reads text; None for one that takes token ids only.
        name: what a person sees.
    """

    def __init__(
        self, config: ModelConfig, tokenizer: Tokenizer | None = None, *, name: str = "model"
    ) -> None:
        super().__init__()
        self.config = config
        self.tokenizer = tokenizer
        self.name = name
        self.embed = nn.Embedding(config.vocab_size, config.d_model)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.num_layers))
        self.norm = nn.RMSNorm(config.d_model, eps=config.norm_eps)
        self.rotary = Rotary(
            config.attention.head_dim, config.context_length, theta=config.rope_theta
        )
        self._built = LayerCache()

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.embed.weight.device

    @property
    def dtype(self) -> torch.dtype:
        """What the weights are kept and computed in."""
        return self.embed.weight.dtype

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "LanguageModel":
        self._built.clear()  # they share the parameters that are about to move
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        return self

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> Any:  # noqa: ANN401 - torch's own, a named tuple without a public name
        """As `nn.Module.load_state_dict`; also forgets implementations built from older weights."""
        self._built.clear()
        return super().load_state_dict(state_dict, strict, assign)

    def train(self, mode: bool = True) -> "LanguageModel":
        """As `nn.Module.train`; also forgets implementations built from older weights."""
        self._built.clear()
        return super().train(mode)

    def head_weights(self, layer: int) -> HeadWeights:
        """The weights of one layer's heads.

        Raises:
            ConfigError: when there is no such layer.
        """
        index = require_index("layer", layer, self.config.num_layers)
        attn = self.blocks[index].get_submodule("attn")
        assert isinstance(attn, AttentionModule)  # a Block builds no other
        return attn.head_weights()

    @torch.inference_mode(mode=False)  # or training could not use what a run has built
    def attention_layers(
        self,
        implementation: str,
        *,
        ablate: Iterable[Head] = (),
        num_heads: int | None = None,
    ) -> list[AttentionModule]:
        """Each block's attention, computed in the chosen way.

        Args:
            implementation: a key of IMPLEMENTATIONS.
            ablate: (layer, head) pairs whose output is dropped before it joins the stream.
            num_heads: keep only the first so many heads of each layer; None for all.

        Raises:
            ConfigError: when a name, layer or head does not exist, or the heads of this model
                cannot be computed in that way.
        """
        find_implementation(implementation).require(
            self.config.attention, rotary=True, device=self.device
        )
        wanted = self.config.num_heads if num_heads is None else num_heads
        require_positive("num_heads", wanted)
        if wanted > self.config.num_heads:
            raise ConfigError(f"num_heads must be at most {self.config.num_heads}; got {wanted}.")
        layers = self._built.get(
            (implementation, wanted),
            (p for block in self.blocks for p in block.get_submodule("attn").parameters()),
            lambda: [
                self._build(implementation, self.head_weights(i).first(wanted))
                for i in range(self.config.num_layers)
            ],
        )
        off = heads_by_layer(ablate, num_layers=self.config.num_layers, num_heads=wanted)
        for layer, heads in off.items():
            kept = self.head_weights(layer).first(wanted).without(heads)
            layers[layer] = self._build(implementation, kept)
        return layers

    def _build(self, implementation: str, weights: HeadWeights) -> AttentionModule:
        config = replace(
            self.config.attention,
            num_heads=weights.num_heads,
            num_kv_heads=weights.W_K.shape[0],
            dropout=0.0,
        )
        return build_attention(
            implementation, config, weights, device=self.device, dtype=self.dtype
        )

    def forward(
        self,
        ids: Int[Tensor, "batch pos"],
        *,
        attention: Attention | None = None,
        watch: Callable[[LayerObservation], None] | None = None,
        need_pattern: bool = False,
    ) -> Float[Tensor, "batch pos vocab_size"]:
        """Logits for the token after each position.

        Args:
            ids: token ids.
            attention: one a block, of `attention_layers`; None: its own, or `capture` for patterns.
            watch: called once a layer with what it computed.
            need_pattern: whether `watch` gets the pattern that the implementation used.
        """
        if attention is None:
            shown = need_pattern and not self.training and not torch.is_grad_enabled()
            own = [block.get_submodule("attn") for block in self.blocks]
            attention = self.attention_layers("capture") if shown else own
        resid = self._stream(ids, attention, watch, need_pattern)
        return functional.linear(self.norm(resid), self.embed.weight)

    def next_logits(
        self, ids: Int[Tensor, "batch pos"], attention: Attention
    ) -> Float[Tensor, "batch vocab_size"]:
        """As `forward`, for the token after the last position only."""
        last = self._stream(ids, attention)[:, -1]
        return functional.linear(self.norm(last), self.embed.weight)

    def _stream(
        self,
        ids: Tensor,
        attention: Attention,
        watch: Callable[[LayerObservation], None] | None = None,
        need_pattern: bool = False,
    ) -> Tensor:
        resid: Tensor = self.embed(ids)  # batch pos d_model
        for block, attn in zip(self.blocks, attention, strict=True):
            resid = block(resid, self.rotary, attn, watch, need_pattern)
        return resid

    def tokens(self, text: str | Ids | Tokens) -> Tokens:
        """Read a text, or take token ids, and check that the model can run them.

        Raises:
            TextError: when it is empty, too long, holds ids outside the vocabulary, or the
                model has no tokenizer to read text with.
        """
        tokens = read(text, self.tokenizer, self.name)
        if len(tokens.ids) > self.config.context_length:
            raise TextError(
                f"text must be at most {self.config.context_length} tokens long for {self.name}; "
                f"got {len(tokens.ids)}. Shorten it."
            )
        outside = [i for i in tokens.ids if not 0 <= i < self.config.vocab_size]
        if outside:
            raise TextError(
                f"token ids must be 0 to {self.config.vocab_size - 1}; got {outside[0]}."
            )
        return tokens

    @torch.inference_mode()
    def run(
        self,
        text: str | Ids | Tokens,
        *,
        implementation: str = "sdpa",
        ablate: Iterable[Head] = (),
    ) -> RunRecord:
        """Run a text and keep what its heads computed.

        Args:
            text: a text, token ids, or Tokens.
            implementation: how the heads are computed; a key of IMPLEMENTATIONS.
            ablate: (layer, head) pairs to knock out.

        Returns:
            the record: logits, and q, k, v of each layer.

        Raises:
            TextError: when the text cannot be run.
            ConfigError: when the implementation or an ablated head does not exist.
            ModelError: when the logits are not finite numbers.
            DeviceError: when the device has no memory left.
        """
        tokens = self.tokens(text)
        attention = self.attention_layers(implementation, ablate=ablate)
        rule = PatternRule(scale=self.config.attention.scale)
        layers: list[LayerRecord] = []

        def keep(seen: LayerObservation) -> None:
            layers.append(LayerRecord(seen.qkv.q[0], seen.qkv.k[0], seen.qkv.v[0], rule))

        with memory_errors_as_sentences(self.device):
            ids = torch.tensor([tokens.ids], device=self.device)
            logits = self(ids, attention=attention, watch=keep)[0].float().cpu()
        require_finite(logits, self.name, self.dtype)
        return RunRecord(tokens, logits, tuple(layers), implementation)

    @torch.inference_mode()
    def generate(
        self,
        text: str | Ids | Tokens,
        num_tokens: int,
        *,
        temperature: float = 0.0,
        seed: int = 0,
        implementation: str = "sdpa",
    ) -> Tokens:
        """Go on writing a text, token by token.

        Keys and values are computed once a token; an implementation without a kv cache reads
        everything before it anew.

        Args:
            text: what to begin with.
            num_tokens: how many tokens to add.
            temperature: 0 takes the likeliest token; 1 draws as the model expects, more evens out.
            seed: of the draw.
            implementation: how the heads are computed; a key of IMPLEMENTATIONS.

        Returns:
            the tokens of `text` and those added, which have no span in it.

        Raises:
            TextError: when the text cannot be run, or the context has no room for more.
            ConfigError: when num_tokens, temperature, seed or implementation is none.
            ModelError: when the logits are not finite numbers.
            DeviceError: when the device has no memory left.
        """
        require_positive("num_tokens", num_tokens)
        require_temperature(temperature)
        require_seed(seed)
        prompt = self.tokens(text)
        if len(prompt) + num_tokens > self.config.context_length:
            raise TextError(
                f"text and added tokens must be at most {self.config.context_length} together; "
                f"got {len(prompt)} and {num_tokens}."
            )
        attention: Attention = self.attention_layers(implementation)
        cached = find_implementation(implementation).has_cache
        generator = torch.Generator().manual_seed(seed)
        ids = unread = list(prompt.ids)
        with memory_errors_as_sentences(self.device):
            if cached:
                attention = with_caches(attention, batch=1, room=len(prompt) + num_tokens)
            for _ in range(num_tokens):
                reading = torch.tensor([unread if cached else ids], device=self.device)
                logits = self.next_logits(reading, attention)[0].float().cpu()
                require_finite(logits, self.name, self.dtype)
                unread = [next_token(logits, temperature, generator=generator)]
                ids = ids + unread
        return prompt + Tokens.from_ids(ids[len(prompt) :], self.tokenizer)
