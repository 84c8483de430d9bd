"""Opens a model from a folder, saves one, and lists those found here."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from attention.devices import find_device
from attention.errors import HeadscopeError, ModelError
from attention.families import Family, find_family
from attention.memory import memory_errors_as_sentences
from attention.model import LanguageModel
from attention.model_config import ModelConfig
from attention.tokens import Tokenizer

WEIGHTS = "model.safetensors"
EMBEDDED = Path(__file__).parent.parent / "assets" / "model"
STORED_DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
LOCAL_MODELS = Path("models")  # folders in here are listed beside the embedded model


@dataclass(frozen=True)
class KnownModel:
    """A model that was found here.

    Attributes:
        source: what to give `load_model`.
        config: its sizes; None when it cannot be opened.
        problem: why it cannot be opened; None when it can.
    """

    source: str
    config: ModelConfig | None
    problem: str | None


def load_model(
    source: str = "embedded",
    *,
    device: str = "cpu",
    dtype: torch.dtype = torch.float32,
    weights: str = WEIGHTS,
) -> LanguageModel:
    """Open a model, ready to run.

    Args:
        source: "embedded", or a folder with config.json, model.safetensors and
            tokenizer.json (without the last it takes token ids only).
        device: where it runs; see `available_devices`.
        dtype: what it computes in.
        weights: which file of the folder, where it holds several checkpoints.

    Raises:
        ModelError: when something is missing, extra, misshapen, not finite or not supported.
        DeviceError: when the device cannot be used, lacks the dtype or has no memory left.
    """
    where = find_device(device, _short(dtype))
    folder = _folder(source)
    family, config = _read_config(folder)
    names = {ours: stored.name for ours, stored in family.weights(config).items()}
    stored = _read_weights(folder / weights, names)
    tokenizer = None
    if (folder / "tokenizer.json").exists():
        tokenizer = Tokenizer.from_file(folder / "tokenizer.json")
    with memory_errors_as_sentences(torch.device(where.name)):
        model = LanguageModel(config, tokenizer, name=source)
        _check_shapes(stored, model.state_dict())
        model.load_state_dict(stored)
        return model.to(device=where.name, dtype=dtype).eval()


def save_model(
    model: LanguageModel,
    folder: Path,
    *,
    family: str = "llama",
    dtype: torch.dtype = torch.float16,
    weights: str = WEIGHTS,
) -> None:
    """Write config.json, model.safetensors and, if there is one, tokenizer.json.

    Args:
        model: what to save.
        folder: made if it does not exist.
        family: a key of FAMILIES, the format.
        dtype: what the weights are kept in.
        weights: the name of their file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    format_ = find_family(family)
    if format_.write_config is None:
        raise ModelError(f"family must be one that can be written; got {family!r}.")
    written = {**format_.write_config(model.config), "torch_dtype": _short(dtype)}
    text = json.dumps(written, indent=2) + "\n"
    _replace(folder / "config.json", lambda part: part.write_text(text, encoding="utf-8"))
    state = model.state_dict()
    tensors = {
        stored.name: state[ours].to(dtype).cpu().contiguous()
        for ours, stored in format_.weights(model.config).items()
    }
    _replace(
        folder / weights,
        lambda part: save_file(tensors, part, metadata={"format": "pt"}),
    )
    if model.tokenizer is not None:
        backend = model.tokenizer.backend
        _replace(folder / "tokenizer.json", lambda part: backend.save(str(part)))


def _replace(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file beside `path`, then let it take that name: a reader sees the old or the new."""
    part = path.with_name(f".{path.name}.part")
    try:
        write(part)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def known_models(root: Path = LOCAL_MODELS) -> list[KnownModel]:
    """The embedded model, then each folder under `root` that holds a config.json."""
    sources = ["embedded", *(str(p.parent) for p in sorted(root.glob("*/config.json")))]
    found = []
    for source in sources:
        try:
            folder = _folder(source)
            _, config = _read_config(folder)
            _require_file(folder / WEIGHTS)
            found.append(KnownModel(source, config, None))
        except HeadscopeError as error:
            found.append(KnownModel(source, None, str(error)))
    return found


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _folder(source: str) -> Path:
    folder = EMBEDDED if source == "embedded" else Path(source)
    if source == "embedded" and not folder.is_dir():
        raise ModelError(
            f"the embedded model must be in {folder}; it is not there. "
            f"Make it with `python -m attention train --out {folder}`."
        )
    if not _is_folder(folder):
        raise ModelError(
            f"model must be 'embedded' or a folder with config.json, model.safetensors and "
            f"tokenizer.json; got {source!r}, which is no folder."
        )
    return folder


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # such as a name that is too long
        return False


def _require_file(path: Path) -> None:
    if not path.is_file():
        raise ModelError(f"{path.parent} must hold {path.name}; it does not.")


def _read_config(folder: Path) -> tuple[Family, ModelConfig]:
    path = folder / "config.json"
    _require_file(path)
    try:
        parsed: Any = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError, OSError) as error:  # no JSON, no UTF-8, no access
        raise ModelError(f"{path} must be JSON; it cannot be read: {error}.") from error
    if not isinstance(parsed, Mapping):
        raise ModelError(f"{path} must hold a JSON object; it holds {type(parsed).__name__}.")
    family = find_family(parsed.get("model_type"))
    return family, family.read_config(parsed)


def _read_weights(path: Path, names: Mapping[str, str]) -> dict[str, Tensor]:
    """The tensors under our own names, in the dtype of the file.

    An `lm_head.weight` that repeats the tied embedding is let pass if it is equal to it.
    """
    _require_file(path)
    try:
        stored = load_file(path)
    except (SafetensorError, OSError) as error:
        raise ModelError(
            f"{path} must be a whole safetensors file; it cannot be read: {error}."
        ) from error
    missing = sorted(set(names.values()) - set(stored))
    if missing:
        raise ModelError(f"{path} must hold {missing[0]} ({len(missing)} names are missing).")
    head = stored.pop("lm_head.weight", None)
    if head is not None and not torch.equal(head, stored[names["embed.weight"]]):
        raise ModelError(f"lm_head.weight in {path} must equal the tied embedding; it differs.")
    extra = sorted(set(stored) - set(names.values()))
    if extra:
        raise ModelError(
            f"{path} must hold nothing unknown; got {extra[0]} ({len(extra)} such names)."
        )
    for name, tensor in stored.items():
        if tensor.dtype not in STORED_DTYPES:
            raise ModelError(
                f"{name} in {path} must be in {', '.join(_short(d) for d in STORED_DTYPES)}; "
                f"got {_short(tensor.dtype)}."
            )
        if not tensor.isfinite().all():
            raise ModelError(f"{name} in {path} must be finite; it holds NaN or infinity.")
    return {ours: stored[other] for ours, other in names.items()}


def _check_shapes(weights: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> None:
    for name, tensor in expected.items():
        if weights[name].shape != tensor.shape:
            raise ModelError(
                f"{name} must have shape {tuple(tensor.shape)} by config.json; "
                f"the file has {tuple(weights[name].shape)}."
            )
