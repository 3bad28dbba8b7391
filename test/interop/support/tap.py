"""A reverse proxy between environments and the server: it watches, and it does what proxies do to bodies of GETs."""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
import time
from dataclasses import dataclass
from typing import Any

import aiohttp
from aiohttp import web

from .background import BackgroundServer
from .groups import Group

HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "host"}
# How long a request waits for a server that is being restarted, as a load balancer would hold it.
HOLD_SECONDS = 60.0
RETRY_SECONDS = 0.05


@dataclass
class Exchange:
    """One request as the client sent it, and what the server made of it."""

    method: str
    path: str
    content_encoding: str | None
    raw_body: bytes
    status: int | None
    """None: the connection broke after the request had left, so whether it counted is unknown."""
    answer: Any

    @property
    def body(self) -> bytes:
        return gzip.decompress(self.raw_body) if self.content_encoding == "gzip" else self.raw_body

    @property
    def groups(self) -> list[Group]:
        """The groups of a scored-data post, as JSON values."""
        value = json.loads(self.body)
        return value if isinstance(value, list) else [value]


class Tap(BackgroundServer):
    """Forwards everything, Authorization included, to `upstream_port`, and keeps the exchanges.

    With `strip_get_bodies` a GET arrives without its body, which is what proxies and CDNs do to it.

    A stock environment ends its main loop after three failed status polls, and those can be over in a few
    milliseconds. So requests that found nobody listening wait here until the server is back, and a GET that broke off
    is sent again; a POST that broke off is answered 502, for only its sender can decide to repeat it.
    """

    def __init__(self, upstream_port: int, strip_get_bodies: bool = False) -> None:
        super().__init__()
        self._upstream = f"http://127.0.0.1:{upstream_port}"
        self._strip_get_bodies = strip_get_bodies
        self._session: aiohttp.ClientSession | None = None
        self._exchanges: list[Exchange] = []
        self._lock = threading.Lock()
        self.posts_under_way = 0

    def exchanges(self, path_end: str, label: str | None = None) -> list[Exchange]:
        """What passed so far, by the end of its path and, if given, the label in its path."""
        below = f"/as/{label}/" if label else ""
        with self._lock:
            return [e for e in self._exchanges if e.path.endswith(path_end) and below in e.path]

    def posts(self) -> list[Exchange]:
        """Every scored-data post, of one group or of a list."""
        return self.exchanges("/scored_data") + self.exchanges("/scored_data_list")

    async def opened(self) -> None:
        # A new connection each time: a kept one that breaks would leave it open whether the request had arrived.
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(force_close=True, limit=0), auto_decompress=False
        )

    async def closing(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        is_post = request.method == "POST"
        self.posts_under_way += is_post
        try:
            return await self._pass_on(request)
        finally:
            self.posts_under_way -= is_post

    async def _pass_on(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        headers = {k: v for k, v in request.headers.items() if k.lower() not in HOP_BY_HOP}
        sent_body = None if request.method == "GET" and self._strip_get_bodies else body
        try:
            answer, text = await self._forward(request, headers, sent_body)
        except aiohttp.ClientError as error:
            self._record(request, body, None, None)
            return web.Response(status=502, text=f"the server went away: {error}")
        self._record(request, body, answer.status, decoded(answer, text))
        kept = {k: v for k, v in answer.headers.items() if k.lower() not in HOP_BY_HOP}
        return web.Response(status=answer.status, headers=kept, body=text)

    async def _forward(
        self, request: web.Request, headers: dict[str, str], body: bytes | None
    ) -> tuple[aiohttp.ClientResponse, bytes]:
        assert self._session is not None
        deadline = time.monotonic() + HOLD_SECONDS
        while True:
            try:
                async with self._session.request(
                    request.method,
                    self._upstream + request.raw_path,
                    headers=headers,
                    data=body,
                    allow_redirects=False,
                ) as answer:
                    return answer, await answer.read()
            except aiohttp.ClientError as error:
                never_left = isinstance(error, aiohttp.ClientConnectorError)
                if not (never_left or request.method == "GET") or time.monotonic() > deadline:
                    raise
            await asyncio.sleep(RETRY_SECONDS)

    def _record(self, request: web.Request, body: bytes, status: int | None, answer: Any) -> None:
        exchange = Exchange(
            request.method,
            request.path,
            request.headers.get("Content-Encoding"),
            body,
            status,
            answer,
        )
        with self._lock:
            self._exchanges.append(exchange)


def decoded(answer: aiohttp.ClientResponse, body: bytes) -> Any:
    """The JSON value of an answer, or its text when it is none."""
    if answer.headers.get("Content-Encoding") == "gzip":
        body = gzip.decompress(body)
    try:
        return json.loads(body)
    except ValueError:
        return body.decode(errors="replace")
