"""A soak from its first process to the verdict."""

from __future__ import annotations

import asyncio
import math
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import asyncpg
import msgspec

from proof import load, records
from proof.books import books_of
from proof.client import Client
from proof.ground import DATABASE, Ground, served_by
from proof.nemesis import FAILOVER_S, RECOVERY_S, crash, end_backends, kill
from proof.records import Answered, Call, Fault, Run, read_lines
from proof.scene import RESULTS, Plan, Scene, come_to_rest, staged
from proof.soak.picture import picture
from proof.soak.records import PERIOD_S, SAMPLES, SOAK, Sample, Soak
from proof.soak.sampler import Sampler
from proof.soak.tally import hits_of_runs, tally
from proof.soak.verdict import SoakEvidence, SoakVerdict, judge, page
from tests.support.postgres import PostgresServer

BULK = 1_000
CREATED_PER_S = 1_000
"""Jobs that are created in a second, at least: the first is due when all are there."""
LEAD_S = 10.0
GAP_S = 60.0
"""From one accident to the next, on average."""
OTHERS = ("worker", "scheduler", "backends", "database")
WEIGHTS = (4, 3, 3, 1)
REST_S_MAX = 300.0
AGAIN_MAX = 5_000
"""Runs that were called again and are looked at; with more, what is wrong is plain anyway."""
HITS = records.HITS.replace("*", "")


def play(*, minutes: float, rate: int, seed: int) -> SoakVerdict:
    """The logs stay in `results`, but for the target's, if all is well: it is gigabytes."""
    folder = RESULTS / "soak"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with staged(Plan("soak", "half an hour of accidents", lambda _: None, ground=_ground), seed, folder) as scene:
        _create(scene, rate=rate, lasts_s=minutes * 60)
        sampler = Sampler(scene, folder / SAMPLES)
        traffic = load.Traffic(scene.client, scene.target.url, seed)
        scene.until(0)
        sampler.start()
        traffic.start()
        accidents = _hurt(scene)
        scene.until(scene.end_s - scene.begin_s)
        traffic.stop()
        sampler.stop()
        come_to_rest(scene, within_s=REST_S_MAX)
        soak = _final(scene, rate=rate, accidents=accidents)
        (folder / SOAK).write_bytes(msgspec.json.encode(soak))
        evidence = _evidence(folder, soak, scene.client)
    verdict = judge(evidence)
    (folder / records.VERDICT).write_bytes(msgspec.json.format(msgspec.json.encode(verdict), indent=2))
    (folder / records.PAGE).write_text(page(verdict))
    (folder / records.PICTURE).write_text(picture(evidence))
    if verdict.is_green:
        (folder / HITS).unlink()
    return verdict


def _ground(folder: Path, kept: ExitStack) -> Ground:  # noqa: ARG001
    """PostgreSQL as the guide to capacity asks for it. With the log that it has by itself a checkpoint follows the other at these rates,
    and after each of them every page of an index is logged whole; with much more, it is not back within seconds after a crash.
    """
    memory_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    settings = {"shared_buffers": f"{memory_bytes // 4 // 2**20}MB", "max_wal_size": "4GB"}
    return served_by(PostgresServer(durable=True, settings=settings), kept)


def _create(scene: Scene, *, rate: int, lasts_s: float) -> None:
    """Jobs that run every ten seconds, evenly spread over them."""
    number = rate * PERIOD_S
    scene.begin_s = math.ceil(time.time() + LEAD_S + number / CREATED_PER_S)
    scene.end_s = scene.begin_s + lasts_s
    jobs = list(_jobs(scene, number, rate))
    for first in range(0, number, BULK):
        scene.client.create_many(jobs[first : first + BULK])
    assert len(scene.client.job_ids) == number, f"{len(scene.client.job_ids)} of {number} jobs were created"
    assert time.time() < scene.begin_s, "the jobs were not created in time"


def _jobs(scene: Scene, number: int, rate: int) -> Iterator[dict[str, Any]]:
    """Whatever happens, none of their occurrences may be left out. The instant of the end is not one of them."""
    ends_at = load.instant(scene.end_s - 0.001)
    for place in range(number):
        start_at = load.instant(scene.begin_s + place / rate)
        schedule = {"every": f"PT{PERIOD_S}S", "start_at": start_at, "end_at": ends_at}
        yield load.asked("every", f"{scene.target.url}/ok", schedule=schedule, overlap="allow", misfire=load.ALL_MISSED)


def _hurt(scene: Scene) -> int:
    """One accident after the other, every kind once and then as chance has it; answers how many.

    The API dies early, and of two schedulers and two workers the younger one: so there is a process of every kind that lives for long.
    """
    lasts_s = scene.end_s - scene.begin_s
    gap_s = min(GAP_S, lasts_s / 8)
    due = ["api", *OTHERS]
    scene.random.shuffle(due)
    number, second = 0, gap_s
    while second < lasts_s - gap_s:
        scene.until(second)
        _accident(scene, due.pop() if due else scene.random.choices(OTHERS, WEIGHTS)[0])
        number += 1
        second = time.time() - scene.begin_s + gap_s * scene.random.uniform(0.5, 1.0)
    return number


def _accident(scene: Scene, victim: str) -> None:
    match victim:
        case "database":
            with scene.nemesis.fault("kill -9", "PostgreSQL", recovery_s=RECOVERY_S) as evidence:
                evidence |= crash(scene.database)
                time.sleep(scene.random.uniform(0.5, 3))
                scene.database.start()
        case "backends":
            with scene.nemesis.fault("terminate", "backends", recovery_s=RECOVERY_S) as evidence:
                evidence |= end_backends(scene.database, DATABASE, 2)
        case role:
            process = scene.fleet.latest(role)
            with scene.nemesis.fault("kill -9", process.name, failover_s=FAILOVER_S) as evidence:
                evidence |= kill(process)
                time.sleep(scene.random.uniform(1, 4 if role == "api" else 12))
                scene.fleet.start(role)


def _final(scene: Scene, *, rate: int, accidents: int) -> Soak:
    """What the tables count at rest."""
    rested_s = time.time()
    books = books_of(scene.fleet.db)
    ended, dead_letters = asyncio.run(_counted(scene.database.dsn(DATABASE)))
    return Soak(
        seed=scene.seed,
        rate=rate,
        began_s=scene.begin_s,
        ended_s=scene.end_s,
        rested_s=rested_s,
        faults_min=accidents,
        ended=ended,
        live=books.hot,
        both=books.both,
        dead_letters=dead_letters,
    )


async def _counted(dsn: str) -> tuple[dict[str, int], int]:
    connection = await asyncpg.connect(dsn)
    try:
        rows = await connection.fetch("SELECT kind, state, count(*) FROM dueline.history GROUP BY kind, state")
        dead_letters: int = await connection.fetchval("SELECT count(*) FROM dueline.dead_letters")
        return {f"{row['kind']} {row['state']}": row["count"] for row in rows}, dead_letters
    finally:
        await connection.close()


def _evidence(folder: Path, soak: Soak, client: Client) -> SoakEvidence:
    calls = read_lines(folder / records.CALLS, Call)
    faults = read_lines(folder / records.FAULTS, Fault)
    told = tally(folder / HITS, calls, faults)
    wanted = told.sampled | set(sorted(told.again)[:AGAIN_MAX])
    return SoakEvidence(
        soak=soak,
        tally=told,
        calls=calls,
        faults=faults,
        samples=read_lines(folder / SAMPLES, Sample),
        hits=hits_of_runs(folder / HITS, wanted),
        runs=list(_runs(client, sorted(wanted))),
    )


def _runs(client: Client, ids: Iterable[str]) -> Iterator[Run]:
    """Those of them that are there, as the API tells them: one that is not is found by its hits."""
    for id in ids:
        answered, _, told = client.ask("GET", f"/v1/runs/{id}")
        if answered is Answered.ACKNOWLEDGED:
            yield msgspec.convert(told, Run)
