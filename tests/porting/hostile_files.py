"""Files under a megabyte that ask for far more time or memory than they have bytes, each by a trick of its format."""

import io
import json
import struct
import zipfile

import numpy as np

SIZE = 900_000  # bytes; a byte is an operation in a pickle


def pickled(code):
    return b"\x80\x04" + code + b"."


def named(module, member):
    return b"c" + module.encode() + b"\n" + member.encode() + b"\n"


def text(content):
    return b"X" + struct.pack("<I", len(content)) + content


TUPLE, ENCODE = named("builtins", "tuple"), named("_codecs", "encode")
RECONSTRUCT = named("numpy.core.multiarray", "_reconstruct") + named("numpy", "ndarray")
ARRAY = RECONSTRUCT + b"K\x00\x85C\x01b\x87R"  # _reconstruct(ndarray, (0,), b"b")
FLOAT = named("numpy", "dtype") + text(b"f4") + b"\x89\x88\x87R"
DOUBLED = b")\x94" + b"".join(bytes((104, i, 104, i, 0x86, 0x94)) for i in range(40))  # t = (t, t), forty times over


def array_of(raw, count):
    """An array of float32 whose bytes ``raw`` pushes."""
    return ARRAY + b"(K\x01J" + struct.pack("<i", count) + b"\x85" + FLOAT + b"\x89" + raw + b"tb"


def entries(count, value):
    """A dictionary of so many names of one value."""
    return b"}(" + b"".join(text(b"n%d" % i) + value for i in range(count)) + b"u"


def one_array_again_and_again():
    array = array_of(b"B" + struct.pack("<I", 400_000) + bytes(400_000), 100_000) + b"\x94"
    return pickled(array + b"\x85" + entries(30_000, b"h\x00"))


def bytes_of_many_arrays():
    raw = b"B" + struct.pack("<I", 400_000) + bytes(400_000) + b"\x94"
    return pickled(raw + entries(2_000, array_of(b"h\x00", 100_000)))


def long_key(number):
    return b"\x8a\x0a" + number.to_bytes(10, "little")


PICKLES = {
    "marks without end": pickled(b"(" * 200_000 + b"t" * 200_000),
    "lists": pickled(b"]" * SIZE),
    "constants": pickled(b"N" * SIZE),
    "lists in lists": pickled(b"]" * (SIZE // 2) + b"a" * (SIZE // 2 - 1)),
    "appended in turns": pickled(b"](" + b"Ne(" * (SIZE // 3) + b"e"),
    "filled in turns": pickled(b"}" + b"(K\x00Nu" * (SIZE // 5)),
    "a tuple that grows": pickled(b")\x94" + b"h\x00\x86\x94" * (SIZE // 4)),
    "a key that takes forever": pickled(DOUBLED + b"}h\x28K\x01s"),
    "a name that takes forever": pickled(DOUBLED + b"h\x28h\x28\x93"),
    "a long list made a tuple": pickled(
        b"](" + b"N" * 300_000 + b"e\x94" + TUPLE + b"\x94" + b"h\x01h\x00\x85R" * (SIZE // 10)
    ),
    "a long text encoded": pickled(
        text(b"a" * 300_000) + b"\x94" + text(b"latin1") + b"\x94" + ENCODE + b"\x94" + b"h\x02h\x00h\x01\x86R" * (SIZE // 12)
    ),
    "keys of one hash": pickled(b"}(" + b"".join(long_key(i * (2**61 - 1)) + b"N" for i in range(60_000)) + b"u"),
    "one array under many names": one_array_again_and_again(),
    "one text of bytes for many arrays": bytes_of_many_arrays(),
    "an array of objects": pickled(RECONSTRUCT + b"J\x00\x46\xc3\x23\x85C\x01O\x87R" + entries(1, b"N")),
    "an instance": pickled(b"(inumpy\nndarray\n" + entries(1, b"N")),
    "a dtype with fields": pickled(
        entries(1, FLOAT + b"(K\x03" + text(b"<") + b"N" + text(b"a") + b"\x85}" + b"K\x04K\x01K\x10tb")
    ),
}


def msgpacked(value):
    import msgpack

    return msgpack.packb(value)


def packed_array(shape, raw=b""):
    import msgpack

    return msgpack.ExtType(1, msgpack.packb((shape, "float32", raw)))


def long_level():
    return msgpacked({"params": {"a" * 400_000: {f"{i}": packed_array([0]) for i in range(15_000)}}})


def lists(item):
    return b"\xdc\x00\x20" + 32 * item


def flax_files():
    count = SIZE // 24
    return {
        "empty arrays": msgpacked({"params": {f"{i}": packed_array([0]) for i in range(count)}}),
        "empty maps": b"\x81\xa1a" + b"\xdd" + struct.pack(">I", SIZE) + b"\x80" * SIZE,
        "maps of maps": b"\x81\xa1a" + lists(lists(lists(b"\x9f" + b"\x80" * 15))),
        "a long level above many": long_level(),
        "a shape that is none": msgpacked({"params": {"w": packed_array([0, 2**62])}}),
        "a shape of many axes": msgpacked({"params": {"w": packed_array([1] * 100_000, bytes(4))}}),
    }


def tensor_file(header, numbers=b""):
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(raw)) + raw + numbers


EMPTY_TENSOR = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
SAFETENSORS = {
    "empty tensors": tensor_file({f"{i}": EMPTY_TENSOR for i in range(SIZE // 70)}),
    "a shape that is none": tensor_file({"w": {**EMPTY_TENSOR, "shape": [0, 2**62]}}),
    "deep": tensor_file(b'{"a":' * 150_000),
    "lists": tensor_file(b'{"__metadata__":[' + b"[]," * (SIZE // 3) + b"[]]}"),
    "a name of digits": tensor_file({f"encoder.blks.block{'9' * 5000}.attention.W_q.weight": EMPTY_TENSOR}),
}


def mxnet_file():
    count = SIZE // 48
    one = struct.pack("<IiiqiiiI", 0xF993FACA, 0, 1, 0, 1, 0, 0, 0)[:-4]
    names = b"".join(struct.pack("<Q", 8) + b"%08d" % i for i in range(count))
    return struct.pack("<QQQ", 0x112, 0, count) + one * count + struct.pack("<Q", count) + names


def zipped(members, compression=zipfile.ZIP_STORED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def member(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def npz_files():
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f4", "fortran_order": False, "shape": (0, 1 << 62)})
    none = header.getvalue()
    return {
        "zeros": zipped({"w.npy": member(np.zeros(32 << 20, np.uint8))}, zipfile.ZIP_DEFLATED),
        "empty members": zipped({f"{i}.npy": member(np.zeros(0, np.float32)) for i in range(3_500)}),
        "a header that has no end": zipped({"w.npy": member(np.zeros(1)).replace(b"(1,), }", b"(1,), {")}),
        "a shape that is none": zipped({"w.npy": none}),
    }


def torch_files():
    key = b"\x80\x02)q\x00" + b"".join(bytes((104, i, 104, i, 0x86, 113, i + 1)) for i in range(40)) + b"}h\x28K\x01s."
    return {"a key that takes forever": zipped({"model/data.pkl": key, "model/version": "3\n", "model/byteorder": "little"})}


def keras_files():
    import h5py

    file = io.BytesIO()
    with h5py.File(file, "w") as written:
        written.create_dataset("w", data=np.zeros(32 << 18, np.float32), compression="gzip", chunks=(1 << 20,))
    return {"zeros": file.getvalue()}


def hostile_files():
    """(format, name) -> content."""
    found = {
        "paddle": PICKLES,
        "flax": flax_files(),
        "safetensors": SAFETENSORS,
        "mxnet": {"empty arrays": mxnet_file()},
        "npz": npz_files(),
        "keras": keras_files(),
        "torch": torch_files(),
    }
    return {(kind, name): content for kind, files in found.items() for name, content in files.items()}


def large_files():
    """The same at sizes at which a reader that takes a multiple of the file fills a machine."""
    numbers = np.random.default_rng(0).integers(0, 256, 1 << 23, np.uint8)

    def repeated(times):
        return zipped({"w.npy": member(np.repeat(numbers, times))}, zipfile.ZIP_DEFLATED)

    return {
        ("npz", "refused, of ratio 21"): lambda: repeated(50),
        ("npz", "read, of ratio 7"): lambda: repeated(12),
        ("paddle", "20 MB of lists"): lambda: pickled(b"]" * 20_000_000),
        ("paddle", "60 MB of constants"): lambda: pickled(b"N" * 60_000_000),
        ("flax", "35 MB of empty arrays"): lambda: msgpacked({"params": {f"{i}": packed_array([0]) for i in range(1_450_000)}}),
        ("safetensors", "a header of 77 MB"): lambda: tensor_file({f"{i}": EMPTY_TENSOR for i in range(1_130_000)}),
    }
