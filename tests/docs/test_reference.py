"""The reference is complete and true: every route, field, command, option and setting is in it, and nothing else is."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import typer

from dueline import config
from dueline.api.app import ROUTES
from dueline.api.routes import ApiRoute
from dueline.cli.main import app
from dueline.cli.nouns import Unloaded
from dueline.wire.audits import AuditView, LateView
from dueline.wire.backfills import BackfillInput, BackfillItem, BackfillView
from dueline.wire.bulk import BulkJobsInput, BulkJobsView, BulkRunsInput, BulkRunsView, JobItem, RunItem
from dueline.wire.calendars import CalendarInput, CalendarView
from dueline.wire.deadletters import (
    BulkRedriveInput,
    BulkRedriveView,
    DeadLetterView,
    ExecutedView,
    PurgeView,
    RedriveInput,
)
from dueline.wire.desk import (
    AcceptedView,
    CancelView,
    GivenBackForm,
    HeartbeatInput,
    HeartbeatView,
    LeasedView,
    LeaseInput,
    LeaseView,
    OfferForm,
    ProgressForm,
    ProgressInput,
    RegisteredView,
    RegisterInput,
    ReleaseInput,
    ReportInput,
    ResultForm,
)
from dueline.wire.events import AttemptEventView, EventView, JobEventView, RunEventView
from dueline.wire.forecasts import ForecastView, HotMinuteView, PeakView, ProposalView, ShareView
from dueline.wire.jobs import JobInput, JobView, NewJobInput
from dueline.wire.jobtypes import JobTypeView
from dueline.wire.keys import CallerView, KeyInput, KeyView, NewKeyView
from dueline.wire.limits import ConcurrencyForm, LimitInput, LimitView, StartRateForm
from dueline.wire.notices import NotifyForm
from dueline.wire.occurrences import MoveInput, OccurrenceView
from dueline.wire.policies import MisfireForm, RetryForm
from dueline.wire.previews import ChangesView, FireView, PreviewInput, PreviewView
from dueline.wire.queues import QueueView
from dueline.wire.recoveries import JobRecoveryView, RecoveryInput, RecoveryView
from dueline.wire.runs import AdhocInput, AttemptView, RetryInput, RunView
from dueline.wire.schedules import ChangedForm, ScheduleForm
from dueline.wire.secrets import NewSecretView, SecretView
from dueline.wire.simple import SimpleJobInput, SimpleJobView, SimpleUpdateInput
from dueline.wire.targets import HttpTargetForm, TaskTargetForm, TlsForm
from dueline.wire.tenants import QuotasForm, TenantInput, TenantView, UsedView
from dueline.wire.upcoming import UpcomingView
from dueline.wire.versions import ChangeView, DefinitionView, DiffView, VersionView
from dueline.wire.whys import GateView, JobWhyView, SharesView, TenantShareView, WhyView
from dueline.wire.workers import WorkerView

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
API = (REFERENCE / "api.md").read_text()
CLI = (REFERENCE / "cli.md").read_text()
SETTINGS = (REFERENCE / "settings.md").read_text()

ROOT_OPTIONS = {
    *("--version", "--install-completion", "--show-completion"),
    *("--profile", "--server", "--api-key-file"),
}
FORMS = [
    *(
        JobInput,
        NewJobInput,
        JobView,
        RetryForm,
        MisfireForm,
        ScheduleForm,
        ChangedForm,
        HttpTargetForm,
        TaskTargetForm,
        TlsForm,
    ),
    *(VersionView, DefinitionView, DiffView, ChangeView),
    *(BulkJobsInput, BulkJobsView, JobItem, BulkRunsInput, BulkRunsView, RunItem),
    *(
        AdhocInput,
        RetryInput,
        RunView,
        AttemptView,
        OccurrenceView,
        MoveInput,
        BackfillInput,
        BackfillView,
        BackfillItem,
    ),
    *(PreviewInput, PreviewView, FireView, ChangesView, CalendarInput, CalendarView, AuditView, LateView),
    *(RecoveryInput, RecoveryView, JobRecoveryView, ForecastView, HotMinuteView, ShareView, ProposalView, PeakView),
    *(DeadLetterView, ExecutedView, RedriveInput, BulkRedriveInput, BulkRedriveView, PurgeView),
    *(WhyView, JobWhyView, UpcomingView, GateView, SharesView, TenantShareView),
    *(EventView, RunEventView, JobEventView, AttemptEventView, NotifyForm),
    *(ConcurrencyForm, StartRateForm, LimitInput, LimitView),
    *(TenantInput, TenantView, QuotasForm, UsedView),
    *(QueueView, WorkerView, JobTypeView, SecretView, NewSecretView, KeyInput, KeyView, NewKeyView, CallerView),
    *(SimpleJobInput, SimpleUpdateInput, SimpleJobView),
    *(RegisterInput, OfferForm, RegisteredView, HeartbeatInput, HeartbeatView, CancelView, LeaseInput, LeaseView),
    *(LeasedView, ReportInput, ResultForm, ReleaseInput, GivenBackForm, ProgressInput, ProgressForm, AcceptedView),
]


def sections(text: str) -> dict[str, str]:
    """The text under each heading of the form ### `…`."""
    parts = re.split(r"^### `([^`]+)`$", text, flags=re.MULTILINE)
    return {
        name: re.split(r"^## ", body, flags=re.MULTILINE)[0]
        for name, body in zip(parts[1::2], parts[2::2], strict=True)
    }


def rows(text: str) -> Iterator[list[str]]:
    """The cells of every table row that begins with code."""
    for line in text.splitlines():
        if line.startswith("| `"):
            yield [cell.strip() for cell in line.strip().strip("|").split("|")]


def commands(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(command, Unloaded):
        command = command.load()
    inner = getattr(command, "commands", None)
    if inner is None:
        yield path, command
    else:
        for name, one in inner.items():
            yield from commands(one, f"{path} {name}")


def options_of(command: Any) -> set[str]:
    """The long options of a command."""
    options = [parameter for parameter in command.params if parameter.param_type_name == "option"]
    return {spelt for option in options for spelt in option.opts if spelt.startswith("--")} - {"--help"}


COMMANDS = dict(commands(typer.main.get_command(app), "dueline"))


def test_every_route_is_documented_and_no_other() -> None:
    assert list(sections(API)) == [f"{route.method} {route.path}" for route in ROUTES]


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_every_parameter_is_documented(route: ApiRoute) -> None:
    section = sections(API)[f"{route.method} {route.path}"]
    missing = [name for name in route.query if f"`{name}`" not in section]
    assert missing == []


@pytest.mark.parametrize("form", FORMS)
def test_every_field_is_documented(form: type[msgspec.Struct]) -> None:
    missing = [name for name in form.__struct_encode_fields__ if f"`{name}`" not in API and f'"{name}"' not in API]
    assert missing == []


def test_every_field_of_the_tables_exists() -> None:
    known = {name for form in FORMS for name in form.__struct_encode_fields__}
    documented = [
        name for cells in rows(API) if not cells[0].startswith("`{") for name in re.findall(r"`(\w+)`", cells[0])
    ]
    assert documented
    assert set(documented) <= known


def test_every_command_is_documented_and_no_other() -> None:
    assert set(sections(CLI)) == set(COMMANDS)


@pytest.mark.parametrize("path", sorted(COMMANDS))
def test_every_option_is_documented_and_no_other(path: str) -> None:
    listed = re.search(r"^Options: ((?:`--[a-z-]+`\s*)+)", sections(CLI)[path], flags=re.MULTILINE)
    documented = set(re.findall(r"--[a-z-]+", listed[1])) if listed else set()
    assert documented == options_of(COMMANDS[path])


def test_every_option_is_explained_and_no_other() -> None:
    explained = {re.findall(r"--[a-z-]+", cells[0])[0] for cells in rows(CLI)}
    assert explained == {option for command in COMMANDS.values() for option in options_of(command)}


def test_the_options_of_dueline_itself_are_documented() -> None:
    assert options_of(typer.main.get_command(app)) == ROOT_OPTIONS
    for option in ROOT_OPTIONS - {"--show-completion"}:
        assert option in CLI


@pytest.mark.parametrize("path", sorted(COMMANDS))
def test_every_command_says_what_it_does(path: str) -> None:
    assert COMMANDS[path].help


def test_every_setting_is_documented_with_its_variable_and_default() -> None:
    settings = config.load_settings(environ={"XDG_CONFIG_HOME": "/nowhere", "XDG_DATA_HOME": "/data"})
    documented = {cells[0].strip("`"): cells for cells in rows(SETTINGS)}
    assert list(documented) == config.names()
    for name, cells in documented.items():
        assert cells[1] == f"`{config.PREFIX}{name.upper()}`"
        if name != "db":
            assert cells[2].strip("`") == config.shown(settings, name)
    assert config.CONFIG_VARIABLE in SETTINGS
    assert config.PROFILE_VARIABLE in SETTINGS
