"""The line of a user's own code that an exception came through last, among those of frameworks and of this package."""

from __future__ import annotations

import sysconfig
import traceback
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
LIBRARIES = tuple({Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib", "purelib", "platlib")})


def place_of(error: BaseException, factory: str) -> str:
    """Return the line, its file and what stands there, in words; empty where nobody's own code was on the way.

    Args:
        factory: of the subject, ``path/to/file.py:attribute`` or ``module:attribute``. A file beside it is named without its
            folder, and a package that is installed counts as the user's own if the factory is in it.
    """
    where = factory.rpartition(":")[0]
    home = Path(where).resolve().parent if where.endswith(".py") else None
    frames = [frame for frame in _frames(error) if Path(frame.filename).is_file()]
    own = [frame for frame in frames if not _is_library(Path(frame.filename))]
    own = own or [
        frame for frame in frames if not where.endswith(".py") and where.partition(".")[0] in Path(frame.filename).parts
    ]
    if not own:
        return ""
    path = Path(own[-1].filename).resolve()
    name = path.relative_to(home) if home is not None and path.is_relative_to(home) else path
    return f"in line {own[-1].lineno} of {name}, `{own[-1].line}`"


def _frames(error: BaseException) -> list[traceback.FrameSummary]:
    """Return the frames of an exception, and before them those of what it was raised from."""
    earlier = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return [*(_frames(earlier) if earlier is not None else []), *traceback.extract_tb(error.__traceback__)]


def _is_library(path: Path) -> bool:
    path = path.resolve()
    backends = (PACKAGE / "backends").resolve()
    return any(path.is_relative_to(root) for root in (PACKAGE, backends, *LIBRARIES))
