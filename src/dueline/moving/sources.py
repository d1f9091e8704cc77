"""The sources that can be moved from, by the names that the command has for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from dueline.moving.apscheduler import is_program, read_jobs, read_program
from dueline.moving.celerybeat import read_beat
from dueline.moving.crontabs import read_crontab
from dueline.moving.django_dumps import read_dump
from dueline.moving.entries import Entry, Options, Pending, convert
from dueline.moving.eventbridge import read_schedules
from dueline.moving.kubernetes import read_cronjobs


def _read_celery(text: str, options: Options) -> Iterator[Pending]:
    return read_beat(text, options) if is_program(text) else read_dump(text, options)


def _read_apscheduler(text: str, options: Options) -> Iterator[Pending]:
    return read_program(text, options) if is_program(text) else read_jobs(text, options)


SOURCES: Mapping[str, Callable[[str, Options], Iterator[Pending]]] = {
    "crontab": read_crontab,
    "celery-beat": _read_celery,
    "apscheduler": _read_apscheduler,
    "kubernetes-cronjob": read_cronjobs,
    "eventbridge": read_schedules,
}


def convert_file(source: str, text: str, options: Options) -> list[Entry]:
    """The entries of a file, in its order; Invalid where it cannot be read at all."""
    return convert(SOURCES[source](text, options), options)
