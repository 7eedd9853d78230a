"""A page of results in HTML, for a browser: everything in one file, which asks for nothing else and opens from the disk.

Each command makes a ``Section`` of its record; the page shows a tab per section. What a tab holds is written here once, as
data, and drawn in the browser by the functions in ``script/``. jinja2, which the extra ``report`` brings, is imported when a
page is written, not before.
"""

from .document import page_text, require_jinja, write_page
from .section import Section

__all__ = ["Section", "page_text", "require_jinja", "write_page"]
