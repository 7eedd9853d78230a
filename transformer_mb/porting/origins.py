"""Origins of the fields of a ported model's configuration.

``shown`` by names and shapes of tensors; ``recorded`` by the source itself (a config.json, metadata, the companion beside a
file); ``given`` with --config; ``assumed``: a default. What no tensor shows is taken on trust, so the report lists it.
"""

from __future__ import annotations

from typing import Any

from .families.inferred_fields import inferred_fields
from .kinds import Settings
from .model import NativeFile, PortedModel
from .settings import DECODING, FIELDS, given_fields, sides_of

LISTED = ("given", "recorded", "assumed")
# The fields that outputs depend on and that no shape shows.
COMPUTED = (
    *("encoder_num_heads", "decoder_num_heads", "architecture", "norm_position", "norm_kind", "norm_eps", "activation"),
    *("embedding_scale", "position", "sinusoid_layout", "rotary_layout", "rotary_base", "position_offset"),
    "compat_decode",
)
Origins = dict[str, dict[str, Any]]


def origins(model: PortedModel, native: NativeFile | None, settings: Settings) -> Origins:
    """``given``, ``recorded`` and ``assumed``, each with its fields and their values: every field that no tensor shows.

    ``native`` is the file that the model was read from; None for a folder, which records all of its configuration.
    """
    values = model.config.to_dict()
    shown = {*inferred_fields(model.weights, values), *model.shown} - {name for name, seen in model.shown.items() if not seen}
    recorded = [name for name in FIELDS if model.shown.get(name, True)] if native is None else native.settings
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


def fields_on_trust(
    model: PortedModel, native: NativeFile | None, settings: Settings, borne_out: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """Return the given and assumed fields that the outputs depend on, without those that what ran has of itself."""
    found, config = origins(model, native, settings), model.config
    idle = {f"{side}_num_heads" for side in ("encoder", "decoder") if not getattr(config, f"has_{side}")}
    idle |= {"sinusoid_layout"} if config.position != "sinusoidal" else set()
    idle |= {"rotary_layout", "rotary_base"} if config.position != "rotary" else set()
    idle |= {"compat_decode"} if not config.has_decoder else set()
    on_trust = {**found["given"], **found["assumed"]}
    return tuple(name for name in COMPUTED if name in on_trust and name not in idle and name not in borne_out)


def origin_lines(origins: Origins, verbose: bool = True, proved: bool = False) -> list[str]:
    """Write a line for each origin that has fields; what the source records is counted, or listed where ``verbose``.

    ``proved``: beneath a proof, which holds for the given and assumed fields, and would for other values of these.
    """
    titles = {
        "given": "given, taken on trust",
        "recorded": "recorded by the source",
        "assumed": "assumed, since nothing says otherwise (--config can)",
    }
    lines = []
    for origin, fields in origins.items():
        listed = ", ".join(f"{name} = {value}" for name, value in fields.items())
        if origin == "recorded" and not verbose:
            listed = f"{len(fields)} fields"
        title = f"the proof rests on what is {titles[origin]}" if proved and origin != "recorded" else titles[origin]
        lines += [f"{title}: {listed}"] if fields else []
    return lines
