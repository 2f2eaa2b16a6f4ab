"""Safety checks for HDF5 files from untrusted sources."""

import math
from pathlib import Path

import h5py

from keras_transformer._utils.reading import check_regular

# What models and optimizers store: weights, counters and states of random generators.
HDF5_DTYPES = ("float16", "float32", "int32", "int64", "uint32")
_MAX_OBJECTS = 100_000
_SLACK = 1 << 24  # bytes for names and headers


def check_hdf5(path, variables=None, name=None):
    """Checks that an HDF5 file contains only numeric arrays that are stored in the file itself.

    An HDF5 file can include the content of other files, and can declare arrays that are far larger
    than itself. The check reads no data.

    Args:
        path: path of the file.
        variables: list of the Keras variables to load from the file, which limit its size; None
            for no limit.
        name: name of the file for messages. Defaults to the path.

    Returns:
        The number of arrays of floats.

    Raises:
        ValueError: if the path is not a regular file; if the file is not HDF5; if it contains a
            link other than a hard link, a dataset with external or virtual storage, or a dataset
            of a dtype that no Keras variable has; if its datasets are larger than the file; or if
            the file is far larger than the variables.
        FileNotFoundError: if the file does not exist.
    """
    path, name = Path(path), name or path
    limit = variables and 2 * sum(8 * math.prod(x.shape) for x in variables) + _SLACK
    check_regular(path, limit)
    size = path.stat().st_size
    try:
        with h5py.File(path, "r") as file:
            arrays = list(_arrays(file, name))
    except (OSError, RuntimeError, KeyError) as error:  # what HDF5 raises for damaged structures
        raise ValueError(f"{name} is not an HDF5 file or is damaged. Received: {error}") from None
    declared = sum(array_size for array_size, _ in arrays)
    if declared > size:
        raise ValueError(
            f"{name} must contain all of the data that it declares. "
            f"Received: {size:,} bytes that declare {declared:,} bytes"
        )
    return [kind for _, kind in arrays].count("f")


def _arrays(file, name):
    """Yields the size in bytes and the kind of the dtype of each dataset of an open file."""
    groups, seen = [file], set()
    while groups:
        group = groups.pop()
        for member_name in group:
            if not isinstance(group.get(member_name, getlink=True), h5py.HardLink):
                place = f"{group.name.rstrip('/')}/{member_name}"
                raise ValueError(
                    f"{name} must not contain soft or external links. Received: {place}"
                )
            member = group[member_name]
            address = h5py.h5o.get_info(member.id).addr
            if address in seen or len(seen) > _MAX_OBJECTS:
                raise ValueError(
                    f"{name} must be a tree of at most {_MAX_OBJECTS:,} objects. "
                    f"Received: {member.name} after {len(seen):,} objects"
                )
            seen.add(address)
            if isinstance(member, h5py.Group):
                groups.append(member)
            else:
                yield _size(member, name), member.dtype.kind


def _size(member, name):
    plain = isinstance(member, h5py.Dataset) and member.dtype.name in HDF5_DTYPES
    if not plain or member.external or member.is_virtual:
        raise ValueError(
            f"{name} must contain only arrays of {HDF5_DTYPES}. Received: {member.name}, "
            f"{getattr(member, 'dtype', type(member).__name__)}"
        )
    return member.size * member.dtype.itemsize if member.shape is not None else 0
