"""Places for what is known of a run only when it starts."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dueline.domain.templates import (
    NAMES,
    OF_A_JOB,
    SAMPLE,
    as_text,
    compile_template,
    in_header,
    in_json,
    in_url,
    template_problems,
    texts_in,
)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


def filled(text: str, **values: str) -> str:
    template = compile_template(text, as_text)
    return text if template is None else template.fill({**SAMPLE, **values})


def test_every_name_has_a_sample() -> None:
    assert SAMPLE.keys() == NAMES
    assert OF_A_JOB < NAMES


@pytest.mark.parametrize("name", sorted(NAMES))
@pytest.mark.parametrize("form", ["{{%s}}", "{{ %s }}", "a{{%s}}b", "{{{%s}}}", "%%s %%{{%s}}%%"])
def test_each_name_is_filled_wherever_it_stands(name: str, form: str) -> None:
    text = form % name
    assert filled(text) == text.replace("{{ ", "{{").replace(" }}", "}}").replace("{{" + name + "}}", SAMPLE[name])
    assert list(template_problems(text)) == []


@pytest.mark.parametrize(
    "text",
    ["", "{}", "{{}}", "{{run}}", "{{ job }}", "{{other.id}}", "{{run.id}", "{run.id}", "{{run .id}}", "{{\nrun.id}}"],
)
def test_other_braces_stay_as_they_are(text: str) -> None:
    assert compile_template(text, as_text) is None
    assert list(template_problems(text)) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{{run.idd}}", "{{run.idd}} at letter 1 is unknown; known are job.id, job.name, run.attempt,"),
        ("ab {{ job. }}", "{{job.}} at letter 4 is unknown"),
        ("{{tenant.name}}", "{{tenant.name}} at letter 1 is unknown"),
        ("{{run.id}}{{run.ID}}", "{{run.ID}} at letter 11 is unknown"),
        ("{{secrets.KEY}}", "{{secrets.KEY}} at letter 1 is reserved"),
    ],
)
def test_what_cannot_be_filled_is_told_with_its_place(text: str, problem: str) -> None:
    (found,) = template_problems(text)
    assert found.startswith(problem)


def test_every_problem_is_told() -> None:
    assert len(list(template_problems("{{run.a}} {{secrets.b}} {{job.id}} {{job.name}}", has_job=False))) == 4
    assert len(list(template_problems("{{run.a}} {{secrets.b}} {{job.id}} {{job.name}}"))) == 2


def test_a_text_of_before_keeps_what_nobody_knows() -> None:
    assert filled("{{run.old}} {{run.attempt}}") == "{{run.old}} 1"


@given(texts, texts, texts)
def test_a_value_stays_inside_its_json_string(before: str, value: str, after: str) -> None:
    plain = {"k": [before.replace("{{", "") + "{{tenant}}" + after.replace("{{", "")]}
    template = compile_template(json.dumps(plain), in_json)
    assert template is not None
    assert json.loads(template.fill({**SAMPLE, "tenant": value})) == {
        "k": [plain["k"][0].replace("{{tenant}}", value, 1)]
    }


@given(texts)
def test_a_value_in_a_url_is_unreserved_letters_only(value: str) -> None:
    assert re.fullmatch(r"(?:[A-Za-z0-9._~-]|%[0-9A-F]{2})*", in_url(value))


@given(texts)
def test_a_value_in_a_header_is_one_line_of_ascii(value: str) -> None:
    assert re.fullmatch(r"[ -~]*", in_header(value))
    if re.fullmatch(r"[ -~]*", value):
        assert in_header(value) == value


def test_texts_are_found_with_their_paths() -> None:
    value = {"a": "x", "b": [1, None, "y", {"c": "z"}]}
    assert list(texts_in(value, "body")) == [
        ("body.a", "a"),
        ("body.a", "x"),
        ("body.b", "b"),
        ("body.b[2]", "y"),
        ("body.b[3].c", "c"),
        ("body.b[3].c", "z"),
    ]
