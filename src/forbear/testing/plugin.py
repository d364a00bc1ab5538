"""
The pytest plugin: one fixture, `forbear_time`.

Law: pytest loads it in every session, so nothing of forbear's is imported until a test asks for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forbear.testing import VirtualClock


@pytest.fixture
def forbear_time() -> Iterator[VirtualClock]:
    """Virtual time in every thread and task: waits of forbear take no time, and are recorded in `.waits`."""
    from forbear.testing import virtual_time  # noqa: PLC0415 (plugins are loaded in every session)

    with virtual_time(everywhere=True) as clock:
        yield clock
