"""What a training step frees is there for the next one."""

import os
import subprocess
import sys

# Blocks of 8 MB, as steps have them; how many pages the system had to make for the fourth time that all are wanted.
PROGRAM = """
import resource
import numpy as np
import transformer_mb as tmb
backend = tmb.get_backend("numpy")
{trainer}

def wanted():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    blocks = [np.ones(2**20) for _ in range(20)]
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

print([wanted() for _ in range(4)][-1])
"""
TRAINER = "backend.trainer(backend.build(tmb.TransformerConfig(source_vocab_size=9, target_vocab_size=9)))"


def pages(trainer, **said):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_"))} | said
    command = [sys.executable, "-c", PROGRAM.format(trainer=trainer)]
    return int(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)


def test_a_process_with_a_trainer_keeps_what_it_frees():
    # 160 MB are 80 pages at least, of 2 MB each, or 40,000 of 4 kB.
    assert pages("") >= 60 and pages(TRAINER) < 20
    assert pages(TRAINER, MALLOC_TRIM_THRESHOLD_="16777216") >= 60
