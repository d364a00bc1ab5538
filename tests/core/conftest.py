"""What is heard while a test runs."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from forbear import Event, on_event

from drivers import Lines, logged_to


@pytest.fixture
def told() -> Iterator[list[Event]]:
    """Every event of the process while the test runs."""
    events: list[Event] = []
    remove = on_event(events.append)
    yield events
    remove()


@pytest.fixture
def log() -> Iterator[Lines]:
    """Every line of the log, down to DEBUG."""
    handler = Lines()
    with logged_to(handler, logging.DEBUG):
        yield handler
