"""The tables of docs/PORTING.md are what the code says."""

import importlib.util
from pathlib import Path

from transformer_mb.porting.exports import EXPORTS
from transformer_mb.porting.families import FAMILIES
from transformer_mb.porting.formats import FORMATS
from transformer_mb.porting.tables import formats_part, settings_part

ROOT = Path(__file__).parents[2]


def test_the_pages_have_the_tables_that_the_code_makes():
    page = (ROOT / "docs" / "PORTING.md").read_text()
    for part in (formats_part(), settings_part()):
        assert part in page, "put the output of `python -m transformer_mb.porting.tables` into docs/PORTING.md"


OFFERED = {
    "formats": ["recognize", "read"],
    "families": ["recognize", "read", "write"],
    "exports": ["recognize", "write", "read_back"],
}


def test_every_row_has_its_module():
    for kind, rows in (("formats", FORMATS), ("families", FAMILIES), ("exports", EXPORTS)):
        for name, row in rows.items():
            assert importlib.util.find_spec(f"transformer_mb.porting.{kind}.{name}"), (kind, name)
            wanted = OFFERED[kind]
            assert all(callable(getattr(row.module, function)) for function in wanted)
            if kind == "formats":
                assert hasattr(row.module, "write") == row.writable
                assert not (row.writable and row.backend) or callable(row.native_loader.load_natively)
