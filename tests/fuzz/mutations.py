"""Random changes of valid files: of their bytes, of their JSON and of their HDF5 structure."""

import gzip
import json
import os

import h5py
import numpy as np

_BYTES = (
    *(b"", b"\0", b"\n", b"\r", b"\t", b"\xff", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80"),
    *(b"9" * 5000, b"[" * 2000, b'{"a":' * 2000, b"\0" * 100_000, b"x" * 150_000, b"1e999"),
)
_DEEP = "a deep value"  # stands for nested lists, which `json.dumps` cannot write
_VALUES = (
    *(None, True, -1, 0, 1, 2, 2**31, 2**63, 10**9, 10**400, 0.5, -0.5, 1e-45, 1e308),
    *(float("nan"), float("inf"), "", "x", "\0", "\ud800", "x" * 200_000, "▁", "[END]"),
    *([], {}, [0], [[]] * 1000, {"a": 1}, {"type": "Sequence", "normalizers": []}, _DEEP),
)


def mutate_bytes(rng, data):
    """Returns the bytes with one to four random changes."""
    data = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        place = rng.randint(0, len(data))
        match rng.randint(0, 5):
            case 0:
                data[place : place + 1] = bytes([rng.randint(0, 255)])
            case 1:
                del data[place:]
            case 2:
                del data[place : place + rng.randint(1, 100)]
            case 3:
                data[place:place] = rng.choice(_BYTES)
            case 4:
                data[place:place] = data[: rng.randint(0, len(data))]
            case 5:
                bit = 1 << rng.randint(0, 7)
                data[place : place + 1] = bytes(x ^ bit for x in data[place : place + 1])
    return bytes(data)


def mutate_json(rng, text, values=()):
    """Returns the JSON text with one to three nodes removed, repeated or replaced.

    Args:
        rng: a `random.Random`.
        text: JSON text.
        values: further values to insert.
    """
    content = [json.loads(text)]
    for _ in range(rng.randint(1, 3)):
        parent, key = rng.choice(list(_nodes(content)))
        match rng.randint(0, 3):
            case 0 if parent is not content:
                del parent[key]
            case 1 if isinstance(parent, dict):
                parent[rng.choice(["wings", "type", "", "a" * 1000])] = rng.choice(_VALUES)
            case 2 if isinstance(parent, list):
                parent.extend([parent[key]] * rng.choice([1, 100]))
            case _:
                parent[key] = rng.choice([*_VALUES, *values])
    return json.dumps(content[0]).replace(f'"{_DEEP}"', "[" * 5000 + "]" * 5000)


def _nodes(content):
    """Yields the parent and the key of each node, at most 10,000."""
    stack, count = [content], 0
    while stack and count < 10_000:
        parent = stack.pop()
        items = parent.items() if isinstance(parent, dict) else enumerate(parent)
        for key, child in list(items):
            yield parent, key
            count += 1
            if isinstance(child, (dict, list)):
                stack.append(child)


def mutate_hdf5(rng, path):
    """Changes the structure of an HDF5 file: one of its datasets becomes something else."""
    with h5py.File(path, "r+") as file:
        names = []
        file.visititems(lambda name, x: names.append(name) if isinstance(x, h5py.Dataset) else None)
        name = rng.choice(names)
        shape = file[name].shape
        del file[name]
        match rng.randint(0, 11):
            case 0:
                file.create_group(name)
            case 1:
                file[name] = h5py.SoftLink("/")
            case 2:
                file[name] = h5py.ExternalLink("/etc/hostname", "/")
            case 3:
                file.create_dataset(name, shape, "float32", external=[("/dev/zero", 0, 2**40)])
            case 4:
                layout = h5py.VirtualLayout(shape, "float32")
                layout[...] = h5py.VirtualSource("/dev/null", "x", shape)
                file.create_virtual_dataset(name, layout)
            case 5:
                file.create_dataset(name, (10**12,), "float32", chunks=(2**20,))
            case 6:
                file[name] = np.full(shape, rng.choice([np.nan, np.inf, -np.inf]), "float32")
            case 7:
                file[name] = np.zeros((*shape, 2), "float32")
            case 8:
                file[name] = np.zeros(shape, rng.choice(["S5", "bool", "int32", "float64", "c8"]))
            case 9:
                file[name] = file["/"]  # a cycle
            case 10:
                file[name] = "text"
            case 11:
                file[name] = np.ones(shape, "float32")


def replace_by_special_file(rng, path):
    """Replaces a file by a folder, a pipe, an endless device, a gap or another kind of file."""
    path.unlink()
    match rng.randint(0, 6):
        case 0:
            path.mkdir()
        case 1:
            os.mkfifo(path)
        case 2:
            path.symlink_to("/dev/zero")
        case 3:
            path.symlink_to(path.name)  # a cycle
        case 4:
            path.write_bytes(b"")
        case 5:
            path.write_bytes(gzip.compress(bytes(10**7)))
        case 6:
            pass
