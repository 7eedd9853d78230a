"""No conformance test passes by itself: on a backend that is wrong about everything, every one fails."""

import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_conformance_test_fails_on_a_wrong_backend(tmp_path):
    report = tmp_path / "report.xml"
    command = [sys.executable, "-m", "pytest", "tests/conformance", "--backend", "wrong", "-q", "--tb=no"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests" / "meta" / "wrong_package")}
    done = subprocess.run(
        [*command, f"--junitxml={report}", "-p", "no:cacheprovider"], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 1, done.stdout[-3000:]
    cases = list(ElementTree.parse(report).getroot().iter("testcase"))
    passed = [case.get("name") for case in cases if case.find("failure") is None and case.find("error") is None]
    assert len(cases) >= 150 and not passed
