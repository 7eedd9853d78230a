"""torch.compile where setuptools is not installed.

PyTorch asks for it, but a Python since 3.12 comes without, and images leave it out. torch.compile builds nothing with it:
it reads where PyTorch's headers are from a module (torch/utils/cpp_extension.py) that imports it.
"""

from __future__ import annotations

import importlib
import sys
from importlib.util import find_spec
from types import ModuleType

PATHS = "torch.utils.cpp_extension"
STAND_INS = ("setuptools", "setuptools.command", "setuptools.command.build_ext")


def import_paths() -> None:
    """Imports that module, where need be with a stand-in for setuptools, which nobody sees afterwards.

    What the module has for extensions in C++ (``BuildExtension``) builds nothing then, as it could not without setuptools.
    """
    if PATHS in sys.modules or find_spec("setuptools") is not None:
        return
    modules = {name: ModuleType(name) for name in STAND_INS}
    modules["setuptools"].Command = object  # type: ignore[attr-defined]
    modules["setuptools.command.build_ext"].build_ext = object  # type: ignore[attr-defined]
    sys.modules.update(modules)
    try:
        importlib.import_module(PATHS)
    finally:
        for name in modules:
            del sys.modules[name]
