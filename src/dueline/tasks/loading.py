"""Finding an app by its name, `module:app`, with an answer for everything that can be wrong with it."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from pathlib import Path

from dueline.tasks.app import App
from dueline.tasks.errors import NotLoaded

ATTRIBUTE_DEFAULT = "app"
_NOT_THEIRS = (f"{Path(__file__).parents[1]}{os.sep}", importlib.__file__, "<frozen importlib")
"""Where the files begin that are between us and the code of an app's module."""


def load_app(name: str) -> App:
    """The app of `module:attribute`; of a module alone it is its `app`. The current directory is searched first.

    Raises NotLoaded, which says what to correct and where.
    """
    module_name, _, attribute = name.partition(":")
    attribute = attribute or ATTRIBUTE_DEFAULT
    if not all(part.isidentifier() for part in module_name.split(".")) or not attribute.isidentifier():
        raise NotLoaded(f"{name!r} does not name an app: write module:app, such as shop.tasks:app")
    directory = os.getcwd()
    if directory not in sys.path and "" not in sys.path:
        sys.path.insert(0, directory)
    module = _import(module_name, directory)
    try:
        found = getattr(module, attribute)
    except AttributeError:
        apps = [each for each, value in vars(module).items() if isinstance(value, App)]
        meant = f": did you mean {module_name}:{apps[0]}?" if apps else ""
        raise NotLoaded(f"{module_name} ({_file(module)}) has no {attribute!r}{meant}") from None
    if not isinstance(found, App):
        raise NotLoaded(f"{module_name}:{attribute} is a {type(found).__name__}, not an App")
    found.origin = f"{module_name}:{attribute}"
    return found


def _import(name: str, directory: str) -> object:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or name
        if name == missing or name.startswith(f"{missing}."):
            raise NotLoaded(f"there is no module {missing!r}, in {directory} or among the installed ones") from None
        raise NotLoaded(f"{name} cannot be imported: {_told(error)}") from error
    except BaseException as error:  # reason: the module's own code runs here, and may even exit.
        if isinstance(error, KeyboardInterrupt):
            raise
        raise NotLoaded(f"{name} cannot be imported: {_told(error)}") from error


def _told(error: BaseException) -> str:
    """The last line of the traceback, and where in the module's own code it comes from."""
    last = "".join(traceback.format_exception_only(error)).strip().splitlines()[-1]
    if isinstance(error, SyntaxError) and error.filename:
        return f"{last} ({error.filename}:{error.lineno})"
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(_NOT_THEIRS)
    ]
    return f"{last} ({frames[-1].filename}:{frames[-1].lineno})" if frames else last


def _file(module: object) -> str:
    return getattr(module, "__file__", None) or "a package"
