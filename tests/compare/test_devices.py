"""`transformer-mb compare behaviours --device`: what frameworks do by themselves, asked where they are told to compute."""

import ast
import re
from pathlib import Path

import pytest

from compare.planted import planted
from transformer_mb.built_in import BUILT_IN
from transformer_mb.columns.column import Column
from transformer_mb.compare import behaviours
from transformer_mb.compare.expectations import accept, standing, standings
from transformer_mb.compare.facts import Fact
from transformer_mb.compare.worker import place
from transformer_mb.errors import ConfigError

BUILTINS = Path(__file__).parents[2] / "transformer_mb" / "compare" / "builtins"
FEW = "memory *|uniform numbers *|layer norm epsilon|top-k *|take *"
EPSILON = "layer norm epsilon"


def changed(facts):
    return {one.fact.probe for one in standings(facts) if not one.holds}


@pytest.mark.long
def test_the_cpu_by_its_name_gives_what_is_expected_without_one():
    facts = behaviours([Column(f"{name}@cpu", device="cpu") for name in BUILT_IN], FEW)
    assert len({fact.framework for fact in facts}) == len(BUILT_IN) and not changed(facts)
    assert {fact.device for fact in facts} == {"cpu"} and not [fact for fact in facts if " on " in fact.version]


@pytest.fixture
def second_device(monkeypatch):
    """Measure JAX, whose CPU can be several devices."""
    monkeypatch.setenv("XLA_FLAGS", "--xla_force_host_platform_device_count=2")
    return Column("jax@second", device="cpu:1")


@pytest.mark.long
def test_facts_of_another_device_name_it_and_stand_beside_what_is_expected(second_device):
    facts = behaviours([second_device, "jax"], FEW)
    assert not changed(facts)
    assert {(fact.framework, fact.device) for fact in facts} == {("jax@second", "cpu:1"), ("jax", "cpu")}
    assert all(fact.version.endswith(" on cpu:1") for fact in facts if fact.framework == "jax@second")


RAISING = "mask of integers 0 and 1|layer norm epsilon"


@pytest.mark.long
def test_what_follows_an_error_on_another_device_has_a_process_of_its_own(second_device):
    """On the CPU an error leaves nothing behind, and the process goes on."""
    with planted("unusable_after_an_error"):
        facts = behaviours([second_device, "jax"], RAISING)
    assert {fact.framework for fact in facts if fact.raised and fact.probe == RAISING.partition("|")[0]} == {
        "jax@second",
        "jax",
    }
    assert {fact.framework for fact in facts if fact.raised and fact.probe == EPSILON} == {"jax"}


@pytest.mark.long
def test_every_tensor_that_is_made_in_torch_is_told_its_device():
    """Watch by a mode, in which nn.TransformerEncoder has another way: so no default device is set."""
    with planted("torch_told"):
        facts = behaviours(["torch"])
    assert changed(facts) == {"padding that leaves an encoder"}


@pytest.mark.parametrize("path", sorted((BUILTINS / "torch").glob("*.py")), ids=lambda path: path.name)
def test_arrays_come_into_torch_and_leave_it_by_one_function(path):
    bare = re.findall(r"torch\.from_numpy|torch\.as_tensor|\.numpy\(\)", path.read_text())
    assert bare == (["torch.from_numpy", ".numpy()"] if path.name == "arrays.py" else [])


@pytest.mark.parametrize("framework", BUILT_IN)
def test_every_framework_can_be_told_where_to_compute(framework):
    path = BUILTINS / framework / "arrays.py"
    tree = ast.parse((path if path.exists() else BUILTINS / f"{framework}.py").read_text())
    tables = next(node.value for node in tree.body if isinstance(node, ast.AnnAssign) and node.target.id == "TABLES")
    (device,) = [table for name, table in zip(tables.keys, tables.values, strict=True) if name.value == "device"]
    assert [key.value for key in device.keys] == ["default", "use"]


class TwoGPUs:
    """A backend, as far as its devices go."""

    @classmethod
    def devices(cls):
        return ["cpu", "gpu:0", "gpu:1"]

    @classmethod
    def check_device(cls, name, given):
        assert name in cls.devices(), given
        return name


@pytest.mark.parametrize(
    ("given", "found"),
    [(None, "cpu"), ("cpu", "cpu"), ("cuda", "gpu:0"), ("gpu", "gpu:0"), ("gpu:1", "gpu:1"), ("cuda:1", "gpu:1")],
)
def test_cuda_and_gpu_name_the_same_devices(given, found):
    assert place("numpy", TwoGPUs, given) == found


@pytest.mark.parametrize("given", ["cuda:2", "cuda:", "", "tpu"])
def test_any_other_device_is_left_to_the_backend_to_refuse(given):
    with pytest.raises(AssertionError):
        place("numpy", TwoGPUs, given)


def test_a_device_that_is_not_there_is_refused_with_those_that_are(fails):
    command = ("compare", "behaviours", "--backends", "numpy@cpu,numpy", "--device", "numpy=nonsense", "--only", EPSILON)
    message = fails(*command, status=1)
    assert "The worker of numpy could not begin: The device of backend numpy must be one of cpu, got 'nonsense'" in message
    message = fails("compare", "behaviours", "--backends", "torch", "--device", "jax=cpu", "--only", EPSILON)
    assert "--device must name columns of this run (torch), got jax." in message


@pytest.mark.parametrize(
    ("backends", "device", "got"),
    [
        ("numpy,torch", "cuda", "torch on cuda"),
        ("torch", "torch=cuda:1", "torch on cuda:1"),
        ("torch@cpu", "cpu", "torch@cpu on cpu"),
    ],
)
def test_what_is_expected_is_taken_from_the_cpu_alone(backends, device, got, fails):
    message = fails("compare", "behaviours", "--backends", backends, "--device", device, "--only", EPSILON, "--accept")
    assert (
        f"--accept must measure frameworks by their own names and on the CPU, as all that is expected was, got {got}."
        in message
    )


def test_so_it_is_where_the_framework_itself_chose_a_gpu(tmp_path):
    with pytest.raises(ConfigError, match="got jax on gpu:0"):
        accept([standing(Fact(EPSILON, "jax", "0.7.1 with flax 0.12.0 on gpu:0", 1e-6), None)], tmp_path / "expected.json")
    assert not list(tmp_path.iterdir())
