"""The backend `device`: an accelerator that JAX has. Its arrays are guarded as they are; nothing is to be started."""

import glob
import os
import sys
from importlib import metadata

NAME = "device"
# Where Linux shows accelerators: NVIDIA and AMD GPUs, TPUs.
NODES = ("/dev/nvidia[0-9]*", "/dev/kfd", "/dev/accel[0-9]*", "/dev/vfio/[0-9]*")


def why_not() -> str | None:
    """None if JAX is likely to have an accelerator here; otherwise why not and what to do. Does not import jax: that is
    left to the canary, which asks the arrays themselves."""
    asked = os.environ.get("JAX_PLATFORMS", "")
    if asked and asked.split(",")[0].strip() == "cpu":
        return f"JAX_PLATFORMS={asked} asks for the CPU: unset it"
    if not _plugins():
        return "this environment has no accelerator plugin of JAX: install one, for example `pip install 'jax[cuda13]'`"
    if sys.platform == "linux" and not any(glob.glob(pattern) for pattern in NODES):
        return "this machine shows no accelerator (no device file of a GPU or TPU): run where there is one"
    return None


def _plugins() -> list[str]:
    names = [point.name for point in metadata.entry_points(group="jax_plugins")]
    for distribution in ("libtpu", "libtpu-nightly"):
        try:
            names.append(f"{distribution} {metadata.version(distribution)}")
        except metadata.PackageNotFoundError:
            continue
    return names
