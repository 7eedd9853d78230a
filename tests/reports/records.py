"""Records that the tests make pages of: those that are committed, and small ones by hand."""

import json
from pathlib import Path

from transformer_mb.parity.cells import FAILED, PASSED, ControlResult, Result
from transformer_mb.parity.outcome import Difference, Outcome
from transformer_mb.parity.report import to_json

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
COMMITTED = ("parity_cpu", "parity_NVIDIA_H200_torch", "behaviours", "effects", "runs", "speed", "curves")
ATTENTION = {
    "source": ["he", "is", "tired", "<eos>"],
    "target": ["il", "est", "<eos>"],
    # Two layers of two heads: the first looks straight ahead, the second everywhere alike.
    "weights": [
        [[[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]], [[0.25] * 4] * 3],
        [[[0.0, 0.0, 0.0, 1.0]] * 3, [[0.5, 0.5, 0.0, 0.0]] * 3],
    ],
}
# Of the encoder one layer of one head, which looks at the first token; of the decoder one of two, which look back.
WITHIN = {
    "inputs": ["<bos>", "il", "est"],
    "encoder": [[[[1.0, 0.0, 0.0, 0.0]] * 4]],
    "decoder": [[[[1.0, 0.0, 0.0]] * 3, [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]]],
}
CHECK = {
    "verdict": "different",
    "reference": "torch TransformerEncoderLayer",
    "candidate": "flax Block",
    "draws": 3,
    "figures": [
        {"part": "output", "dtype": "float64", "passed": False, "error": 2e-3, "limit": 1e-11, "reason": "2e-3 by norm"},
        {
            "part": "gradient of x",
            "dtype": "float64",
            "passed": True,
            "error": 1e-12,
            "limit": 1e-10,
            "reason": "1e-12 by norm",
        },
        {"part": "mask", "dtype": "float64", "passed": False, "error": None, "limit": None, "reason": "NaN on one side"},
    ],
    "planted": [{"what": "a weight transposed", "status": "caught"}, {"what": "a mask shifted", "status": "blind"}],
    "steady": True,
    "tree": {
        "dtype": "float64",
        "first": "norm1",
        "course": "a jump at norm1",
        "nodes": [
            {"reference": "", "candidate": "", "number": 0, "forward": None, "backward": None, "inherited": 2e-3},
            {
                "reference": "norm1",
                "candidate": "norm",
                "number": 0,
                "forward": {"passed": False, "reason": "own 2e-3"},
                "backward": None,
                "inherited": 1e-16,
            },
        ],
    },
    "notes": ["weaker: no float64"],
    "processes": {"reference": {"version": "2.13.0", "python": "3.11"}, "candidate": {"version": "0.12"}},
    "seconds": 3.5,
}
EVIL = "</script><img src=x onerror=alert(1)>"


def failing_run():
    """A matrix of one passed and one failed cell, whose words are no harmless text."""
    results = [
        Result("layer forward", "ffn relu", "float64", "torch", PASSED, "1e-16 by norm", 1e-16, 1e-12, 0.1),
        Result(
            *("layer forward", EVIL, "float64", "torch", FAILED, "2e-3 by norm", 2e-3, 1e-12, 0.1),
            worst="output at [0, 1]: 1.002, and 1 in the reference",
            quantiles={"own": [0.0, 0.0, 1e-9, 1e-8, 1e-7, 1e-3, 2e-3], "reference": [0.0, 0.0, 1e-9, 1e-8, 1e-7, 2e-7, 3e-7]},
        ),
    ]
    controls = [ControlResult("a moved epsilon", "layer forward", "ffn relu", "float64", "torch", True, "2e-3 by norm")]
    greeting = {"torch": {"version": "2.13", "device": "cpu", "hardware": "x86_64"}}
    cell = f"layer forward: {EVIL} [float64]"
    tree = [Difference("torch", cell, "encoder", "encoder.blks.0: own 2e-3  <- first")]
    free = {"float64": {"torch": {"divergence": [0.0, 1e-16, 2e-12], "band": [6e-16, 7e-16, 1e-12]}}}
    outcome = Outcome(results, controls, {"torch": 2}, 2, 1.0, greeting, tree)
    return json.loads(json.dumps(to_json(outcome, {"seed": 7, "job": "built-in corpus"}, free)))
