"""The C core in this process: loaded, called, and held to exact results before it is trusted."""

import ctypes
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from attention.capture.scan import ScanJob, Scanner, Wanted, scan_difference

LARGE_BYTES = 8 << 20  # a pattern of more is written past the caches
# Weights. Fewer are not worth a second thread, nor letting Python's other threads run meanwhile: a
# tenth of a millisecond's work waited up to 60 ms for its turn again while a page was being sent.
FEWEST_CELLS = 1 << 14
LONGEST_STRIDE = (1 << 31) - 1  # a BLAS counts in 32 bits
# Batch, heads, kv heads, queries, keys, head_dim: every branch of the core, in a few milliseconds.
TRIED = ((2, 3, 3, 67, 67, 5), (1, 4, 2, 150, 150, 64), (1, 2, 1, 1, 37, 16), (1, 1, 1, 1, 1, 1))
PATTERN_TOLERANCE, Z_TOLERANCE = 1e-6, 1e-5


class _Job(ctypes.Structure):
    """`struct job` of core.c."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("q", "k", "v", "z", "pattern")),
        *((f"{name}_strides", ctypes.c_int64 * 3) for name in "qkv"),
        *(
            (name, ctypes.c_int64)
            for name in ("batch", "heads", "kv_heads", "head_dim", "queries", "keys", "block")
        ),
        *((name, ctypes.c_int64) for name in ("start", "threads", "large")),
        ("sgemm", ctypes.c_void_p),
        ("scale", ctypes.c_float),
    )


class NativeCore:
    """A compiled core.

    Args:
        library: the file.
        blas: whether the matrix product is torch's BLAS; else it is plain C.

    Raises:
        OSError: when the file cannot be loaded, or torch's BLAS is not to be had.
    """

    def __init__(self, library: Path, *, blas: bool) -> None:
        loaded, short = ctypes.CDLL(str(library)), ctypes.PyDLL(str(library))
        self.blas = blas
        self._sgemm = find_sgemm() if blas else None
        try:
            self._capture, self._scan = loaded.headscope_capture, loaded.headscope_scan
            self._capture_short = short.headscope_capture
            self.has_threads = bool(loaded.headscope_has_threads())
        except AttributeError as error:
            raise OSError(f"{library.name} holds no such function: {error}") from error
        for function, job in (
            (self._capture, _Job),
            (self._capture_short, _Job),
            (self._scan, ScanJob),
        ):
            function.argtypes, function.restype = [ctypes.POINTER(job)], ctypes.c_int

    def takes(self, q: Tensor, k: Tensor, v: Tensor | None) -> bool:
        """Whether it can compute these: float32 on the CPU, and as many threads as torch uses."""
        if not self.has_threads and torch.get_num_threads() > 1:
            return False
        tensors = (q, k) if v is None else (q, k, v)
        return all(
            t.dtype == torch.float32
            and t.device.type == "cpu"
            and t.numel() > 0
            and max(t.stride()) <= LONGEST_STRIDE
            for t in tensors
        )

    def attend(
        self,
        q: Float[Tensor, "batch num_heads query head_dim"],
        k: Float[Tensor, "batch num_kv_heads key head_dim"],
        v: Float[Tensor, "batch num_kv_heads key head_dim"] | None,
        pattern: Float[Tensor, "batch num_heads query key"] | None,
        *,
        scale: float,
    ) -> Float[Tensor, "batch query num_heads head_dim"] | None:
        """As `triangle.attend`, for tensors that it takes.

        Raises:
            MemoryError: when there was none for the scratch; the outputs are then worthless.
        """
        batch, heads, queries, head_dim = q.shape
        kv_heads, keys = k.shape[1:3]
        q, k = _in_rows(q), _in_rows(k)
        job = _Job(q=q.data_ptr(), k=k.data_ptr(), scale=scale, sgemm=self._sgemm)
        job.q_strides[:], job.k_strides[:] = _strides(q), _strides(k)
        z = None
        if v is not None:
            v = _in_rows(v)
            z = q.new_empty(batch, queries, heads, head_dim)
            job.v, job.z, job.v_strides[:] = v.data_ptr(), z.data_ptr(), _strides(v)
        cells = batch * heads * queries * keys
        if pattern is not None:
            assert pattern.is_contiguous()
            job.pattern, job.large = pattern.data_ptr(), cells * 4 > LARGE_BYTES
        job.batch, job.heads, job.kv_heads, job.head_dim = batch, heads, kv_heads, head_dim
        job.queries, job.keys, job.start = queries, keys, keys - queries
        job.block = min(queries, _block_rows(keys))
        short = cells <= FEWEST_CELLS
        job.threads = 1 if short else torch.get_num_threads()
        if (self._capture_short if short else self._capture)(ctypes.byref(job)):
            raise MemoryError("there is no memory for a block of scores")
        return z

    def scanner(
        self,
        q: Float[Tensor, "num_heads pos head_dim"],
        k: Float[Tensor, "num_kv_heads pos head_dim"],
        *,
        scale: float,
        wanted: Wanted,
    ) -> Scanner:
        """What reads patterns without keeping them, for tensors that it takes.

        Args:
            q: queries.
            k: keys; query head h uses kv head h // (num_heads / num_kv_heads).
            scale: the factor on q·k.
            wanted: what to find.
        """
        (heads, seq_len, head_dim), held = q.shape, (_in_rows(q[None]), _in_rows(k[None]))
        job = ScanJob(scale=scale, sgemm=self._sgemm, heads=heads, kv_heads=k.shape[0])
        job.q, job.k = (t.data_ptr() for t in held)
        job.q_strides[:], job.k_strides[:] = (_strides(t)[1:] for t in held)
        job.head_dim, job.keys, job.block = head_dim, seq_len, _block_rows(seq_len)
        job.threads = torch.get_num_threads() if heads * seq_len**2 > FEWEST_CELLS else 1
        return Scanner(lambda job: self._scan(ctypes.byref(job)), job, wanted, held)


def _block_rows(keys: int) -> int:
    """Rows of a block, at most 64: few waste less of the triangle, many use the product better."""
    return 32 if keys <= 256 else 64


def _in_rows(x: Tensor) -> Tensor:
    """The same with the features of each position side by side."""
    return x if x.stride(3) == 1 and x.stride(2) >= x.shape[3] else x.contiguous()


def _strides(x: Tensor) -> tuple[int, int, int]:
    batch, head, pos, _ = x.stride()
    return batch, head, max(pos, x.shape[3])  # that of a single position can be any number


# ---------------------------------------------------------------- torch's BLAS


def find_sgemm() -> int:
    """The address of `sgemm_` in the BLAS that torch has loaded.

    Raises:
        OSError: when it is not to be had.
    """
    folder = Path(torch.__file__).parent
    beside = [*folder.glob("lib/*openblas*"), *folder.parent.glob("torch.libs/*openblas*")]
    files = [*folder.glob("lib/libtorch_cpu.*"), *beside]
    for name in (*map(str, files), None):  # None: what the whole process sees
        try:
            address = ctypes.cast(ctypes.CDLL(name).sgemm_, ctypes.c_void_p).value
        except (OSError, AttributeError, TypeError):
            continue
        if address:
            return address
    raise OSError("torch's BLAS shows no sgemm_")


# ---------------------------------------------------------------- the check


@torch.inference_mode()
def difference(core: NativeCore) -> str | None:
    """What the core computes otherwise than the formula in float64; None when all is equal."""
    for shape in TRIED:
        batch, heads, kv_heads, queries, keys, head_dim = shape
        generator = torch.Generator().manual_seed(sum(shape))
        q, k, v = (
            torch.randn(batch, length, count * head_dim, generator=generator)
            .view(batch, length, count, head_dim)
            .transpose(1, 2)
            for length, count in ((queries, heads), (keys, kv_heads), (keys, kv_heads))
        )
        pattern = q.new_full((batch, heads, queries, keys), torch.nan)
        try:
            z = core.attend(2 * q, k, v, pattern, scale=head_dim**-0.5)
        except MemoryError as error:
            return str(error)
        wide = (t.double().repeat_interleave(heads // kv_heads, 1) for t in (k, v))
        exact_k, exact_v = wide
        scores = 2 * q.double() @ exact_k.transpose(-2, -1) * head_dim**-0.5
        later = torch.ones(queries, keys).triu(keys - queries + 1).bool()
        exact = scores.masked_fill(later, -torch.inf).softmax(-1)
        off = float((pattern - exact).abs().max())
        assert z is not None  # there was v
        z_off = float((z.transpose(1, 2) - exact @ exact_v).abs().max())
        if not (off <= PATTERN_TOLERANCE and z_off <= Z_TOLERANCE):  # NaN is neither
            return f"its pattern differs by {off:.1e} and its output by {z_off:.1e} at {shape}"
        if torch.count_nonzero(pattern[..., later]):
            return f"its pattern is not 0 above the diagonal at {shape}"
    return scan_difference(core.scanner)
