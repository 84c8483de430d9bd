"""A readable causal language model whose heads can be computed in any way, by name."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention import running
from attention.ablation import Head, heads_by_layer
from attention.decoding import Attention, with_caches
from attention.errors import ConfigError, TextError, require_index, require_positive, require_seed
from attention.implementations import build_attention, find_implementation
from attention.implementations.base import AttentionModule
from attention.layer_cache import LayerCache, stamps
from attention.memory import memory_errors_as_sentences
from attention.model_config import ModelConfig
from attention.origin import Origin
from attention.progress import Progress
from attention.record import RunRecord
from attention.sampling import next_token, require_finite, require_temperature
from attention.tokens import Ids, Tokenizer, Tokens, read
from attention.transformer import Transformer, Watch
from attention.weights import HeadWeights


class LanguageModel(Transformer):
    """A transformer that reads text, and whose heads can be computed in any way, by name.

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
        super().__init__(config)
        self.tokenizer = tokenizer
        self.name = name
        self._built = LayerCache()

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
        self.require(implementation)
        wanted = self.config.num_heads if num_heads is None else num_heads
        require_positive("num_heads", wanted)
        if wanted > self.config.num_heads:
            raise ConfigError(f"num_heads must be at most {self.config.num_heads}; got {wanted}.")
        layers = self._built.get(
            (implementation, wanted),
            (p for block in self.blocks for p in block.get_submodule("attn").parameters()),
            lambda: [
                self._build(implementation, i, self.head_weights(i).first(wanted))
                for i in range(self.config.num_layers)
            ],
        )
        off = heads_by_layer(ablate, num_layers=self.config.num_layers, num_heads=wanted)
        for layer, heads in off.items():
            kept = self.head_weights(layer).first(wanted).without(heads)
            layers[layer] = self._build(implementation, layer, kept)
        return layers

    def require(self, implementation: str) -> None:
        """Refuse a way in which the heads of a layer cannot be computed.

        Raises:
            ConfigError: names the rule, or the choices where there is no such implementation.
        """
        entry, config = find_implementation(implementation), self.config
        layers = {(config.attention_of(i), config.turns(i)) for i in range(config.num_layers)}
        for attention, turned in layers:
            entry.require(attention, rotary=turned, device=self.device)

    @property
    def fastest(self) -> str:
        """The implementation that a run takes if none is named: PyTorch's kernel where it can."""
        try:
            self.require("sdpa")
        except ConfigError:
            return "batched"
        return "sdpa"

    def _build(self, implementation: str, layer: int, weights: HeadWeights) -> AttentionModule:
        config = replace(
            self.config.attention_of(layer),
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
        watch: Watch | None = None,
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
        return self.read_out(self.stream(ids, attention, watch=watch, need_pattern=need_pattern))

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
        implementation: str | None = None,
        ablate: Iterable[Head] = (),
        reuse: Sequence[RunRecord] = (),
        progress: Progress | None = None,
    ) -> RunRecord:
        """Run a text and keep what its heads computed.

        Args:
            text: a text, token ids, or Tokens.
            implementation: how the heads are computed, a key of IMPLEMENTATIONS; None: `fastest`.
            ablate: (layer, head) pairs to knock out.
            reuse: earlier records. Of one that was made with the same weights, in the same way,
                what the text begins with is taken and not run again; any others do no harm.
            progress: called after each layer; what it raises ends the run.

        Returns:
            the record: logits, and q, k, v of each layer.

        Raises:
            TextError: when the text cannot be run.
            ConfigError: when the implementation or an ablated head does not exist.
            ModelError: when the logits are not finite numbers.
            DeviceError: when the device has no memory left.
        """
        tokens = self.tokens(text)
        origin = self._origin(implementation or self.fastest, ablate)
        attention = self.attention_layers(origin.implementation, ablate=origin.ablate)
        with memory_errors_as_sentences(self.device):
            return running.run(self, tokens, attention, origin, reuse=reuse, progress=progress)

    def _origin(self, implementation: str, ablate: Iterable[Head]) -> Origin:
        off = heads_by_layer(
            ablate, num_layers=self.config.num_layers, num_heads=self.config.num_heads
        )
        return Origin(
            age=self._built.age,
            weights=stamps(self.parameters()),
            implementation=implementation,
            ablate=frozenset((layer, head) for layer, heads in off.items() for head in heads),
            autocast=torch.is_autocast_enabled(self.device.type),
            model=self.name,
        )

    @torch.inference_mode()
    def generate(
        self,
        text: str | Ids | Tokens,
        num_tokens: int,
        *,
        temperature: float = 0.0,
        seed: int = 0,
        implementation: str | None = None,
    ) -> Tokens:
        """Go on writing a text, token by token.

        Keys and values are computed once a token; an implementation without a kv cache reads
        everything before it anew.

        Args:
            text: what to begin with.
            num_tokens: how many tokens to add.
            temperature: 0 takes the likeliest token; 1 draws as the model expects, more evens out.
            seed: of the draw.
            implementation: how the heads are computed, a key of IMPLEMENTATIONS; None: `fastest`.

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
        implementation = implementation or self.fastest
        attention: Attention = self.attention_layers(implementation)
        cached = find_implementation(implementation).has_cache
        generator = torch.Generator().manual_seed(seed)
        ids = unread = list(prompt.ids)
        with memory_errors_as_sentences(self.device):
            if cached:
                attention = with_caches(attention, batch=1, room=len(prompt) + num_tokens)
            for _ in range(num_tokens):
                reading = torch.tensor([unread if cached else ids], device=self.device)
                start = len(ids) - len(unread) if cached else 0
                logits = self.next_logits(reading, attention, start=start)[0].float().cpu()
                require_finite(logits, self.name, self.dtype)
                unread = [next_token(logits, temperature, generator=generator)]
                ids = ids + unread
        return prompt + Tokens.from_ids(ids[len(prompt) :], self.tokenizer)
