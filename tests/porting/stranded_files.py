"""Files as transformers wrote them from TensorFlow and flax until 4.57, put together by hand of a torch folder's tensors."""

import json

import h5py
import msgpack
import numpy as np

TABLES = ("embed_tokens", "shared", "word_embeddings", "position_embeddings", "token_type_embeddings")


def leaf_of(name, of_norm, of_linear, of_table):
    """The last word, and whether the array lies the other way round; words: of a norm's weight and bias, of other weights."""
    *levels, leaf = name.split(".")
    if "norm" in levels[-1].lower():
        return of_norm[leaf], False
    if leaf != "weight":
        return leaf, False
    return (of_table, False) if levels[-1] in TABLES else (of_linear, True)


def tensorflow_tensors(tensors, model):
    """By path of the file: ``model`` is the name that Keras gives one, such as ``tf_bert_model``."""
    found = {}
    for name, array in tensors.items():
        if "." not in name:  # of the model itself, without a name of a model before it
            found[f"{name}/{name}:0"] = array
            continue
        word, turned = leaf_of(name, {"weight": "gamma", "bias": "beta"}, "kernel", "embeddings")
        levels = name.split(".")[:-1]
        path = "/".join(levels)
        for number in (level for level in levels if level.isdecimal()):
            # Marian's lists are called layers.0, BERT's layer_._0.
            path = path.replace(f"layers/{number}", f"layers.{number}").replace(f"layer/{number}", f"layer_._{number}")
        shared = levels[-1] == "shared"  # in the outermost scope, under its full name
        inner = "model.shared/model.shared" if shared else f"{model}/{path}"
        found[f"{levels[0]}/{inner}/{word}:0"] = array.T if turned else array
    return found


def write_tensorflow(path, tensors):
    with h5py.File(path, "w") as file:
        for name in dict.fromkeys(name.split("/")[0] for name in tensors):
            own = [one.split("/", 1)[1].encode() for one in tensors if one.startswith(f"{name}/")]
            file.create_group(name).attrs["weight_names"] = own
        file.attrs["layer_names"] = [name.encode() for name in file]
        file.attrs["backend"], file.attrs["keras_version"] = b"tensorflow", b"2.19.0"
        for name, array in tensors.items():
            file[name] = array


def write_datasets(path, tensors):
    """A shard: arrays by path, without groups of layers."""
    with h5py.File(path, "w") as file:
        for name, array in tensors.items():
            file[name] = array
        file.attrs["layer_names"] = [name.encode() for name in tensors]


def flax_tree(tensors):
    tree = {}
    for name, array in tensors.items():
        *levels, _ = name.split(".")
        place = tree
        for level in levels:
            place = place.setdefault(level, {})
        word, turned = leaf_of(name, {"weight": "scale", "bias": "bias"}, "kernel", "embedding") if levels else (name, False)
        place[word] = np.ascontiguousarray(array.T) if turned else array
    return tree


def write_flax(path, tree):
    def packed(value):
        name = "bfloat16" if value.dtype == np.uint16 else value.dtype.name
        return msgpack.ExtType(1, msgpack.packb((value.shape, name, value.tobytes()), use_bin_type=True))

    path.write_bytes(msgpack.packb(tree, default=packed, strict_types=True))


def in_pieces(array, size):
    """An array as flax cuts what is larger than msgpack holds."""
    flat = array.reshape(-1)
    chunks = {str(i): flat[start : start + size] for i, start in enumerate(range(0, flat.size, size))}
    shape = {str(i): n for i, n in enumerate(array.shape)}
    return {"__msgpack_chunked_array__": True, "shape": shape, "chunks": chunks}


def paths_of(tree, prefix=""):
    for name, value in tree.items():
        yield from paths_of(value, f"{prefix}{name}/") if isinstance(value, dict) else [(f"{prefix}{name}", value)]


def write_tree_of(path, arrays):
    """A shard of flax: arrays by path, as a tree."""
    tree = {}
    for name, array in arrays.items():
        *levels, leaf = name.split("/")
        place = tree
        for level in levels:
            place = place.setdefault(level, {})
        place[leaf] = array
    write_flax(path, tree)


def in_two(folder, name, tensors, write):
    """Two shards and their index, as ``save_pretrained`` calls them."""
    stem, ending = name.rsplit(".", 1)
    items, places = list(tensors.items()), {}
    for number, part in enumerate((items[: len(items) // 2], items[len(items) // 2 :]), start=1):
        file = f"{stem}-{number:05d}-of-00002.{ending}"
        write(folder / file, dict(part))
        places |= dict.fromkeys((one for one, _ in part), file)
    total = sum(array.nbytes for array in tensors.values())
    (folder / f"{name}.index.json").write_text(json.dumps({"metadata": {"total_size": total}, "weight_map": places}))
