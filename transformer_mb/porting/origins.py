"""Where each field of a ported model's configuration comes from.

``shown`` by names and shapes of tensors; ``recorded`` by the source itself (a config.json, metadata, the companion beside a
file); ``given`` with --config; ``assumed``: a default. What no tensor shows is taken on trust, so the report lists it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .families.inferred_fields import inferred_fields
from .model import NativeFile, PortedModel
from .settings import DECODING, FIELDS, given_fields, sides_of

LISTED = ("given", "recorded", "assumed")
Origins = dict[str, dict[str, Any]]


def origins(model: PortedModel, native: NativeFile | None, settings: Mapping[str, Any]) -> Origins:
    """``given``, ``recorded`` and ``assumed``, each with its fields and their values: every field that no tensor shows.

    ``native`` is the file that the model was read from; None for a folder, which records all of its configuration.
    """
    values = model.config.to_dict()
    shown = inferred_fields(model.weights, values)
    recorded = FIELDS if native is None else native.settings
    given = given_fields(settings, sides_of(values))
    fields: Origins = {origin: {} for origin in LISTED}
    for name in FIELDS:
        if name in shown:
            continue
        if name in given and (name in DECODING or name not in recorded):
            fields["given"][name] = values[name]
        else:
            fields["recorded" if name in recorded else "assumed"][name] = values[name]
    return fields


def origin_lines(origins: Origins, verbose: bool = True, proved: bool = False) -> list[str]:
    """One line for each origin that has fields; what the source records is counted, or listed where ``verbose``.

    ``proved``: beneath a proof, which holds for what was given and assumed, and would for other values of these.
    """
    titles = {
        "given": "given, taken on trust",
        "recorded": "recorded by the source",
        "assumed": "assumed, for nothing says otherwise (config can)",
    }
    lines = []
    for origin, fields in origins.items():
        listed = ", ".join(f"{name} = {value}" for name, value in fields.items())
        if origin == "recorded" and not verbose:
            listed = f"{len(fields)} fields"
        title = f"proved for what is {titles[origin]}" if proved and origin != "recorded" else titles[origin]
        lines += [f"{title}: {listed}"] if fields else []
    return lines
