"""The service's routes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

import coldfork
from speech_notes import bodies, engines
from speech_notes.jobs import ENDS, Job, State, view
from speech_notes.launch.launcher import Launcher
from speech_notes.running import Running
from speech_notes.same_origin import SameOriginOnly
from speech_notes.settings import Settings
from speech_notes.store import Store
from speech_notes.watching import Watching

PAGE = Path(__file__).with_name("page")
FILES = {
    "/": ("index.html", "text/html"),
    "/page.css": ("page.css", "text/css"),
    "/page.js": ("page.js", "text/javascript"),
}
READING = ["GET", "HEAD"]
COME_BACK_MS = 1000
"""After so long a browser asks a server again that has gone away."""
KEEP_ALIVE = 15.0
"""Seconds after which a silent stream says that it is still there."""


class Service:
    """The parts of the service that its routes use."""

    def __init__(self, settings: Settings, watching: Watching, launcher: Launcher) -> None:
        self.settings = settings
        self.watching = watching
        self.launcher = launcher
        self.store = Store(settings.data / "jobs.sqlite3")
        self.running = Running(settings, self.store, launcher, watching)
        self.about = engines.find(settings.engine).about

    def shown(self, job: Job) -> dict[str, Any]:
        """A job as the world sees it."""
        return view(job, self.watching.progress(job.id))


def create(settings: Settings, watching: Watching, launcher: Launcher) -> FastAPI:
    """The application; it begins to work when it is started, and not before."""
    service = Service(settings, watching, launcher)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        service.running.start()
        yield
        await service.running.stop()
        await asyncio.to_thread(service.launcher.close)
        service.store.close()

    # FastAPI's own pages would be fetched from elsewhere; this server shows only what it holds.
    app = FastAPI(title="Speech notes", lifespan=lifespan, docs_url=None, redoc_url=None)
    app.add_middleware(SameOriginOnly, host=settings.host)
    _add_page(app)
    _add_jobs(app, service)
    _add_state(app, service)
    return app


def _add_page(app: FastAPI) -> None:
    def adding(content: bytes, kind: str) -> Any:
        return lambda: Response(
            content, media_type=f"{kind}; charset=utf-8", headers={"cache-control": "no-cache"}
        )

    for path, (name, kind) in FILES.items():
        content = adding((PAGE / name).read_bytes(), kind)
        app.add_api_route(path, content, methods=READING, include_in_schema=False)


def _add_jobs(app: FastAPI, service: Service) -> None:
    @app.post("/transcripts", status_code=202)
    async def submit(request: Request) -> JSONResponse:
        """Take a transcript (text/plain, or JSON with `text`) and answer with its job."""
        text = await bodies.transcript(request, service.settings.most_bytes)
        job = await asyncio.to_thread(service.store.submit, text, service.settings.most_queued)
        if job is None:
            raise HTTPException(503, "too many jobs are waiting", {"retry-after": "30"})
        service.running.look()
        return JSONResponse(service.shown(job), 202, {"location": f"/jobs/{job.id}"})

    async def find(name: str) -> Job:
        job = await asyncio.to_thread(service.store.job, name)
        if job is None:
            raise HTTPException(404, "there is no such job")
        return job

    @app.api_route("/jobs/{name}", methods=READING)
    async def show(name: str) -> JSONResponse:
        """How a job stands, with its note when it is done."""
        return JSONResponse(service.shown(await find(name)), headers={"cache-control": "no-store"})

    @app.post("/jobs/{name}/cancel")
    async def cancel(name: str) -> JSONResponse:
        """End a job that waits or runs, and answer when its process has ended."""
        await service.running.cancel(name)
        job = await find(name)
        if job.state is not State.CANCELLED:
            raise HTTPException(409, f"the job has ended: {job.state}")
        return JSONResponse(service.shown(job), headers={"cache-control": "no-store"})

    @app.get("/jobs/{name}/events")
    async def events(name: str, request: Request) -> Response:
        """The job each time it changes, as server-sent events, until it has ended."""
        await find(name)
        if request.headers.get("last-event-id") in ENDS:
            # A browser connects again when a stream ends, and this is how it is told not to.
            return Response(status_code=204)
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        return StreamingResponse(_events(service, name), media_type="text/event-stream", headers=headers)


async def _events(service: Service, name: str) -> AsyncIterator[str]:
    said: dict[str, Any] | None = None
    yield f"retry: {COME_BACK_MS}\n\n"
    with service.watching.watch(name) as news:
        while not service.watching.closing:
            news.clear()
            job = await asyncio.to_thread(service.store.job, name)
            if job is None:
                return
            now = service.shown(job)
            if now != said:
                said = now
                yield f"event: job\nid: {job.state}\ndata: {json.dumps(now)}\n\n"
            if job.ended:
                return
            try:
                await asyncio.wait_for(news.wait(), KEEP_ALIVE)
            except TimeoutError:
                yield ": still there\n\n"


def _add_state(app: FastAPI, service: Service) -> None:
    @app.api_route("/about", methods=READING)
    async def about() -> dict[str, Any]:
        """Return which features work here, and what each of them must be told."""
        states = coldfork.state()
        return {
            "engine": service.settings.engine,
            "about": service.about,
            "model": Path(service.settings.model).name if service.settings.model else None,
            "launch": service.settings.launch,
            "most_bytes": service.settings.most_bytes,
            "awake": [one.accelerator for one in states if one.status == "awake"],
        }

    @app.api_route("/health", methods=READING)
    async def health() -> JSONResponse:
        """Whether jobs are being done: 503 if a worker is gone or the database cannot be read.

        With a pool it is shown how that stands, and 503 as well where none of its workers can be started.
        """
        try:
            counts = await asyncio.to_thread(service.store.counts)
        except Exception as error:
            return JSONResponse({"healthy": False, "why": str(error)}, 503)
        alive, wanted = service.running.alive, service.settings.workers
        pool = service.launcher.health()
        fit = alive == wanted and (pool is None or pool["fit"])
        told = {"healthy": fit, "workers": alive, "jobs": counts, "pool": pool}
        return JSONResponse(told, 200 if fit else 503)
