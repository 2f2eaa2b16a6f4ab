"""Types of the public API. Shapes and dtypes of arrays are in the docstrings."""

import os
from typing import Any

# A tensor of the backend, a KerasTensor or a NumPy array, which have no base class in common.
Tensor = Any

Shape = tuple[Any, ...]  # sizes; None where a size is unknown
PathLike = str | os.PathLike[str]
Texts = list[str] | tuple[str, ...]
