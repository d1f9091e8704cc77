"""Logs: one line an event, key=value for people on a terminal, JSON for machines."""

from __future__ import annotations

import logging
import sys
from typing import Any

import structlog


def get_log(name: str) -> Any:
    return structlog.get_logger(name)


def set_up_log(*, level: str, form: str) -> None:
    """Write events to standard error; `form` is `text` or `json`."""
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
