"""The document as one page for people: rendered here, so that it works without scripts, and with nothing fetched from anywhere.

Its style and its script stand in it, and the policy names both by their hashes: nothing else that got into the page would run.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any

_STYLE = files("dueline.api.openapi").joinpath("page.css").read_text()
_SCRIPT = files("dueline.api.openapi").joinpath("page.js").read_text()
_CODE = re.compile(r"`([^`]+)`")
_ALWAYS = ' <span class="needed">always</span>'
_WORDS = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "object": "object",
    "null": "null",
}
_BOUNDS = {
    "minimum": "at least",
    "maximum": "at most",
    "minLength": "letters at least",
    "maxLength": "letters at most",
    "minItems": "entries at least",
    "maxItems": "entries at most",
    "pattern": "like",
}


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


POLICY = (
    f"default-src 'none'; style-src {_hash(_STYLE)}; script-src {_hash(_SCRIPT)}; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def render_page(document: Mapping[str, Any], document_path: str) -> str:
    """The whole page. `document_path` is where the document itself is served."""
    info = document["info"]
    operations = list(_operations(document))
    tags = {tag["name"]: tag["description"] for tag in document["tags"]}
    by_tag = {name: [entry for entry in operations if entry[2]["tags"] == [name]] for name in tags}
    nav = "".join(_nav_group(name, entries) for name, entries in by_tag.items())
    body = "".join(_tag_group(name, tags[name], entries, document) for name, entries in by_tag.items())
    components = document["components"]
    problems = "".join(_problem(name, answer, document) for name, answer in components["responses"].items())
    schemas = "".join(_schema(name, schema) for name, schema in components["schemas"].items())
    intro = "".join(f"<p>{_prose(part)}</p>" for part in info["description"].split("\n\n"))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(info['title'])} API</title><style>{_STYLE}</style></head><body>"
        f'<div class="layout"><nav aria-label="Operations">'
        '<input id="filter" type="search" placeholder="Filter, or press /" aria-label="Filter operations" hidden>'
        f'{nav}<h2><a href="#problems">problems</a></h2><h2><a href="#schemas">schemas</a></h2></nav>'
        f'<main><h1>{escape(info["title"])} API</h1><p class="id">{escape(info["version"])}, '
        f'<a href="{escape(document_path)}">OpenAPI {escape(document["openapi"])}</a></p>{intro}{body}'
        f'<h2 id="problems">problems</h2>{problems}<h2 id="schemas">schemas</h2>{schemas}</main></div>'
        f"<script>{_SCRIPT}</script></body></html>"
    )


def _operations(document: Mapping[str, Any]) -> Iterable[tuple[str, str, Mapping[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def _nav_group(name: str, entries: list[tuple[str, str, Mapping[str, Any]]]) -> str:
    items = "".join(
        f'<li data-words="{_searched(*entry)}"><a href="#{escape(entry[2]["operationId"])}">'
        f"{escape(entry[2]['operationId'])}</a></li>"
        for entry in entries
    )
    return f"<div data-group><h2>{escape(name)}</h2><ul>{items}</ul></div>"


def _tag_group(
    name: str,
    words: str,
    entries: list[tuple[str, str, Mapping[str, Any]]],
    document: Mapping[str, Any],
) -> str:
    shown = "".join(_operation(*entry, document) for entry in entries)
    return f'<div data-group><h2 id="tag-{escape(name)}">{escape(name)}</h2><p>{_prose(words)}</p>{shown}</div>'


def _operation(method: str, path: str, operation: Mapping[str, Any], document: Mapping[str, Any]) -> str:
    name, summary, words = operation["operationId"], operation["summary"], operation["description"]
    told = f"<p>{_prose(summary)}</p>" + (f"<p>{_prose(words)}</p>" if words != summary else "")
    return (
        f'<section class="operation" id="{escape(name)}" data-words="{_searched(method, path, operation)}">'
        f'<h3><span class="method">{escape(method)}</span> <code>{escape(path)}</code></h3>'
        f'<p class="id">{escape(name)}</p>{told}'
        f"{_parameters(operation['parameters'], document)}{_request(operation.get('requestBody'), document)}"
        f"{_answers(operation['responses'], document)}</section>"
    )


def _searched(method: str, path: str, operation: Mapping[str, Any]) -> str:
    return escape(f"{method} {path} {operation['operationId']} {operation['summary']}".lower())


def _parameters(parameters: list[Mapping[str, Any]], document: Mapping[str, Any]) -> str:
    rows = []
    for parameter in (_resolved(one, document) for one in parameters):
        needed = ' <span class="needed">required</span>' if parameter.get("required") else ""
        rows.append(
            f"<tr><td><code>{escape(parameter['name'])}</code>{needed}</td><td>{escape(parameter['in'])}</td>"
            f"<td>{_type(parameter['schema'])}{_default(parameter['schema'])}</td>"
            f"<td>{_prose(parameter['description'])}</td></tr>"
        )
    return f"<table><tr><th>parameter</th><th>in</th><th>type</th><th></th></tr>{''.join(rows)}</table>"


def _request(body: Mapping[str, Any] | None, document: Mapping[str, Any]) -> str:
    if body is None:
        return ""
    types = ", ".join(f"<code>{escape(media_type)}</code>" for media_type in body["content"])
    content = next(iter(body["content"].values()))
    optional = "" if body["required"] else ", may be left out"
    return f"<p>Body: {_type(content['schema'])} as {types}{optional}</p>{_examples(content, document)}"


def _answers(answers: Mapping[str, Any], document: Mapping[str, Any]) -> str:
    """Successes in full. What many operations refuse alike is shown once, further down."""
    rows, refusals = [], []
    for status, answer in answers.items():
        if "$ref" in answer:
            name = answer["$ref"].rpartition("/")[2]
            refusals.append(f'<a href="#problem-{escape(name)}">{escape(status)} {_several(name)}</a>')
        else:
            headers = ", ".join(f"<code>{escape(name)}</code>" for name in answer["headers"])
            words = f"{_prose(answer['description'])}{_contents(answer, document)}"
            rows.append(f"<tr><td>{escape(status)}</td><td>{words}</td><td>{headers}</td></tr>")
    table = f"<table><tr><th>answer</th><th></th><th>headers</th></tr>{''.join(rows)}</table>"
    return f'{table}<p class="id">Refusals: {"; ".join(refusals)}</p>'


def _several(name: str) -> str:
    return escape(name.replace(".", ", "))


def _contents(answer: Mapping[str, Any], document: Mapping[str, Any]) -> str:
    return "".join(
        f"<div>{_type(content['schema'])} as <code>{escape(media_type)}</code></div>{_examples(content, document)}"
        for media_type, content in answer.get("content", {}).items()
    )


def _problem(name: str, answer: Mapping[str, Any], document: Mapping[str, Any]) -> str:
    words = "<br>".join(_prose(line) for line in answer["description"].splitlines())
    return (
        f'<section class="schema" id="problem-{escape(name)}"><h3>{_several(name)}</h3>'
        f"<p>{words}</p>{_contents(answer, document)}</section>"
    )


def _examples(content: Mapping[str, Any], document: Mapping[str, Any]) -> str:
    shown = []
    for name, example in content.get("examples", {}).items():
        value = _resolved(example, document)["value"]
        if not isinstance(value, str):
            value = json.dumps(value, indent=2, ensure_ascii=False)
        words = escape(example.get("summary", name))
        shown.append(f"<details><summary>Example: {words}</summary><pre>{escape(value)}</pre></details>")
    return "".join(shown)


def _schema(name: str, schema: Mapping[str, Any]) -> str:
    required = schema.get("required", ())
    rows = "".join(
        f"<tr><td><code>{escape(field)}</code>"
        f"{_ALWAYS if field in required else ''}</td>"
        f"<td>{_type(inner)}{_default(inner)}</td><td>{_prose(inner.get('description', ''))}</td></tr>"
        for field, inner in schema.get("properties", {}).items()
    )
    fields = f"<table>{rows}</table>" if rows else f"<p>{_type(schema)}</p>"
    examples = "".join(
        f"<pre>{escape(json.dumps(one, ensure_ascii=False))}</pre>" for one in schema.get("examples", ())
    )
    return (
        f'<section class="schema" id="schema-{escape(name)}"><h3>{escape(name)}</h3>'
        f"<p>{_prose(schema['description'])}</p>{fields}{examples}</section>"
    )


def _type(schema: Mapping[str, Any]) -> str:
    """A schema in words, with what it refers to behind a link."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f'<a href="#schema-{name}">{name}</a>'
    if "anyOf" in schema:
        return " or ".join(_type(option) for option in schema["anyOf"])
    if "enum" in schema:
        return " ".join(f"<code>{escape(str(value))}</code>" for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}{_bounds(schema)}"
    if schema.get("type") == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {_type(schema['additionalProperties'])}"
    return _WORDS.get(schema.get("type", ""), "any JSON") + _bounds(schema)


def _bounds(schema: Mapping[str, Any]) -> str:
    told = [f"{words} <code>{escape(str(schema[key]))}</code>" for key, words in _BOUNDS.items() if key in schema]
    return f" ({', '.join(told)})" if told else ""


def _default(schema: Mapping[str, Any]) -> str:
    if "default" not in schema:
        return ""
    return f", default <code>{escape(json.dumps(schema['default'], ensure_ascii=False))}</code>"


def _resolved(part: Mapping[str, Any], document: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" not in part:
        return part
    found: Any = document
    for name in part["$ref"].removeprefix("#/").split("/"):
        found = found[name]
    resolved: Mapping[str, Any] = found
    return resolved


def _prose(text: str) -> str:
    return _CODE.sub(r"<code>\1</code>", escape(text))
