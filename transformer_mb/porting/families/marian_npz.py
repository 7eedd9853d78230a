"""Models of Marian itself, such as the originals of OPUS-MT: one .npz, with its options as YAML inside.

Marian computes fairseq's sinusoids and an epsilon of 1e-6, where MarianMT of ``transformers``, which was converted from such
files, has sinusoids by halves and 1e-5: ``{"sinusoid_layout": "halves", "norm_eps": 1e-5}`` in the settings reads what that
computes. Its decoder starts from zeros, not from a token: a row of zeros, which decoding never produces, stands for them.
"""

from __future__ import annotations

from ...errors import PortError, WeightsError
from ...parameters import check_weights, parameter_shapes
from ..kinds import Family, Settings
from ..model import NativeFile, PortedModel
from ..safety.port_errors import port_errors
from ..settings import build_config, check_holds, check_sizes, usual, vocabularies
from .marian_names import SHARED, TABLES, foreign_name, has_start, turned, with_start
from .marian_options import ACTIVATIONS, OPTIONS, checked, options_of, text_of
from .named_tensors import check_fractions

FIXED = {
    **usual("architecture", "norm_position", "norm_kind", "norm_affine", "final_norm", "embedding_norm", "embedding_scale"),
    **usual("position", "ffn_bias", "token_types", "compat_decode", "output_bias"),
    "position_offset": 0,
    "encoder_attention_bias": True,
    "decoder_attention_bias": True,
    "eos_id": 0,
    "bos_id": 0,
}
ASSUMED = {"sinusoid_layout": "fairseq", "norm_eps": 1e-6, "max_len": 512}


def recognize(native: NativeFile) -> bool:
    return OPTIONS in native.tensors and "encoder_l1_self_Wq" in native.tensors


def read(native: NativeFile, settings: Settings) -> PortedModel:
    """Read a model; raises PortError that names the option, or lists the tensors, that do not fit."""
    options = options_of(native)
    tensors = {name: array for name, array in native.tensors.items() if name != OPTIONS}
    check_fractions(tensors)
    shown = checked(options)
    rows = len(tensors[TABLES["decoder.embedding.weight"]] if "decoder_Wemb" in tensors else tensors.get(SHARED, ()))
    both = shown["source_vocab_size"] == shown["target_vocab_size"]
    ids = {"decoder_start_id": rows, "pad_id": rows if both else 0, "suppress_ids": (rows,)}
    sizes = {
        f"{side}_vocab_size": shown[f"{side}_vocab_size"] + (1 if both or side == "target" else 0)
        for side in ("source", "target")
    }
    config = build_config({**FIXED, **shown, **sizes, **ids, "padding_vector_zero": both}, settings, ASSUMED, native.settings)
    check_sizes(config, len(tensors))
    shapes = parameter_shapes(config)
    found = {}
    for name in shapes:
        theirs = foreign_name(name, config.share_embeddings)
        if theirs in tensors:
            found[name] = with_start(name, turned(name, tensors.pop(theirs)), config)
    found |= dict(tensors)
    with port_errors(WeightsError):
        check_weights(found, shapes, "The options of the file")
    notes = (
        "The decoder starts from a row of zeros, which the file does not hold and decoding never produces (suppress_ids).",
    )
    text = {"model.yml": native.tensors[OPTIONS].tobytes()}
    return PortedModel(
        config=config,
        weights=found,
        notes=(*native.notes, *notes),
        carried=text,
        carried_type=ROW.name,
        **vocabularies(settings),
    )


def write(model: PortedModel, format_name: str, settings: Settings) -> NativeFile:
    """Return what Marian loads; raises PortError for a model that it cannot hold."""
    config = model.config
    if config.activation not in ACTIVATIONS.values():
        raise PortError(f"A Marian file cannot hold this model: activation must be relu or silu, got {config.activation!r}.")
    check_holds(
        config,
        {**FIXED, "sinusoid_layout": "fairseq", "norm_eps": 1e-6, "suppress_ids": ((config.start_id,),)},
        "A Marian file",
    )
    tensors = {}
    for name, array in model.weights.items():
        own = array[:-1] if has_start(name, config) else array
        if len(own) != len(array) and array[-1].any():
            raise PortError(
                f"A Marian file cannot hold this model: the last row of {name} must be zero, where decoding starts."
            )
        tensors[foreign_name(name, config.share_embeddings)] = turned(name, own)
    own_text = model.carried.get("model.yml") if model.carried_type == ROW.name else None
    return NativeFile(format=format_name, tensors={**tensors, OPTIONS: text_of(config, own_text)})


ROW = Family(
    name="marian_npz",
    title="Marian's own .npz",
    kind="tensors",
    recognize=recognize,
    read=read,
    write=write,
    format="npz",
    into="marian-decoder",
)
