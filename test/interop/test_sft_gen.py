"""`atropos-sft-gen`, the command that turns a run into a file: another stock client, and one without retries."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import requests
from support.environment import OFFLINE
from support.processes import Child
from support.servers import Run
from support.waiting import STARTS_WITHIN_SECONDS, wait_until


def test_sft_gen_writes_what_was_sent(run: Run, tokenizer: Path, tmp_path: Path) -> None:
    output = tmp_path / "sft.jsonl"
    command = [str(Path(sys.executable).with_name("atropos-sft-gen")), str(output), "--api-url", run.url("trainer")]
    options = {"--group-size": 2, "--tasks-per-step": 4, "--num-seqs-to-save": 8, "--tokenizer": tokenizer}
    flags = [str(word) for option in options.items() for word in option]
    sft_gen = Child([*command, *flags], log=tmp_path / "sft-gen.log", env=OFFLINE)
    sft_gen.start()
    try:

        def registered() -> bool:
            sft_gen.require_alive()
            return requests.get(run.url("trainer") + "/info", timeout=10).json()["batch_size"] == 8

        wait_until(registered, "atropos-sft-gen to register", STARTS_WITHIN_SECONDS)
        for item in range(4):
            tokens = [[10, 20 + item, 30 + item], [10, 20 + item, 40 + item]]
            group = {"tokens": tokens, "masks": tokens, "scores": [1.0, 0.5]}
            answer = requests.post(run.url("environment") + "/scored_data", json=group, timeout=10)
            assert answer.json() == {"status": "received"}, answer.text
        assert sft_gen.wait(timeout=60) == 0, sft_gen.log_tail()
    finally:
        sft_gen.kill()

    rows = [json.loads(line) for line in output.read_text().splitlines()]
    texts = {row["prefix"] + row["completion"] for row in rows}
    assert texts == {f"w10 w{20 + item} w{last + item}" for item in range(4) for last in (30, 40)}
