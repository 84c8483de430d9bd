"""Where a model can run here, and where it cannot and why."""

from dataclasses import dataclass
from functools import cache

import torch
from torch.nn.functional import scaled_dot_product_attention

from attention.errors import DeviceError, require_choice

DTYPES: dict[str, torch.dtype] = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}


@dataclass(frozen=True)
class Device:
    """One place to compute.

    Attributes:
        name: what torch calls it: cpu, cuda:0, mps.
        kind: cpu, cuda or mps.
        title: what a person calls it.
        dtypes: the dtypes it computes attention in; float32 first.
        why_not: why it cannot be used here; None when it can.
    """

    name: str
    kind: str
    title: str
    dtypes: tuple[str, ...] = ()
    why_not: str | None = None

    @property
    def available(self) -> bool:
        """Whether it can be used."""
        return self.why_not is None


def available_devices() -> list[Device]:
    """CPU, each CUDA device, MPS; those that are not available carry the reason."""
    return list(_devices())


@cache
def _devices() -> tuple[Device, ...]:
    return (Device("cpu", "cpu", "CPU", _working_dtypes("cpu")), *_cuda_devices(), _mps_device())


def find_device(name: str, dtype: str = "float32") -> Device:
    """The device of that name, once it is seen to be usable with the dtype.

    Args:
        name: cpu, cuda (the first), cuda:1, mps.
        dtype: a key of DTYPES.

    Raises:
        DeviceError: when the device does not exist here or lacks the dtype; says why.
    """
    require_choice("dtype", dtype, list(DTYPES))
    devices = _devices()
    wanted = [d for d in devices if name in (d.name, d.kind)]
    usable = ", ".join(d.name for d in devices if d.available)
    if not wanted:
        known = ", ".join(d.name for d in devices)
        raise DeviceError(f"device must be one of {known}; got {name!r}. Usable here: {usable}.")
    device = wanted[0]
    if device.why_not is not None:
        raise DeviceError(
            f"device {name} cannot be used here: {device.why_not}. Usable here: {usable}."
        )
    if dtype not in device.dtypes:
        raise DeviceError(
            f"dtype must be one of {', '.join(device.dtypes)} on {device.name}; got {dtype}."
        )
    return device


def _cuda_devices() -> tuple[Device, ...]:
    if torch.version.cuda is None and torch.version.hip is None:
        return (Device("cuda", "cuda", "CUDA", why_not="this build of torch has no CUDA"),)
    if not torch.cuda.is_available():
        return (Device("cuda", "cuda", "CUDA", why_not="no CUDA device or driver is found"),)
    names = [f"cuda:{i}" for i in range(torch.cuda.device_count())]
    return tuple(
        Device(name, "cuda", torch.cuda.get_device_name(name), _working_dtypes(name))
        for name in names
    )


def _mps_device() -> Device:
    if not torch.backends.mps.is_built():
        return Device("mps", "mps", "Apple GPU", why_not="this build of torch has no MPS")
    if not torch.backends.mps.is_available():
        return Device("mps", "mps", "Apple GPU", why_not="no Apple GPU is found")
    return Device("mps", "mps", "Apple GPU", _working_dtypes("mps"))


def _working_dtypes(name: str) -> tuple[str, ...]:
    return tuple(dtype for dtype in DTYPES if _attends(name, dtype))


def _attends(name: str, dtype: str) -> bool:
    """Try the operators of an attention layer on two tokens."""
    try:
        x = torch.ones(1, 1, 2, 4, device=name, dtype=DTYPES[dtype])
        pattern = (x @ x.transpose(-2, -1)).softmax(dim=-1)
        out = pattern @ x + scaled_dot_product_attention(x, x, x, is_causal=True)
        return bool(out.isfinite().all())
    except (RuntimeError, TypeError):  # how torch says that a kernel is missing
        return False
