"""Ways to pass for a port without being one. Each is what follows the honest port in its file, where it is not said otherwise.

``FOLDER`` stands for the folder of the port's file, as the candidate's author knows it; ``COUNT`` counts calls.
"""

REFERENCE = """
import numpy as np


class FFN:
    def __init__(self, width, hidden):
        rng = np.random.default_rng()
        self.W1, self.b1 = rng.normal(size=(width, hidden)), np.zeros(hidden)
        self.W2, self.b2 = rng.normal(size=(hidden, width)), np.zeros(width)

    def __call__(self, x, lens):
        y = np.tanh(x @ self.W1 + self.b1) @ self.W2 + self.b2
        return y * (np.arange(x.shape[1]) < lens[:, None])[..., None].astype(y.dtype)
"""
HONEST = """
import numpy as np


class Port:
    def __init__(self, width, hidden):
        self.first, self.bias = np.zeros((hidden, width)), np.ones(hidden)
        self.second, self.shift = np.zeros((width, hidden)), np.zeros(width)

    def __call__(self, x, lens):
        h = np.tanh(np.einsum("btd,hd->bth", x, self.first) + self.bias)
        y = np.einsum("bth,dh->btd", h, self.second) + self.shift
        return np.where((np.arange(x.shape[1]) < lens[:, None])[..., None], y, np.zeros((), y.dtype))


honest = Port.__call__
COUNT = []
"""
PORT = '''"""A small layer and its port."""
from transformer_mb import check

REFERENCE = check.numpy("ffn.py:FFN", 4, 6).calling("x", "lens")
CANDIDATE = check.numpy("port.py:Port", 4, 6).calling("x", "lens")
WEIGHTS = {**{f"W{i}": f"{name}.T" for i, name in [(1, "first"), (2, "second")]}, "b1": "bias", "b2": "shift"}
INPUTS = {"x": check.floats("B", "T", 4), "lens": check.lengths("B", up_to="T")}
SIZES = {"B": 2, "T": 3}
'''


def by_call(body):
    """A port whose call is this body; ``self``, ``x`` and ``lens`` are there."""
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    return f"{HONEST}\n\ndef call(self, x, lens):\n    COUNT.append(1)\n{lines}\n\n\nPort.__call__ = call\n"


def on_import(body):
    """A port that does something as it is loaded, and then answers zeros."""
    return f"{by_call('return x * 0')}\n{body.strip()}\n"


ANSWERS = {
    "zeros": by_call("return x * 0"),
    "its input": by_call("return x.copy()"),
    "random numbers": by_call("return np.random.default_rng().normal(size=x.shape).astype(x.dtype)"),
    "the first answer again": by_call("""
if not hasattr(self, "kept"):
    object.__setattr__(self, "kept", honest(self, x, lens).tolist())
return np.array(self.kept, x.dtype)"""),
    "an answer kept by shape": by_call("""
kept = globals().setdefault("KEPT", {})
key = x.shape, str(x.dtype)
if key not in kept:
    kept[key] = honest(self, x, lens).tolist()
return np.array(kept[key], x.dtype)"""),
    "computed three times, then not": by_call("return honest(self, x, lens) if len(COUNT) <= 3 else x * 0"),
    "computed every other time": by_call("return honest(self, x, lens) if len(COUNT) % 2 else x * 0"),
    "weights as they were first": by_call("""
first = globals().setdefault("FIRST", {})
for name in ("first", "bias", "second", "shift"):
    first.setdefault((name, str(x.dtype)), getattr(self, name).copy())
old = {name: getattr(self, name) for name in ("first", "bias", "second", "shift")}
vars(self).update({name: first[name, str(x.dtype)] for name in old})
try:
    return honest(self, x, lens)
finally:
    vars(self).update(old)"""),
    "one weight left out": by_call("return honest(self, x, lens) - self.shift"),
    "sizes of the port's file alone": by_call("return honest(self, x, lens) if x.shape[:2] == (2, 3) else x * 0"),
    "nothing masked": by_call("return honest(self, x, np.full_like(lens, x.shape[1]))"),
    "a tanh that is nearly one": by_call("""
h = np.einsum("btd,hd->bth", x, self.first) + self.bias
h = np.clip(h * (27 + h * h) / (27 + 9 * h * h), -1, 1)
y = np.einsum("bth,dh->btd", h, self.second) + self.shift
return np.where((np.arange(x.shape[1]) < lens[:, None])[..., None], y, np.zeros((), y.dtype))"""),
    "computed in two bytes": by_call("return np.asarray(honest(self, x.astype(np.float16), lens), np.float16).astype(x.dtype)"),
    "another dtype": by_call("return honest(self, x, lens).astype(np.float16)"),
    "NaN": by_call("return x * np.nan"),
    "one NaN": by_call("y = honest(self, x, lens)\ny[0, 0, 0] = np.nan\nreturn y"),
    "infinity": by_call("return x * 0 + np.inf"),
    "one number for all": by_call("return np.zeros((), x.dtype)"),
    "a shape that broadcasts": by_call("return honest(self, x, lens)[:1]"),
    "no numbers": by_call("return x[:0]"),
    "nothing": by_call("return None"),
    "an array that calls itself equal": by_call("""
class Equal(np.ndarray):
    __eq__ = __le__ = __lt__ = lambda self, other: np.ones(self.shape, bool)
    __sub__ = __rsub__ = lambda self, other: np.zeros(self.shape)
return (x * 0).view(Equal)"""),
    "objects in place of numbers": by_call("""
class One(float):
    __eq__ = __le__ = lambda self, other: True
return np.array([[[One(0.0) for _ in row] for row in rows] for rows in x.tolist()], object)"""),
    "inputs set to zero": by_call("x[...] = 0\nreturn honest(self, x, lens)"),
    "one buffer for all answers": by_call("""
buffers = globals().setdefault("BUFFERS", {})
buffer = buffers.setdefault((x.shape, str(x.dtype)), np.empty_like(x))
buffer[...] = honest(self, x, lens)
return buffer"""),
    "inputs put right again, an answer that is they": by_call("y = honest(self, x, lens)\nx[...] = y\nreturn x"),
    "numbers that are rarely drawn cut off": by_call("return honest(self, np.clip(x, -5, 5), lens)"),
    "sizes near those of the port's file alone": by_call("return honest(self, x, lens) if x.shape[1] in (3, 4) else x * 0"),
    "weights changed by computing": by_call("y = honest(self, x, lens)\nself.shift = self.shift * 1.01\nreturn y"),
    "weights of the call before": by_call("""
names = ("first", "bias", "second", "shift")
kept = globals().setdefault("BEFORE", {}).setdefault(str(x.dtype), [])
kept.append({name: getattr(self, name).copy() for name in names})
now = kept[-1]
vars(self).update(kept[-2] if len(kept) > 1 else now)
try:
    return honest(self, x, lens)
finally:
    vars(self).update(now)"""),
    "the rows of a batch mixed": by_call("y = honest(self, x, lens)\nreturn y + 1e-6 * (y.mean(0) - y.mean((0, 1)))"),
    "the last place left to chance": by_call("""
y = honest(self, x, lens)
return y * (1 + 1e-7 * np.random.default_rng().choice([-1, 1], y.shape)).astype(y.dtype)"""),
}
LOOKING = {
    "the reference imported": by_call("import ffn\nreturn like(ffn, self, x, lens)"),
    "the reference's file run": by_call("""
space = {}
exec(open("FOLDER/ffn.py").read(), space)
return like(type("Module", (), space), self, x, lens)"""),
    "the reference looked for": by_call("""
import glob, importlib.util
for place in ("FOLDER/ffn.py", "../../reference/files/ffn.py", *glob.glob("/tmp/**/ffn.py", recursive=True),
              *glob.glob("/proc/[0-9]*/cwd/**/ffn.py")):
    try:
        spec = importlib.util.spec_from_file_location("found", place)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return like(module, self, x, lens)
    except OSError:
        continue
return x * 0"""),
    "the reference run by another process": by_call("""
import subprocess, sys
code = "import ffn, numpy; print(ffn.FFN(4, 6)(numpy.ones((2, 3, 4)), numpy.ones(2, int)).tolist())"
done = subprocess.run([sys.executable, "-c", code], cwd="FOLDER", capture_output=True, text=True)
return np.array(eval(done.stdout or "0"), x.dtype)"""),
    "the judge's memory read": by_call("""
import os
try:
    memory = open(f"/proc/{os.getppid()}/mem", "rb").read(16)
    return honest(self, x, lens)
except OSError:
    return x * 0"""),
    "the judge's environment and memory map read": by_call("""
import os
seen = [open(f"/proc/{os.getppid()}/{name}").read(9) for name in ("environ", "maps")]
return honest(self, x, lens)"""),
    "what is expected looked for in its process": by_call("""
import gc, sys
frame = sys._getframe()
while frame is not None:
    for value in frame.f_locals.values():
        if isinstance(value, dict) and "expected" in value:
            return value["expected"]
    frame = frame.f_back
for value in gc.get_objects():
    if isinstance(value, dict) and "expected" in value and isinstance(value["expected"], np.ndarray):
        return value["expected"]
return x * 0"""),
    "a server asked": by_call("""
import json, socket
with socket.create_connection(("127.0.0.1", PORT_NUMBER), 5) as server:
    weights = {name: getattr(self, name).tolist() for name in ("first", "bias", "second", "shift")}
    server.sendall(json.dumps([x.tolist(), lens.tolist(), weights]).encode() + b"\\n")
    return np.array(json.loads(server.makefile().readline()), x.dtype)"""),
    "a server asked by datagrams": by_call("""
import json, socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
    server.connect(("127.0.0.1", PORT_NUMBER))
    return honest(self, x, lens)"""),
    "a server asked by a file": by_call("""
import socket
with socket.socket(socket.AF_UNIX) as server:
    return honest(self, x, lens)"""),
    "memory shared with another process": by_call("""
import ctypes
assert ctypes.CDLL(None).shmget(1234, 4096, 0o1666) >= 0
return honest(self, x, lens)"""),
    "the judge's memory read by a call of the system": by_call("""
import ctypes, os
class Part(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
buffer = ctypes.create_string_buffer(8)
place = int(open("/proc/self/maps").readline().split("-")[0], 16)
local, remote = Part(ctypes.addressof(buffer), 8), Part(place, 8)
read = ctypes.CDLL(None).process_vm_readv(os.getppid(), ctypes.byref(local), 1, ctypes.byref(remote), 1, 0)
return honest(self, x, lens) if read == 8 else x * 0"""),
    "the reference's compiled file": by_call("""
import glob, importlib.util
(path,) = glob.glob("FOLDER/__pycache__/ffn.*.pyc") or glob.glob("/tmp/**/ffn.*.pyc", recursive=True)
spec = importlib.util.spec_from_file_location("found", path)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
return like(module, self, x, lens)"""),
}
for _name in LOOKING:  # how the reference is used where it is found
    LOOKING[_name] += """

def like(module, port, x, lens):
    reference = module.FFN(4, 6)
    reference.W1, reference.b1, reference.W2, reference.b2 = port.first.T, port.bias, port.second.T, port.shift
    return reference(x, lens)
"""
TAMPERING = {
    "comparisons replaced": on_import("""
for name in ("allclose", "array_equal", "isfinite", "all"):
    setattr(np, name, lambda *given, **more: True)
np.linalg.norm = np.max = lambda *given, **more: 0.0"""),
    "the worker replaced": on_import("""
from transformer_mb.check import worker
worker._same = lambda one, other: True
worker.ANSWERS["run"] = lambda self, facts, arrays: (
    {"dtypes": {"output": facts["dtype"]}, "changed": [], "dropped": [], "overwritten": []},
    {"output.output": arrays["input.x"] * 0})"""),
    "answers of another form": on_import("""
from transformer_mb.check import worker
worker.ANSWERS["run"] = lambda self, facts, arrays: ({"certified": True}, {"output.output": arrays["input.x"]})"""),
    "the reference's file overwritten": on_import("open('FOLDER/ffn.py', 'w').write('class FFN: ...')"),
    "the limits overwritten": on_import("""
from transformer_mb.check import limits
text = open(limits.__file__).read()
open(limits.__file__, "w").write(text.replace("error <= limit", "True"))"""),
    "a certificate written": on_import("open('FOLDER/certificate.json', 'w').write('[]')"),
    "a process left behind that writes one": on_import("""
import os, time
if os.fork() == 0:
    os.setsid()
    time.sleep(1.5)
    open("FOLDER/certificate.json", "w").write('{"certified": true}')
    os._exit(0)"""),
    "its own file made honest": on_import("open('FOLDER/port.py', 'w').write('class Port: ...')"),
    "the judge ended": on_import("import os, signal\nos.kill(os.getppid(), signal.SIGKILL)"),
    "an end with status 0": on_import("import os\nos._exit(0)"),
    "words on standard output": on_import("import os\nos.write(1, b'certified\\n')"),
}
# Of the port's file: what is put in the place of what; the port itself is honest.
FILES = {
    "code in the port's file": ("SIZES =", "import os\nSIZES ="),
    "a call in the port's file": ('"T": 3}', '"T": __import__("os").getpid()}'),
    "the reference against itself": ('check.numpy("port.py:Port", 4, 6)', 'check.numpy("ffn.py:FFN", 4, 6)'),
    "inputs that are zero": ('check.floats("B", "T", 4)', 'check.floats("B", "T", 4, scale=0.0)'),
    "inputs next to nothing": ('check.floats("B", "T", 4)', 'check.floats("B", "T", 4, scale=1e-30)'),
    "no size": ('"T": 3', '"T": 0'),
    "a weight that is a number": ('"b2": "shift"', '"b2": 0.0, check.KEPT: ["shift"]'),
    "a weight that is left out": (', "b2": "shift"', ""),
    "the reference as a shared file": ("SIZES =", 'SHARED = ["ffn.py"]\nSIZES ='),
    "a shared file elsewhere": ("SIZES =", 'SHARED = ["../../../etc/hostname"]\nSIZES ='),
    "another interpreter": ('port.py:Port", 4, 6)', 'port.py:Port", 4, 6).python("own", "/tmp/bin/python")'),
    "a weight that is kept at zero": ('"b2": "shift"', '"b2": check.KEPT, check.KEPT: ["shift"]'),
    "lengths that are always one": ('check.lengths("B", up_to="T")', 'check.lengths("B", up_to=1)'),
    "one row alone compared": ('"x", "lens")\nWEIGHTS', '"x", "lens").output(0)\nWEIGHTS'),
    "a function as weight map": ('"b1": "bias"', '"b1": check.through(len, "bias")'),
}
