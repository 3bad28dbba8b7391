"""An aiohttp server of the test's own, on an event loop in a thread, so that tests can stay plain functions."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

MAX_BODY_BYTES = 256 * 1024 * 1024


class BackgroundServer:
    """Answers every request with `handle`, on a port of its own, until `stop`."""

    def __init__(self) -> None:
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._runner: web.AppRunner | None = None

    async def handle(self, request: web.Request) -> web.StreamResponse:
        raise NotImplementedError

    async def opened(self) -> None:
        """Called on the loop before the first request."""

    async def closing(self) -> None:
        """Called on the loop after the last request."""

    def start(self) -> None:
        self._thread.start()
        self._call(self._open)

    def stop(self) -> None:
        self._call(self._close)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=10)
        self._loop.close()

    def _call(self, step: Callable[[], Awaitable[Any]]) -> None:
        async def run() -> None:
            await step()

        asyncio.run_coroutine_threadsafe(run(), self._loop).result(timeout=30)

    async def _open(self) -> None:
        await self.opened()
        app = web.Application(client_max_size=MAX_BODY_BYTES)
        app.router.add_route("*", "/{path:.*}", self.handle)
        # Bodies are left as they came: whether they were compressed is what a tap is there to see.
        self._runner = web.AppRunner(app, auto_decompress=False, access_log=None, shutdown_timeout=1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def _close(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
        await self.closing()
