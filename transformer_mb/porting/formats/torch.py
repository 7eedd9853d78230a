"""PyTorch ``.pt``: a state_dict, as ``load_state_dict`` takes it, with torch.optim.Adam's in ``NAME.optimizer.pt`` beside it.

Files that hold both, ``{"model": ..., "optimizer": ...}``, are read too, and what else they hold is named (see ``held``).
torch itself reads and writes them, in a process of its own, with ``weights_only=True``.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

from ...errors import PortError
from ...files.regular import open_regular
from ...files.tensors import digest
from .. import worker
from ..kinds import Format
from ..model import USUAL_BETAS, NativeFile
from ..safety.raw_arrays import check_names, size_of

COMPANION = ".optimizer.pt"
LEGACY = (0x1950A86A20F9469CFC6C).to_bytes(10, "little")  # the number that files before torch 1.6 begin with


def recognize(path: Path) -> bool:
    with open_regular(path) as file:
        if not zipfile.is_zipfile(file):
            file.seek(0)
            return LEGACY in file.read(32)
        with zipfile.ZipFile(file) as archive:
            return any(name.endswith("/data.pkl") or name == "data.pkl" for name in archive.namelist())


def read(path: Path) -> NativeFile:
    beside = path.with_suffix(COMPANION)
    files = {"path": path, **({"beside": beside} if beside != path and beside.exists() else {})}
    for file in files.values():
        _check_archive(file)
    tensors, facts = worker.call(
        "formats.native_loaders.torch:read", {}, {name: str(file.resolve()) for name, file in files.items()}
    )
    state = {name.removeprefix("optimizer "): a for name, a in tensors.items() if name.startswith("optimizer ")}
    weights = {name: tensors[f"tensor {name}"] for name in facts["names"]}
    check_names(weights, path)
    notes = facts["notes"]
    more = facts["more"]
    if facts["of"] not in (None, digest(weights).hex()):
        state, more = {}, ""
        notes = [*notes, f"{beside.name} was left out: it belongs to other weights than those of {path.name}."]
    others = {key: {name: tensors[f"{start}{name}"] for name in names} for key, (start, names, _) in facts["others"].items()}
    betas = tuple(facts["betas"]) if state and facts["betas"] else None
    return NativeFile(
        format="torch",
        tensors=weights,
        optimizer=state or None,
        betas=betas,
        more_moments=more,
        others=others,
        notes=tuple(notes),
    )


def _check_archive(path: Path) -> None:
    """torch stores its members as they are; one that is compressed could unpack to any size."""
    try:
        with open_regular(path) as file:
            if not zipfile.is_zipfile(file):
                return
            with zipfile.ZipFile(file) as archive:
                members = archive.infolist()
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
        raise PortError(f"{path} must be a PyTorch file, but it is damaged: {error}.") from None
    packed = [member.filename for member in members if member.compress_type != zipfile.ZIP_STORED]
    if packed or sum(member.file_size for member in members) > size_of(path):
        raise PortError(f"{path} must hold its members as they are, but {packed[:1] or 'they'} would unpack to more: refused.")


def write(path: Path, native: NativeFile) -> None:
    arrays = {f"tensor {name}": array for name, array in native.tensors.items()}
    arrays |= {f"optimizer {name}": array for name, array in (native.optimizer or {}).items()}
    first: dict[int, str] = {}
    shared = {name: first.setdefault(id(array), name) for name, array in native.tensors.items()}
    settings = {
        "path": str(path.resolve()),
        "beside": str(path.with_suffix(COMPANION).resolve()),
        "names": list(native.tensors),
        "shared": shared,
        "of": digest(native.tensors).hex(),
        "betas": native.betas or USUAL_BETAS,
    }
    worker.call("formats.native_loaders.torch:write", arrays, settings)


ROW = Format(
    name="torch",
    title="PyTorch .pt",
    suffix=".pt",
    shards=(".bin", ".pt", ".pth"),
    recognize=recognize,
    read=read,
    write=write,
    into="transformer_mb.backends.torch.EncoderDecoder",
    lines="""
import torch
from transformer_mb.checkpoint import read_config
from transformer_mb.backends.torch import EncoderDecoder
model = EncoderDecoder.from_config(read_config({config}))
model.load_state_dict(torch.load({path}))
model.eval()
""",
    optimizer_lines="""
optimizer = torch.optim.Adam(model.parameters())
optimizer.load_state_dict(torch.load({companion}))
""",
    optimizer=True,
    keeps_betas=True,
    requires=("torch",),
    backend="torch",
    companion=COMPANION,
)
