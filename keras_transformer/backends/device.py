"""What computes."""

import platform
from pathlib import Path
from typing import NamedTuple


class Device(NamedTuple):
    """A device's name and whether it computes in bfloat16 faster than in float32."""

    name: str
    bfloat16: bool


def processor():
    """The processor as a `Device`; instructions for bfloat16 are AVX512-BF16 and AMX."""
    info = Path("/proc/cpuinfo")
    if not info.exists():
        return Device(platform.processor() or platform.machine(), bfloat16=False)
    fields = dict(line.split(":", 1) for line in info.read_text().splitlines() if ":" in line)
    fields = {name.strip(): value.strip() for name, value in fields.items()}
    flags = fields.get("flags", "").split()
    name = fields.get("model name", platform.machine())
    return Device(name, "avx512_bf16" in flags or "amx_bf16" in flags)
