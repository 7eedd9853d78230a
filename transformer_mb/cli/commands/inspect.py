"""``transformer-mb inspect``: what a file or folder holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from ...printable import counted, printable
from ...reports.output import Output
from .. import options
from ..options import argument

NAME = "inspect"


def command(
    path: Annotated[Path, argument("PATH", "A file or folder.")],
    from_: options.SourceFormat = None,
    config: options.ModelSettings = None,
    json_file: options.JsonFile = None,
    force: options.Force = False,
) -> None:
    """List a file's tensors, shapes, dtypes, family and oddities, for every format that can be ported."""
    from dataclasses import asdict

    from ...porting.files.destination import inputs
    from ...porting.inspection import inspect
    from ...porting.origins import origin_lines
    from ...porting.settings import read_settings
    from ..reporting import ended_cleanly

    settings = read_settings(config)
    output = Output(json_file, force=force)
    output.check(*inputs(path, settings), config)
    with ended_cleanly():
        inspection = inspect(path, from_, settings)
    width = max((len(name) for name, _, _ in inspection.tensors), default=0)
    for name, shape, dtype in inspection.tensors:
        print(f"{printable(name):{width}}  {'x'.join(map(str, shape)) or 'scalar':>12}  {dtype}")
    kind = f"{inspection.format}, family {inspection.family or 'unknown'}"
    state = ", with an optimizer's state" if inspection.optimizer else ""
    print(f"{kind}: {counted(len(inspection.tensors), 'tensor')}, {counted(inspection.numbers, 'number')}{state}")
    for line in origin_lines(inspection.origins):
        print(printable(line))
    for sentence in inspection.odd:
        print(f"note: {printable(sentence)}")
    output.write({**asdict(inspection), "path": str(inspection.path)})
