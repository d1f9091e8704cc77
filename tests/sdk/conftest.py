"""Clients of real servers, and of targets that say what a test wants."""

from collections.abc import Iterator

import pytest

from dueline import Client
from tests.api.conftest import own_api as own_api
from tests.api.serving import ServedApi
from tests.support.keys import ADMIN_KEY


@pytest.fixture
def client(own_api: ServedApi) -> Iterator[Client]:
    with Client(own_api.url, api_key=ADMIN_KEY) as client:
        yield client
