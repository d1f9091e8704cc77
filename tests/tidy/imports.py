"""What a file imports, and what its names mean."""

import ast
from collections.abc import Iterator


def imported_modules(tree: ast.AST, module_path: str) -> Iterator[tuple[int, str]]:
    """The line and dotted name of everything imported, at the top, in functions and under TYPE_CHECKING alike.

    `from a import b` gives `a.b`, since b may be a module.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, name.name) for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = _origin(node, module_path)
            yield from ((node.lineno, f"{origin}.{name.name}") for name in node.names)


def name_origins(tree: ast.AST) -> dict[str, str]:
    """What each imported name stands for: after `from datetime import datetime as dt`, dt is datetime.datetime."""
    origins: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                if name.asname is None:
                    top = name.name.partition(".")[0]
                    origins[top] = top
                else:
                    origins[name.asname] = name.name
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
            origins |= {name.asname or name.name: f"{node.module}.{name.name}" for name in node.names}
    return origins


def references(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every use of an imported name, spelled in full: `dt.now` as `datetime.datetime.now`."""
    origins = name_origins(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Name):
            dotted = _dotted(node, origins)
            if dotted is not None:
                yield node.lineno, dotted


def _dotted(node: ast.expr, origins: dict[str, str]) -> str | None:
    if isinstance(node, ast.Name):
        return origins.get(node.id)
    if isinstance(node, ast.Attribute):
        owner = _dotted(node.value, origins)
        return None if owner is None else f"{owner}.{node.attr}"
    return None


def _origin(node: ast.ImportFrom, module_path: str) -> str:
    if node.level == 0:
        return node.module or ""
    package = ["dueline", *module_path.split("/")[:-1]]
    base = package[: len(package) - node.level + 1]
    return ".".join([*base, node.module] if node.module else base)
