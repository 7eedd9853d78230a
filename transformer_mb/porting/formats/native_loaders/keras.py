"""The datasets of an HDF5 file; nothing outside it is opened, and nothing is read before its size is known to be there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ....errors import PortError
from ....machine.limits import limit_process
from ...safety.raw_arrays import DTYPES, MOST_AXES, MOST_TENSORS, check_name, size_of, unpacked_limit

DEEPEST = 40
# What Keras saves beside the weights: its optimizer, whose Adam is another formula, and the random state of dropout.
BOOKKEEPING = ("optimizer", "_optimizer", "optimizer_weights", "seed_generator", "metrics")


def read(unused: Any, settings: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    import h5py  # before the limit, since libraries take memory too

    path = Path(settings["path"])
    limit_process(size_of(path))
    arrays, config, left_out = load(h5py, path)
    return arrays, {"names": list(arrays), "config": config, "left_out": left_out}


def load_natively(path: Path) -> dict[str, Any]:
    import h5py

    return load(h5py, path)[0]


def load(h5py: Any, path: Path) -> tuple[dict[str, Any], str | None, int]:
    """Every dataset by its path, the configuration that we write beside them, and how many of BOOKKEEPING were left out."""
    size = size_of(path)
    arrays: dict[str, Any] = {}
    left_out = 0
    try:
        with h5py.File(path, "r") as file:
            config = file.attrs.get("transformer_mb.config")
            for name, dataset in _datasets(file, h5py):
                if not set(BOOKKEEPING).isdisjoint(name.split("/")):
                    left_out += 1
                    continue
                _check(name, dataset, size, unpacked_limit(size) - sum(array.nbytes for array in arrays.values()))
                arrays[name] = dataset[()].reshape(dataset.shape)
    except PortError:
        raise
    except MemoryError:
        raise PortError(f"{path} asks for more memory than a file of {size} bytes needs: refused.") from None
    except Exception as error:  # h5py raises what it meets
        raise PortError(f"{path} must be HDF5 with named arrays, but it is damaged: {error}.") from None
    return arrays, config if isinstance(config, str) else None, left_out


def _datasets(group: Any, h5py: Any, prefix: str = "", depth: int = 0, seen: list[int] | None = None) -> Any:
    seen = [0] if seen is None else seen
    for name in group:
        seen[0] += 1
        full = f"{prefix}{name}"
        check_name(full, "HDF5")
        if depth > DEEPEST or seen[0] > MOST_TENSORS:
            raise PortError("The file nests or repeats its groups without end: refused.")
        link = group.get(name, getlink=True)
        if not isinstance(link, h5py.HardLink):
            raise PortError(f"{full!r:.80} must be in the file itself, got a {type(link).__name__}: refused.")
        item = group[name]
        if isinstance(item, h5py.Group):
            yield from _datasets(item, h5py, f"{full}/", depth + 1, seen)
        elif isinstance(item, h5py.Dataset):
            yield full, item
        else:
            raise PortError(f"{full!r:.80} must be a group or a dataset, got a {type(item).__name__}.")


def _check(name: str, dataset: Any, size: int, left: int) -> None:
    if dataset.dtype.newbyteorder("=").name not in DTYPES:
        raise PortError(f"Tensor {name!r:.80} must be of {', '.join(DTYPES)}, got {dataset.dtype!s:.40}.")
    if dataset.shape is None or len(dataset.shape) > MOST_AXES:
        raise PortError(f"Tensor {name!r:.80} must have at most {MOST_AXES} axes, got {dataset.shape!s:.80}.")
    if dataset.is_virtual or dataset.external:
        raise PortError(f"Tensor {name!r:.80} must be in the file itself, but it points to another: refused.")
    stored = dataset.id.get_storage_size()
    if stored > size or (dataset.chunks is None and stored != dataset.nbytes) or dataset.nbytes > left:
        raise PortError(
            f"Tensor {name!r:.80} of {dataset.nbytes} bytes must lie in the file of {size} bytes, but {stored} do: refused."
        )
