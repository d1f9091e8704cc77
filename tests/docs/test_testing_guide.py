"""The example of the guide to testing, run as it stands there."""

import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "testing.md"

pytest_plugins = ["pytester"]


def test_the_example_passes(pytester: pytest.Pytester) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    pytester.makepyfile(example)
    result = pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=example.count("def test_"))
