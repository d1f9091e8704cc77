"""python -m bench.surfaces.bare PORT: the floor of an API process, a handler that answers the same bytes each time, in the same server."""

from __future__ import annotations

import asyncio
import sys

import uvloop
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dueline.api.server import ApiServer

_ANSWER = b'{"id":"job_01kb0000000000000000000000","state":"active","version":1' + b',"more":"' + b"x" * 900 + b'"}'


async def _answer(request: Request) -> Response:
    await request.body()
    return Response(_ANSWER, media_type="application/json")


async def _serve() -> None:
    app = Starlette(routes=[Route("/{path:path}", _answer, methods=["GET", "POST"])])
    server = ApiServer(app, "127.0.0.1", 0)
    await server.start()
    print(server.port, flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    await server.stop()


if __name__ == "__main__":
    uvloop.run(_serve())
