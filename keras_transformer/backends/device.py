"""The compute device."""

import platform
from pathlib import Path
from typing import NamedTuple


class Device(NamedTuple):
    """Name of a compute device, whether bfloat16 beats float32 on it, and whether it is a CPU."""

    name: str
    bfloat16: bool
    is_cpu: bool = False


def describe_cpu():
    """Returns the CPU as a `Device`; bfloat16 is fast with AVX512-BF16 or AMX instructions."""
    info = Path("/proc/cpuinfo")
    if not info.exists():
        return Device(platform.processor() or platform.machine(), False, is_cpu=True)
    fields = dict(line.split(":", 1) for line in info.read_text().splitlines() if ":" in line)
    fields = {name.strip(): value.strip() for name, value in fields.items()}
    flags = fields.get("flags", "").split()
    name = fields.get("model name", platform.machine())
    return Device(name, "avx512_bf16" in flags or "amx_bf16" in flags, is_cpu=True)
