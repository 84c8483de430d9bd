"""What the cores are held to: the formula as it is written, in float64."""

import torch

# Batch, heads, kv heads, queries, keys, head_dim; 131 and 150 are several blocks of rows.
SHAPES = [
    (1, 1, 1, 1, 1, 1),
    (2, 3, 3, 11, 11, 5),
    (1, 4, 2, 131, 131, 10),
    (2, 6, 2, 67, 67, 7),
    (1, 2, 2, 1, 37, 16),
    (2, 4, 1, 5, 300, 8),
    (1, 2, 1, 150, 151, 64),
]


def inputs(shape, *, dtype=torch.float32, seed=7):
    """q, k and v as a projection leaves them: positions outermost in memory."""
    batch, heads, kv_heads, queries, keys, head_dim = shape
    generator = torch.Generator().manual_seed(seed)
    return tuple(
        torch.randn(batch, length, count * head_dim, generator=generator)
        .to(dtype)
        .view(batch, length, count, head_dim)
        .transpose(1, 2)
        for length, count in ((queries, heads), (keys, kv_heads), (keys, kv_heads))
    )


def exact(q, k, v, scale):
    """z and the pattern; the last query is at the last key."""
    q, k, v = q.double(), k.double(), v.double()
    shared, queries, keys = q.shape[1] // k.shape[1], q.shape[2], k.shape[2]
    k, v = (t.repeat_interleave(shared, dim=1) for t in (k, v))
    later = torch.ones(queries, keys).triu(keys - queries + 1).bool()
    pattern = (q @ k.transpose(-2, -1) * scale).masked_fill(later, -torch.inf).softmax(-1)
    return pattern @ v, pattern


def above_the_diagonal(pattern):
    queries, keys = pattern.shape[-2:]
    return pattern.triu(keys - queries + 1)


def assert_exact(z, pattern, q, k, v, scale, *, atol=1e-6):
    """Within 1e-6 of float64, and exactly 0 after the diagonal; z is a sum of some values."""
    exact_z, exact_pattern = exact(q, k, v, scale)
    torch.testing.assert_close(pattern.double(), exact_pattern, rtol=0, atol=atol)
    torch.testing.assert_close(z.double(), exact_z, rtol=0, atol=5 * atol)
    assert torch.count_nonzero(above_the_diagonal(pattern)) == 0
