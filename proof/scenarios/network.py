"""The way to the store breaks, is slow, or leads nowhere; and the store's connections are ended."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from proof.fleet import Place
from proof.ground import DATABASE, Ground, MakeGround, on_postgres, served_by
from proof.nemesis import FAILOVER_S, PAST_THE_LEASE_S, RECOVERY_S, end_backends, is_told_dead
from proof.scene import Plan, Scene
from proof.tools import namespaces
from proof.tools.namespaces import Namespace, network_namespace
from proof.tools.proxy import Proxy
from tests.support.postgres import PostgresServer

LATENCY_S = 0.04
JITTER_S = 0.04
"""Each way: a statement and its answer take 80 to 160 ms."""
ON_THE_WAY_S = 0.5
"""What set out before it became dark has arrived by then."""


def worker_cut_off(scene: Scene) -> None:
    _cut_off(scene, "worker")


def scheduler_cut_off(scene: Scene) -> None:
    _cut_off(scene, "scheduler")


def _cut_off(scene: Scene, role: str) -> None:
    """The wire of its machine is pulled: no store, no targets, and nobody resets anything."""
    scene.until(6 + scene.random.random())
    victim = scene.fleet.one(role)
    namespace, port = scene.tool(Namespace), scene.database.port
    with scene.nemesis.fault("partition", victim.name, failover_s=FAILOVER_S) as evidence:
        pulled = namespace.partition(port)
        evidence |= {"reached before": pulled["reached_before"], "not reached": not pulled["reached_during"]}
        time.sleep(PAST_THE_LEASE_S)
        evidence["reached again"] = namespace.heal(port)["reached_after"]
        evidence["declared dead"] = is_told_dead(victim)


def on_a_wire(name: str) -> MakeGround:
    """PostgreSQL and the target, which one process reaches from a network of its own."""

    def ground(folder: Path, kept: ExitStack) -> Ground:  # noqa: ARG001
        namespace = kept.enter_context(network_namespace())
        settings = {"listen_addresses": f"127.0.0.1,{namespace.here}"}
        usual = served_by(PostgresServer(durable=True, settings=settings), kept, namespace)
        inside = Place(db=usual.db.replace("127.0.0.1", namespace.here), within=namespace.command())
        return replace(usual, places={name: inside}, target_host=namespace.here)

    return ground


def network_slow(scene: Scene) -> None:
    proxy = scene.tool(Proxy)
    scene.until(6)
    with scene.nemesis.fault("latency", "network", recovery_s=RECOVERY_S) as evidence:
        proxy.slow(latency_s=LATENCY_S, jitter_s=JITTER_S)
        scene.until(20)
        evidence["delayed"] = proxy.heal()["delayed"]


def network_resets(scene: Scene) -> None:
    proxy = scene.tool(Proxy)
    scene.until(6)
    reset = []
    with scene.nemesis.fault("resets", "network", recovery_s=RECOVERY_S) as evidence:
        for second in range(6, 21, 3):
            scene.until(second + scene.random.random())
            reset.append(int(proxy.reset()["reset"]))
        evidence["reset each time"] = min(reset)


def network_dark(scene: Scene) -> None:
    """Whatever is sent is taken and goes nowhere, for longer than a lease; then all of it arrives."""
    proxy = scene.tool(Proxy)
    scene.until(6 + scene.random.random())
    with scene.nemesis.fault("black hole", "network", recovery_s=RECOVERY_S) as evidence:
        evidence["connections"] = proxy.go_dark()["in_the_dark"]
        time.sleep(ON_THE_WAY_S)
        heard = proxy.counted()["replied_bytes"]
        time.sleep(PAST_THE_LEASE_S)
        evidence["nothing came back"] = proxy.counted()["replied_bytes"] == heard
        proxy.heal()


def through_a_proxy(folder: Path, kept: ExitStack) -> Ground:
    """PostgreSQL, and all processes reach it through a network that we hold in our hands."""
    usual = on_postgres(folder, kept)
    assert usual.server is not None
    proxy = kept.enter_context(Proxy(("127.0.0.1", usual.server.port)))
    db = usual.db.replace(f":{usual.server.port}/", f":{proxy.port}/")
    return replace(usual, db=db, tools=(proxy,))


def backends_ended(scene: Scene) -> None:
    for second in range(5, 25, 5):
        scene.until(second + scene.random.random())
        with scene.nemesis.fault("terminate", "backends", recovery_s=RECOVERY_S) as evidence:
            evidence |= end_backends(scene.database, DATABASE, 4)


STORE = {"recovery_s": RECOVERY_S}
NODE = {"failover_s": FAILOVER_S}

PLANS = [
    Plan(
        "worker_cut_off",
        "a worker's machine is cut off past its lease, and comes back",
        worker_cut_off,
        ground=on_a_wire("worker-1"),
        wanted=NODE,
        why_not=namespaces.why_not,
    ),
    Plan(
        "scheduler_cut_off",
        "a scheduler's machine is cut off past its lease, and comes back",
        scheduler_cut_off,
        ground=on_a_wire("scheduler-1"),
        wanted=NODE,
        why_not=namespaces.why_not,
    ),
    Plan(
        "network_slow",
        "PostgreSQL is 80 to 160 ms away",
        network_slow,
        ground=through_a_proxy,
        wanted=STORE | {"lag_p95_inside_ms": 2_000.0},
    ),
    Plan(
        "network_resets",
        "all connections to PostgreSQL are reset every three seconds",
        network_resets,
        ground=through_a_proxy,
        wanted=STORE,
    ),
    Plan(
        "network_dark",
        "the way to PostgreSQL is a black hole past every lease",
        network_dark,
        ground=through_a_proxy,
        wanted=STORE,
    ),
    Plan("backends_ended", "connections to PostgreSQL are ended", backends_ended, faults_min=4, wanted=STORE),
]
