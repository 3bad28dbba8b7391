"""Runs `recording_env.py` in a process of its own, the way a user starts an environment: `python env.py serve`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from .groups import Group
from .processes import Child

PROGRAM = Path(__file__).with_name("recording_env.py")
OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "WANDB_MODE": "disabled",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONUNBUFFERED": "1",
}


class EnvironmentProcess:
    """One environment and the file of groups it scored."""

    def __init__(self, name: str, folder: Path, url: str, inference_url: str, tokenizer: Path, config: dict[str, Any]):
        folder.mkdir(parents=True, exist_ok=True)
        self._record = folder / "groups.jsonl"
        env_config = {
            "rollout_server_url": url,
            "wandb_name": name,
            "tokenizer_name": str(tokenizer),
            "use_wandb": False,
            "max_num_workers": 4,
            "record": str(self._record),
            **config,
        }
        inference_config = {
            "server_type": "vllm",
            "base_url": inference_url,
            "model_name": "mock",
            "tokenizer_name": str(tokenizer),
            "api_key": "x",
        }
        config_file = folder / "config.yaml"
        # JSON is YAML.
        config_file.write_text(json.dumps({"env": env_config, "openai": inference_config}))
        self.process = Child(
            [sys.executable, str(PROGRAM), "serve", "--config", str(config_file)],
            log=folder / "environment.log",
            env=OFFLINE,
        )

    def groups(self) -> list[Group]:
        """The groups scored so far, each with the env_id it went out with."""
        if not self._record.exists():
            return []
        text = self._record.read_text()
        # The last line may be half written.
        return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]
