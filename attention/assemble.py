"""A checkpoint into a model: names and shapes checked from headers, then one tensor at a time."""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from attention.blank import blank_model
from attention.checkpoint import Checkpoint
from attention.errors import ModelError, require_positive
from attention.families import Family, Stored, find_family
from attention.memory import memory_errors_as_sentences
from attention.model import LanguageModel
from attention.model_config import ModelConfig
from attention.sizes import shape_of
from attention.sources.stored import StoredTensor, StoredTensors

STORED_DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
HEADS = ("lm_head.weight", "embed_out.weight")  # a read-out that may repeat a tied embedding
HEAD_COUNTS = ("num_attention_heads", "n_head", "num_heads", "n_heads")  # what configs call it
LAYER_COUNTS = ("num_hidden_layers", "n_layer", "num_layers", "n_layers")
MOST_LAYERS = 10_000  # more is a broken file, not a model
NAMED = 3  # so many names in an error; the rest is counted
Progress = Callable[[int, int], None]  # bytes done, bytes in all
Places = dict[str, list[tuple[str, Stored]]]  # by a tensor's name: our parameters from it


def place_weights(checkpoint: Checkpoint, family: Family, config: ModelConfig) -> Places:
    """Where each of our parameters is, checked by names, shapes and dtypes; reads no tensor.

    Raises:
        ModelError: when one is missing, extra, misshapen or in no float dtype; names it.
    """
    entries, where = stored_tensors(checkpoint).entries, checkpoint.where
    wanted = family.stored(config, entries)
    used = {place.name for place in wanted.values()}
    missing = [name for name in used if name not in entries]
    if missing:
        raise ModelError(f"{where} must hold {_some(missing)}; missing by its config.")
    extra = [name for name in entries if name not in used and not _spare(name, family, config)]
    if extra:
        raise ModelError(f"{where} must hold nothing unknown to its config; got {_some(extra)}.")
    places: Places = defaultdict(list)
    for ours, place in wanted.items():
        shape = place.shape or shape_of(config, ours)
        assert shape is not None, f"{family.name} names {ours}, which no model has"
        _check(place.name, entries[place.name], shape, where)
        places[place.name].append((ours, place))
    return dict(places)


def read_config(
    config: Mapping[str, Any], *, num_heads: int | None = None
) -> tuple[Family, ModelConfig]:
    """Whose checkpoint a config is of, and its sizes in our terms.

    Args:
        config: as in a config.json.
        num_heads: of a config that doesn't say it.

    Raises:
        ModelError: when it asks for what is not supported; names it.
    """
    if config.get("quantization_config"):
        raise ModelError(
            "quantization_config in config.json must be absent; this model's weights are packed. "
            "Take its unquantised weights, or a GGUF file of it."
        )
    for name in LAYER_COUNTS:
        layers = config.get(name)
        if isinstance(layers, int) and layers > MOST_LAYERS:
            raise ModelError(f"{name} in config.json must be at most {MOST_LAYERS}; got {layers}.")
    family = find_family(config.get("model_type"))
    if num_heads is not None:
        require_positive("num_heads", num_heads)
        told = [config[name] for name in HEAD_COUNTS if config.get(name) is not None]
        if told and told[0] != num_heads:
            raise ModelError(
                f"num_heads must be left out, as the model itself says {told[0]}; got {num_heads}."
            )
        config = config if told else {**config, "n_heads": num_heads}
    return family, family.read_config(config)


def stored_tensors(checkpoint: Checkpoint) -> StoredTensors:
    """The tensors of a checkpoint with what their headers say."""
    tensors = checkpoint.tensors
    return tensors if isinstance(tensors, StoredTensors) else StoredTensors.of(tensors)


def _some(names: list[str]) -> str:
    names = sorted(names)
    rest = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + rest


def _spare(name: str, family: Family, config: ModelConfig) -> bool:
    if config.tied and name in HEADS:
        return True
    return any(re.fullmatch(pattern, name) for pattern in family.spare)


def _check(name: str, entry: StoredTensor, shape: tuple[int, ...], where: str) -> None:
    if entry.shape != shape:
        raise ModelError(
            f"{name} in {where} must have shape {shape} by its config; it has {entry.shape}."
        )
    kind = getattr(torch, entry.dtype, None)  # none for GGUF's own, which become float32
    if isinstance(kind, torch.dtype) and kind not in STORED_DTYPES:
        raise ModelError(
            f"{name} in {where} must be in {', '.join(map(short, STORED_DTYPES))}; "
            f"got {entry.dtype}."
        )


def _check_heads(checkpoint: Checkpoint, places: Places) -> None:
    """A tied model's file may hold the embedding again as the read-out: then the same one."""
    embedding = next(
        name for name, taken in places.items() if any(ours == "embed.weight" for ours, _ in taken)
    )
    for name in HEADS:
        if name in checkpoint.tensors and name not in places:
            repeated, first = checkpoint.tensors[name], checkpoint.tensors[embedding]
            if repeated.shape != first.shape or not torch.equal(repeated, first):
                raise ModelError(
                    f"{name} in {checkpoint.where} must equal {embedding}, as its config ties "
                    "them; it differs."
                )


def fill(
    checkpoint: Checkpoint,
    places: Places,
    config: ModelConfig,
    *,
    device: str,
    dtype: torch.dtype,
    progress: Progress | None = None,
) -> LanguageModel:
    """Read the tensors one by one into a model: more than one is never held beside it.

    Args:
        checkpoint: what is read.
        places: of `place_weights`.
        config: of the model.
        device: where it will run.
        dtype: what it computes in.
        progress: told of bytes read and bytes in all; may raise to stop.

    Raises:
        ModelError: when a number is NaN or infinite, or becomes so in `dtype`.
        DeviceError: when the memory is not enough.
    """
    entries = stored_tensors(checkpoint).entries
    total, done = sum(entries[name].num_bytes for name in places), 0
    state: dict[str, Tensor] = {}
    with (
        memory_errors_as_sentences(torch.device(device)),
        torch.inference_mode(mode=False),
        torch.no_grad(),
    ):
        _check_heads(checkpoint, places)
        for name, taken in places.items():
            tensor = entries[name].read()
            for ours, place in taken:
                state[ours] = _kept(place.read(tensor), device, dtype)
                _check_finite(state[ours], tensor, name, checkpoint.where)
            del tensor
            done += entries[name].num_bytes
            if progress is not None:
                progress(done, total)
        model = blank_model(config, checkpoint.tokenizer, name=checkpoint.name)
        model.load_state_dict(state, assign=True)
        return model.to(device=device, dtype=dtype).eval()


def _kept(tensor: Tensor, device: str, dtype: torch.dtype) -> Tensor:
    """A copy of its own: what was read may be a view of a file that changes."""
    return torch.empty(tensor.shape, device=device, dtype=dtype).copy_(tensor)


def _check_finite(kept: Tensor, tensor: Tensor, name: str, where: str) -> None:
    if kept.sum(dtype=torch.float32).isfinite() or kept.isfinite().all():
        return  # the sum takes a third of the time, and tells all but sums that are too large
    if tensor.isfinite().all():
        raise ModelError(
            f"{name} in {where} must be within {short(kept.dtype)}; it holds up to "
            f"{tensor.abs().max():.3g}. Take bfloat16 or float32."
        )
    raise ModelError(f"{name} in {where} must be finite; it holds NaN or infinity.")


def short(dtype: torch.dtype) -> str:
    """A dtype without torch's own name before it."""
    return str(dtype).removeprefix("torch.")
