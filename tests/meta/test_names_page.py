"""docs/NAMES.md shows the table of other libraries' names, and every name of ours in it exists."""

import ast
from pathlib import Path

from meta.backend_sources import BACKENDS, public

from transformer_mb.config import TransformerConfig
from transformer_mb.layer_options import AttentionOptions, DecoderOptions, EncoderOptions
from transformer_mb.other_names import OTHER_NAMES

PAGE = (Path(__file__).parents[2] / "docs" / "NAMES.md").read_text()


def our_names():
    """Of constructors and calls of one backend, since all have the same, of the options, and of the configuration."""
    names = {*AttentionOptions.__annotations__, *EncoderOptions.__annotations__, *DecoderOptions.__annotations__}
    names |= TransformerConfig.__dataclass_fields__.keys()
    for path in (BACKENDS / "torch").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and node.name in ("__init__", "forward"):
                names |= {argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)}
    return names


def test_the_page_shows_the_table():
    rows = [f"| `{name}` | {other.where} | {other.instead} |" for name, other in OTHER_NAMES.items()]
    assert [line for line in PAGE.splitlines() if line.startswith("| `")] == rows and len(rows) > 40


def test_every_name_of_ours_exists():
    ours = our_names()
    assert {name for other in OTHER_NAMES.values() for name in other.ours} <= ours
    for other in OTHER_NAMES.values():
        assert all(
            name in other.instead for name in other.ours if name != "enc_valid_lens" or "init_state" not in other.instead
        )


def test_no_name_of_theirs_is_an_argument_of_every_layer_of_ours():
    """Else it would never be refused: some layers have few of them, as a decoder's key and value sizes."""
    offered = public((BACKENDS / "torch" / "attention.py").read_text(), "Torch")
    assert not OTHER_NAMES.keys() & {name for name, _ in offered["MultiHeadAttention.__call__"][0]}
