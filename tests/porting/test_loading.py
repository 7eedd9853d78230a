"""Every target that is written loads by the lines that its report prints, in a program of that framework alone."""

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import transformer_mb as tmb
from elsewhere import elsewhere, under
from porting.destinations import FILES, FOLDERS, source_for
from porting.small_model import BIASES, FEW, made
from transformer_mb.checkpoint import read_checkpoint
from transformer_mb.parameters import parameter_shapes
from transformer_mb.parity.verdict.limits import error
from transformer_mb.porting import port as port_module
from transformer_mb.porting.files.targets import fields_at, find_target
from transformer_mb.porting.model import PortedModel
from transformer_mb.porting.proof.probe import run_reference
from transformer_mb.porting.proof.proving import Proof
from transformer_mb.porting.report import PortReport

BATCH = {
    "source": np.array([[4, 5, 6, 4, 3], [5, 4, 1, 1, 1], [0, 6, 4, 5, 1]]),
    "source_valid_lens": np.array([5, 2, 4]),
    "target": np.array([[2, 5, 6, 4], [2, 0, 3, 1], [2, 4, 4, 6]]),
}
LIMIT = 1e-5
# What shares a framework shares a process.
PROGRAMS = {
    "torch": ("torch", "safetensors", "torch_transformer"),
    "transformers": ("marian", "bert"),
    "paddle": ("paddle", "paddle_transformer"),
    "mxnet": ("mxnet",),
    "keras": ("keras",),
    "flax": ("flax",),
    "numpy": ("npz", "canonical"),
    "engines": ("onnx", "ctranslate2"),
}


def test_every_target_is_in_a_program():
    assert sorted(sum(PROGRAMS.values(), ())) == sorted([*FILES, *FOLDERS])


def named(target, folder):
    row = find_target(target).format
    return folder / f"{target}{row.suffix if row else ''}"


@dataclass
class Loaded:
    """A port, and what the program made of the model that its lines loaded."""

    model: PortedModel
    report: PortReport
    outputs: np.ndarray
    folder: Path
    moments: list[np.ndarray]


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    """By program and target. The proof, which runs these lines too, is what other tests are about."""
    nothing = Proof(source_ran="", result_ran="", errors={}, tokens=[], near_ties=(), checksums={}, changed=(), failures=())

    @cache
    def run(program):
        folder, jobs, ported = tmp_path_factory.mktemp(program), {}, {}
        for target in PROGRAMS[program]:
            source = source_for(target, 1, folder / f"source_{target}")
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(port_module, "prove", lambda *arguments: nothing)
                report = tmb.port(source, named(target, folder), to=target)
            printed = report.lines()
            first = next(number for number, line in enumerate(printed) if line.startswith("for "))
            lines = [line[4:] for line in printed[first + 1 :] if line.startswith("    ")]
            assert report.loading.into in printed[first] and tuple(lines) == report.loading.lines
            jobs[target], found = lines, read_checkpoint(source)
            model = PortedModel(config=found.config, weights=found.weights, optimizer=found.optimizer)
            ported[target] = Loaded(model, report, np.zeros(0), folder, [])
        outputs, _ = elsewhere("porting.run_lines:outputs", BATCH, jobs=jobs)
        for target, one in ported.items():
            one.outputs, one.moments = outputs[target], [*under(outputs, f"moments/{target}").values()]
        return ported

    return run


@pytest.mark.long(but=2)
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_port_loads_by_the_lines_that_it_prints(program, loaded):
    for target, one in loaded(program).items():
        expected = run_reference(one.model, BATCH)
        if target == "bert":
            valid = np.arange(5) < BATCH["source_valid_lens"][:, None]
            assert error(one.outputs[valid], expected["encoder"][valid]) <= LIMIT
        else:
            wanted = expected["logits"][:, : one.outputs.shape[1]]
            assert np.abs(wanted).max() > 0.1 and error(one.outputs, wanted) <= LIMIT, target


@pytest.mark.parametrize(("target", "companion"), [("torch", "torch.optimizer.pt"), ("paddle", "paddle.pdopt")])
def test_a_file_is_a_state_dict_and_its_optimizer_lies_beside_it(loaded, target, companion):
    """The framework's own Adam has the moments, for Paddle in a process that has made other models too."""
    one = loaded(target)[target]
    assert one.report.optimizer and (one.folder / companion).is_file()
    for array, name in zip(one.moments, parameter_shapes(one.model.config), strict=True):
        assert np.array_equal(array, one.model.optimizer[f"m.{name}"])


def loading_of(model, name):
    target = find_target(name)
    return target.family.loading_of(model, target.format, {}).at(fields_at(Path("m"), model, target), False)


def test_loading_lines_say_what_is_left_to_the_caller():
    """Embeddings and output lie beside the stacks: the lines make them, and the report says what to compute."""
    config = tmb.presets.d2l(11, 13, **FEW, **BIASES, final_norm=True, max_len=20)
    model = made(config)
    loading = loading_of(model, "torch_transformer")
    assert "embeddings scaled by 8 ** 0.5, plus sinusoidal (interleaved) positions" in loading.into
    assert "'source_embedding': torch.nn.Embedding(11, 8)" in loading.lines[1]
    other = replace(model, config=config.replace(norm_eps=1e-3))
    lines = loading_of(other, "paddle_transformer").lines
    assert any("layer._epsilon = 0.001" in line for line in lines)
    assert "before mxnet itself" in loading_of(model, "mxnet").lines[0]
