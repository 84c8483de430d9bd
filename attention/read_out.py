"""Logits, read from the residual stream: at once where they are few, else when they are asked for.

For 4,096 tokens and GPT-2's vocabulary they are 824 MB; the residual stream is 13 MB.
"""

import copy
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from attention.errors import ModelError
from attention.implementations.base import capped
from attention.layer_cache import Stamp, stamps
from attention.memory import memory_errors_as_sentences
from attention.sampling import require_finite

AT_ONCE = 1 << 24  # bytes of logits that a record holds from the start
BLOCK = 1 << 22  # bytes of logits that are computed at a time


@dataclass(frozen=True)
class Unembedding:
    """The last part of a model: from the residual stream to logits.

    Attributes:
        norm: the last norm; None for none.
        project_out: to the width of the embeddings; None where it is the stream's own.
        weight: (vocab_size, width).
        bias: (vocab_size,); None for none.
        cap: see `ModelConfig.logit_cap`.
    """

    norm: nn.Module | None
    project_out: nn.Module | None
    weight: Tensor
    bias: Tensor | None
    cap: float | None

    def __call__(
        self, resid: Float[Tensor, "*batch d_model"]
    ) -> Float[Tensor, "*batch vocab_size"]:
        """Logits from the residual stream after the last block."""
        x = resid if self.norm is None else self.norm(resid)
        if self.project_out is not None:
            x = self.project_out(x)
        return capped(functional.linear(x, self.weight, self.bias), self.cap)

    def aside(self) -> "Unembedding":
        """One of its own on the same numbers, which stays when the model moves."""
        bias = None if self.bias is None else self.bias.detach()
        return Unembedding(
            _aside(self.norm), _aside(self.project_out), self.weight.detach(), bias, self.cap
        )

    def tensors(self) -> list[Tensor]:
        """All that it computes with."""
        parts = [part for part in (self.norm, self.project_out) if part is not None]
        own = [self.weight] if self.bias is None else [self.weight, self.bias]
        return [*own, *(p for part in parts for p in part.parameters())]


def _aside(module: nn.Module | None) -> nn.Module | None:
    if module is None:
        return None
    same = {id(p): nn.Parameter(p.detach(), requires_grad=False) for p in module.parameters()}
    return copy.deepcopy(module, same)


@dataclass(frozen=True)
class ReadOut:
    """What the logits of a text are read from, a block of positions at a time.

    Attributes:
        resid: the residual stream after the last block.
        unembedding: makes logits of it.
        stamp: of the weights at the time of the run.
        model: its name, for errors.
    """

    resid: Float[Tensor, "pos d_model"]
    unembedding: Unembedding
    stamp: Stamp
    model: str

    @classmethod
    def of(
        cls, resid: Float[Tensor, "pos d_model"], unembedding: Unembedding, model: str
    ) -> "ReadOut":
        """Of the weights as they are now; the model may move afterwards."""
        kept = unembedding.aside()
        return cls(resid, kept, stamps(kept.tensors()), model)

    @property
    def num_logits(self) -> int:
        """At each position: the vocabulary."""
        return self.unembedding.weight.shape[0]

    @property
    def nbytes(self) -> int:
        """The memory of the stream, bytes: the weights are the model's."""
        return self.resid.nbytes

    @torch.inference_mode()
    def logits(self, rows: range) -> Float[Tensor, "row vocab_size"]:
        """The logits at some positions, float32, on the CPU; computed now.

        Raises:
            ModelError: when they are not finite, or the weights have changed since the run.
            DeviceError: when there is no memory for them.
        """
        if stamps(self.unembedding.tensors()) != self.stamp:
            raise ModelError(
                f"weights of {self.model} must be those of the run to read its logits; they have "
                "changed since. Run the text again."
            )
        at_once = max(1, BLOCK // (4 * self.num_logits))
        with memory_errors_as_sentences(self.resid.device):
            out = torch.empty(len(rows), self.num_logits)
            for start in range(0, len(rows), at_once):
                some = rows[start : start + at_once]
                found = self.unembedding(self.resid[some.start : some.stop : some.step])
                out[start : start + len(some)] = found
        require_finite(out, self.model, self.resid.dtype)
        return out

    def settle(self) -> "Tensor | ReadOut":
        """All logits where they are few; else itself, with the stream and the last row checked.

        Raises:
            ModelError: when what was looked at is not finite.
            DeviceError: when there is no memory for them.
        """
        seq_len = self.resid.shape[0]
        if 4 * seq_len * self.num_logits <= AT_ONCE:
            return self.logits(range(seq_len))
        require_finite(self.resid, self.model, self.resid.dtype)
        self.logits(range(seq_len - 1, seq_len))
        return self
