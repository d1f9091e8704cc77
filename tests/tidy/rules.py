"""The rules of the house, each a function from one source to its findings."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator

from tests.tidy.imports import references
from tests.tidy.tree import Source, lies_in

FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 70

CLOCK = [
    "time.time",
    "time.time_ns",
    "time.monotonic",
    "time.monotonic_ns",
    "time.perf_counter",
    "time.perf_counter_ns",
    "time.sleep",
    "datetime.datetime.now",
    "datetime.datetime.utcnow",
    "datetime.datetime.today",
    "datetime.date.today",
]
CHANCE = ["random"]
ENVIRONMENT = ["os.environ", "os.environb", "os.getenv", "os.getenvb", "os.putenv"]
# What must be passed in rather than reached for, and the only place that may reach.
HOMES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(CLOCK, ("runtime/",)),
    **dict.fromkeys(CHANCE, ("runtime/",)),
    **dict.fromkeys(ENVIRONMENT, ("config.py",)),
}
PRINT_HOME = ("cli/",)
# Chance by other names, of which the standard library is full.
NEVER_IN_DOMAIN = ("uuid.uuid1", "uuid.uuid4", "uuid.uuid6", "uuid.uuid7")

BROAD_EXCEPT_HOME = ("src/dueline/runtime/loop.py",)
REASON = re.compile(r"#\s*reason: \S")

VAGUE_NAMES = frozenset(
    ["util.py", "utils.py", "helper.py", "helpers.py", "manager.py", "managers.py", "common.py", "misc.py"]
)

# Each tag is written in pieces, so that a plain text search finds only what is left to do.
UNFINISHED = re.compile(r"\b(?:" + "|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK")) + r")\b")
BARE_SILENCE = re.compile(r"#\s*(?:noqa(?!:\s*[A-Z])|type:\s*ignore(?!\[)|mypy:\s*ignore-errors|ruff:\s*noqa(?!:))")

QUERY_METHODS = frozenset(
    [
        "execute",
        "executemany",
        "executescript",
        "fetch",
        "fetchall",
        "fetchmany",
        "fetchone",
        "fetchrow",
        "fetchval",
        "prepare",
    ]
)

Finding = tuple[int, str]


def long_files(source: Source) -> Iterator[Finding]:
    lines = len(source.text.splitlines())
    if lines > FILE_LINES_MAX:
        yield lines, f"{lines} lines are two files; the end is {FILE_LINES_MAX}"


def long_functions(source: Source) -> Iterator[Finding]:
    for node in ast.walk(ast.parse(source.text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > FUNCTION_LINES_MAX:
                yield node.lineno, f"{node.name} has {lines} lines; the end is {FUNCTION_LINES_MAX}"


def vague_names(source: Source) -> Iterator[Finding]:
    name = source.path.rpartition("/")[2]
    if name in VAGUE_NAMES:
        yield 1, f"{name} says nothing of what is in it"


def reaching(source: Source) -> Iterator[Finding]:
    """Clock, chance and environment outside their homes, called or merely named, under any alias."""
    in_domain = source.module_path.startswith("domain/")
    for line, name in references(ast.parse(source.text)):
        for banned, homes in HOMES.items():
            if (name == banned or name.startswith(f"{banned}.")) and not lies_in(source.module_path, homes):
                yield line, f"{banned} belongs to {', '.join(homes)}"
        if in_domain and name in NEVER_IN_DOMAIN:
            yield line, f"{name} has no place in the domain"


def printing(source: Source) -> Iterator[Finding]:
    if lies_in(source.module_path, PRINT_HOME):
        return
    for node in ast.walk(ast.parse(source.text)):
        if isinstance(node, ast.Name) and node.id == "print":
            yield node.lineno, "print belongs to cli/; elsewhere there is the log"


def broad_excepts(source: Source) -> Iterator[Finding]:
    """`except Exception` outside the loop, unless the line says `# reason: …`."""
    if lies_in(source.path, BROAD_EXCEPT_HOME):
        return
    lines = source.text.splitlines()
    for node in ast.walk(ast.parse(source.text)):
        if isinstance(node, ast.ExceptHandler) and _is_broad(node) and not REASON.search(lines[node.lineno - 1]):
            yield node.lineno, "a broad except outside runtime/loop.py needs its reason on the line"


def unfinished(source: Source) -> Iterator[Finding]:
    for line, comment in _comments(source):
        if UNFINISHED.search(comment):
            yield line, "finish it, or leave it out"


def bare_silences(source: Source) -> Iterator[Finding]:
    for line, comment in _comments(source):
        if BARE_SILENCE.search(comment):
            yield line, "name the code that is silenced"


def built_queries(source: Source) -> Iterator[Finding]:
    """SQL put together from pieces on its way to the database, in the call itself or in a variable named in it."""
    tree = ast.parse(source.text)
    built_names = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and _is_built(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
            continue
        query = node.args[0]
        is_built = _is_built(query) or (isinstance(query, ast.Name) and query.id in built_names)
        if node.func.attr in QUERY_METHODS and is_built:
            yield node.lineno, "SQL is written whole in a .sql file, and takes arguments"


def _is_broad(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(isinstance(kind, ast.Name) and kind.id in ("Exception", "BaseException") for kind in kinds)


def _is_built(node: ast.expr) -> bool:
    match node:
        case ast.JoinedStr(values=values):
            return any(isinstance(value, ast.FormattedValue) for value in values)
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return any(_is_text(side) or _is_built(side) for side in (left, right))
        case ast.BinOp(op=ast.Mod(), left=left):
            return _is_text(left) or _is_built(left)
        case ast.Call(func=ast.Attribute(value=owner, attr="format" | "join" | "replace")):
            return _is_text(owner)
    return False


def _is_text(node: ast.expr) -> bool:
    """A string, or a constant that by its name holds one."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str)
    return isinstance(node, ast.Name) and node.id.isupper()


def _comments(source: Source) -> Iterator[tuple[int, str]]:
    """Comments proper: text in strings, such as the bad examples in the tests of these rules, is none."""
    for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
