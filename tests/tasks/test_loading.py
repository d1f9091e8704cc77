"""Finding an app by its name."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dueline.tasks.errors import NotLoaded
from dueline.tasks.loading import load_app

GOOD = "from dueline import App\napp = App()\nother = App()\nnumber = 5\n"
FILES = {
    "good_app.py": GOOD,
    "package_of_tasks/__init__.py": "",
    "package_of_tasks/inner.py": GOOD,
    "no_app.py": "number = 5\n",
    "imports_nothing.py": "import there_is_no_such_module\n",
    "raises.py": "def f():\n    return 1 / 0\n\nf()\n",
    "deeper.py": "import raises\n",
    "unfinished_line.py": "x = (\n",
    "exits.py": "raise SystemExit('bye')\n",
    "bad_name.py": "from dueline import Appp\n",
    "twice.py": "from dueline import App\napp = App()\n@app.task(name='a')\ndef f(): ...\n@app.task(name='a')\ndef g(): ...\n",
}


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    before, path = set(sys.modules), list(sys.path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield tmp_path
    sys.path[:] = path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.mark.parametrize(
    ("name", "origin"),
    [
        ("good_app:app", "good_app:app"),
        ("good_app", "good_app:app"),
        ("good_app:other", "good_app:other"),
        ("package_of_tasks.inner:app", "package_of_tasks.inner:app"),
    ],
)
def test_an_app_is_found_from_the_current_directory(name: str, origin: str) -> None:
    app = load_app(name)
    assert app.origin == origin
    assert load_app(name) is app


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("", r"'' does not name an app: write module:app"),
        ("good_app.py", r"there is no module 'good_app.py'"),
        ("./good_app:app", r"does not name an app"),
        ("good_app:a.b", r"does not name an app"),
        ("nowhere:app", r"there is no module 'nowhere', in .* or among the installed ones"),
        ("nowhere.deep:app", r"there is no module 'nowhere'"),
        ("package_of_tasks.nowhere:app", r"there is no module 'package_of_tasks.nowhere'"),
        ("good_app:ap", r"good_app \(.*good_app.py\) has no 'ap': did you mean good_app:app\?"),
        ("no_app", r"no_app \(.*no_app.py\) has no 'app'$"),
        ("good_app:number", r"good_app:number is a int, not an App"),
        ("imports_nothing", r"No module named 'there_is_no_such_module' \(.*imports_nothing.py:1\)"),
        ("raises", r"raises cannot be imported: ZeroDivisionError: division by zero \(.*raises.py:2\)"),
        ("deeper", r"deeper cannot be imported: ZeroDivisionError: division by zero \(.*raises.py:2\)"),
        ("unfinished_line", r"SyntaxError: .* \(.*unfinished_line.py:1\)"),
        ("exits", r"SystemExit: bye \(.*exits.py:1\)"),
        ("bad_name", r"ImportError: cannot import name 'Appp' from 'dueline' .* \(.*bad_name.py:1\)"),
        ("twice", r"there are two tasks called a: .* \(.*twice.py:5\)"),
    ],
)
def test_what_is_wrong_is_told(name: str, told: str) -> None:
    with pytest.raises(NotLoaded, match=told):
        load_app(name)
