"""What the names of tensors that belong to no family here likely come from, and how files are saved that can be read."""

from __future__ import annotations

import re

from ..model import NativeFile

SCOPE = re.compile(r"(?:\w+_)?[a-z]+\d+_(weight|bias|gamma|beta)$")
NUMBERED = re.compile(r"(.*[./])?(arr_)?\d+$")
BLOCKS = re.compile(r"(?:.*[./])?blks[./](?:block)?\d+[./](?P<attention>attention\d?)[./]")
KERAS = re.compile(r"(model_weights|layers|_operations)/")  # of a whole .h5, a .weights.h5, a checkpoint


def names_hint(native: NativeFile) -> str:
    """A sentence with a blank before it, or nothing."""
    names = list(native.tensors)
    if native.format == "mxnet" and any(SCOPE.match(name) for name in names):
        return " These are names of gluon's scopes: net.save_parameters writes those that can be read."
    if native.format in ("keras", "tensorflow") and any(map(KERAS.match, names)):
        return " These are names of layers of Keras' own, put together by somebody: no family here says what they compute."
    if names and all(map(NUMBERED.match, names)):
        how = (
            "np.savez(file, **tensors) keeps them, with the tensors as a dictionary by name"
            if native.format == "npz"
            else "save the state_dict of a model that has these weights (torch_ema's copy_to() puts them into one)"
        )
        return f" These are numbers and no names of layers: {how}."
    # An encoder's blocks have one attention, a decoder's have attention1 and attention2.
    sides = {match["attention"] == "attention" for name in names if (match := BLOCKS.match(name))}
    if len(sides) == 2:
        return " These are names of blocks of both sides, which must be called encoder and decoder."
    if sides == {True}:
        return " These are names of an encoder alone: save the whole model, or this part as {'encoder': state_dict}."
    return " These are names of a decoder alone: save the whole model." if sides else ""
