"""The model of processes, and of the shards that they own."""

from __future__ import annotations

from collections.abc import Mapping

from tests.model.world import Node, Shard, World

LEASE_MS = 8_000


def register(world: World, boot_id: str) -> None:
    """Said again it only renews the lease."""
    node = world.nodes.setdefault(boot_id, Node(world.now_ms, 0, 0))
    node.expires_ms, node.beat_ms = world.now_ms + LEASE_MS, world.now_ms


def beat(world: World, boot_id: str) -> tuple[int, bool] | None:
    """None: it was declared dead."""
    node = world.nodes.get(boot_id)
    if node is None:
        return None
    node.beat += 1
    node.expires_ms, node.beat_ms = world.now_ms + LEASE_MS, world.now_ms
    return world.now_ms, node.drain_asked


def ask_drain(world: World, boot_id: str) -> bool:
    if boot_id in world.nodes:
        world.nodes[boot_id].drain_asked = True
    return boot_id in world.nodes


def drain(world: World, boot_id: str) -> None:
    if boot_id in world.nodes:
        world.nodes[boot_id].draining = True


def leave(world: World, boot_id: str) -> None:
    world.nodes.pop(boot_id, None)


def bury(world: World, boot_id: str) -> bool:
    """Only once the lease is over."""
    node = world.nodes.get(boot_id)
    if node is None or node.expires_ms >= world.now_ms:
        return False
    del world.nodes[boot_id]
    return True


def take_shards(world: World, owner: str, seen: Mapping[int, int]) -> dict[int, int]:
    node = world.nodes.get(owner)
    if node is None or node.draining:
        return {}
    taken = {}
    for number, epoch in seen.items():
        shard = world.shards.setdefault(number, Shard())
        if shard.epoch == epoch and shard.owner not in world.nodes:
            shard.epoch, shard.owner = epoch + 1, owner
            taken[number] = shard.epoch
    return taken


def drop_shards(world: World, owner: str, epochs: Mapping[int, int]) -> None:
    for number, epoch in epochs.items():
        shard = world.shards.setdefault(number, Shard())
        if shard.epoch == epoch and shard.owner == owner:
            shard.owner = None


def pause_queue(world: World, queue: str, note: str | None) -> None:
    world.paused[queue] = world.paused.get(queue) if note is None else note


def resume_queue(world: World, queue: str) -> bool:
    was_paused = queue in world.paused
    world.paused.pop(queue, None)
    return was_paused
