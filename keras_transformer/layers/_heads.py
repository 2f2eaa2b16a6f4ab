"""Several heads in one array of vectors."""

from keras import ops


def split_heads(x, heads):
    """(B, T, N * H) -> (B, N, T, H)."""
    batch, length, size = ops.shape(x)
    return ops.transpose(ops.reshape(x, (batch, length, heads, size // heads)), (0, 2, 1, 3))


def merge_heads(x):
    """(B, N, T, H) -> (B, T, N * H), the inverse of `split_heads`."""
    batch, heads, length, size = ops.shape(x)
    return ops.reshape(ops.transpose(x, (0, 2, 1, 3)), (batch, length, heads * size))
