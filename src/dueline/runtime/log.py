"""Logs: one line an event, key=value for people on a terminal, JSON for machines."""

from __future__ import annotations

import logging
import sys
from typing import Any

import structlog


def get_log(name: str) -> Any:
    return structlog.get_logger(name)


class _Foreign(logging.Handler):
    """What libraries have to say, as lines among ours: whoever reads JSON must not find a traceback between two of them."""

    def emit(self, record: logging.LogRecord) -> None:
        get_log(record.name).log(record.levelno, record.getMessage(), logger=record.name, exc_info=record.exc_info)


def set_up_log(*, level: str, form: str) -> None:
    """Write events to standard error, those of libraries from warnings on; `form` is `text` or `json`."""
    renderer: Any = structlog.processors.JSONRenderer()
    if form == "text":
        renderer = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), pad_event_to=0)
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.ExceptionRenderer() if form == "json" else structlog.processors.StackInfoRenderer(),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(level=logging.WARNING, handlers=[_Foreign()], force=True)
