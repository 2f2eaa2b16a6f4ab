"""Reshaping between one array of vectors and one array per attention head."""

from keras import ops


def split_heads(x, heads):
    """Splits the last axis into heads: (B, T, N * H) -> (B, N, T, H)."""
    batch, length, size = ops.shape(x)
    x = ops.reshape(x, (batch, length, heads, size // heads))  # (B, T, N, H)
    return ops.transpose(x, (0, 2, 1, 3))  # (B, N, T, H)


def merge_heads(x):
    """Concatenates the heads, the inverse of `split_heads`: (B, N, T, H) -> (B, T, N * H)."""
    batch, heads, length, size = ops.shape(x)
    x = ops.transpose(x, (0, 2, 1, 3))  # (B, T, N, H)
    return ops.reshape(x, (batch, length, heads * size))  # (B, T, N * H)
