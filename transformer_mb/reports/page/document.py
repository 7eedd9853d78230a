"""The page: data, style and script joined into one file under a policy that lets it load nothing else."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from ... import __version__
from ...errors import PictureError
from ...extras import install_command
from ...files.whole_file import write_whole
from .section import Section

NAME = "index.html"  # in the folder of a report
# In this order: what a file uses stands in one before it.
SCRIPTS = ("elements", "charts", "lines", "grid", "matrix", "cell", "behaviours", "runs", "speed", "attention", "check", "page")
JUDGED = {True: "All that was judged holds.", False: "Not all that was judged holds.", None: "Measured, with nothing to judge."}


def require_jinja() -> None:
    """Raise PictureError where jinja2 is not installed, with the command that installs it."""
    try:
        import jinja2  # noqa: F401
    except ImportError:
        raise PictureError(
            f"A report needs jinja2, which is not installed. Install it with: {install_command('report')}."
        ) from None


def write_page(folder: Path, sections: Sequence[Section]) -> Path:
    """Write ``index.html`` into a folder, whole or not at all; return its path.

    Raises PictureError without jinja2, OSError where it cannot be written.
    """
    path = folder / NAME
    write_whole(path, page_text(sections))
    return path


def page_text(sections: Sequence[Section]) -> str:
    """Return the page of these sections, at least one."""
    require_jinja()
    import jinja2

    named = _named(sections)
    style, script = _asset("look.css"), "\n".join(_asset(f"script/{name}.js") for name in SCRIPTS)
    template = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    judged = {section.holds for section in sections}
    holds = False if False in judged else True if True in judged else None
    return template.from_string(_asset("page.html")).render(
        sections=named,
        verdict=JUDGED[holds],
        holds=holds,
        version=__version__,
        style=style,
        script=script,
        style_hash=_hash(style),
        script_hash=_hash(script),
        data=packed({"sections": [{**section, "id": name} for name, section in named.items()]}),
    )


def packed(content: Any) -> str:
    """Return JSON deflated, as base64: a matrix of six thousand cells is a twentieth of its text."""
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return base64.b64encode(zlib.compress(text.encode("utf-8"), 9)).decode("ascii")


def _named(sections: Sequence[Section]) -> dict[str, dict[str, Any]]:
    """Return them by the fragment of their tabs: the title, and from the second of a title on its number."""
    found: dict[str, dict[str, Any]] = {}
    for section in sections:
        number = sum(one["title"] == section.title for one in found.values())
        name = re.sub(r"[^a-z0-9]+", "-", section.title.lower()).strip("-")
        found[name if not number else f"{name}-{number + 1}"] = section.to_dict()
    return found


def _asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
