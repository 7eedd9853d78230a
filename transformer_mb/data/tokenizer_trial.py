"""Tokenizers of others are tried in a process of its own first: what crashes, hangs or takes all memory ends only that."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from ..columns.ending import ending, hung
from ..errors import DataError

TIMEOUT = 120.0  # seconds
# The process imports the library and no more, so that it costs tenths of a second.
PROGRAM = """
import sys
from importlib import import_module
sys.path.insert(0, sys.argv[2])
limits = import_module("transformer_mb.machine.limits")
content = sys.stdin.buffer.read()
library = import_module(sys.argv[1])
limits.limit_process(len(content))
texts = ["the dog", "a" * 40 + "!", "A \\u00e9\\u4e2d\\u0301 \\U0001f642 <eos>\\t1,2", "bcdefghijklmnopqrstuvwxyz"]
try:
    if sys.argv[1] == "tokenizers":
        made = library.Tokenizer.from_buffer(content)
        for text in texts:
            ids = made.encode(text, add_special_tokens=False).ids
            if len(ids) > 100 * len(text):
                sys.exit(f"it makes {len(ids):,} tokens of {len(text)} characters")
            made.decode(ids)
    else:
        made = library.SentencePieceProcessor()
        made.LoadFromSerializedProto(content)
        for text in texts:
            made.decode(made.encode(text))
except MemoryError:
    sys.exit("it takes more memory than a file of its size needs")
except Exception:  # whoever reads it says so in words of its own
    pass
except BaseException as error:
    sys.exit(str(error))
"""
_read: set[bytes] = set()  # digests of what was tried before


def check_reading(library: str, content: bytes) -> None:
    """Refuse a file whose reading, or whose use on a few texts, does not end well; raises DataError."""
    digest = hashlib.sha256(content).digest()
    if digest in _read:
        return
    command = [sys.executable, "-P", "-c", PROGRAM, library, str(Path(__file__).parents[2])]
    try:
        alone = {**os.environ, "TOKENIZERS_PARALLELISM": "false"}
        done = subprocess.run(command, input=content, capture_output=True, timeout=TIMEOUT, env=alone)
        status, said = done.returncode, done.stderr.decode(errors="replace")
    except subprocess.TimeoutExpired:
        status, said = None, hung(TIMEOUT)
    except OSError as error:
        raise DataError(f"The process that tries a tokenizer could not be started: {error.strerror or error}.") from None
    if status != 0:
        how = said if status is None else ending(status, said if status > 0 else "")
        raise DataError(f"A tokenizer must be one that {library} can read and use, but the process that tried it {how:.400}.")
    _read.add(digest)


def trust(content: bytes) -> None:
    """Trust a file that this process has made itself."""
    _read.add(hashlib.sha256(content).digest())
