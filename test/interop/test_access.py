"""Who gets in, as a client that only knows its server URL sees it."""

from __future__ import annotations

import pytest
import requests
from support.servers import Run
from support.trainer import Trainer

pytestmark = pytest.mark.lachesis_only

TRAINER_CALLS = [("GET", "/info"), ("POST", "/register"), ("GET", "/batch")]


@pytest.mark.parametrize(("method", "path"), TRAINER_CALLS)
@pytest.mark.parametrize("credentials", ["", "x:not-a-token@"], ids=["none", "wrong"])
def test_no_or_a_wrong_token_is_401(run: Run, method: str, path: str, credentials: str) -> None:
    url = f"http://{credentials}127.0.0.1:{run.server.port}/runs/{run.name}{path}"
    assert requests.request(method, url, json={}, timeout=10).status_code == 401


def test_a_token_is_good_for_its_run_and_role_only(run: Run) -> None:
    Trainer(run.url("trainer"), batch_size=4).register()
    other = Run(run.server, "some-other-run")
    elsewhere = other.url("trainer").replace(f"/runs/{other.name}", f"/runs/{run.name}")
    assert requests.get(elsewhere + "/batch", timeout=10).status_code in (401, 403)
    assert requests.get(run.url("environment") + "/batch", timeout=10).status_code in (401, 403)
    assert requests.get(run.url("trainer") + "/batch", timeout=10).json() == {"batch": None}
