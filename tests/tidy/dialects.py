"""What only one of the two dialects of SQL has to say."""

# What one dialect says in one statement and the other in several, or need not say at all.
ONLY_IN: dict[str, frozenset[str]] = {
    "postgres": frozenset(
        {
            # SQLite's writer is alone: whoever reads has locked.
            "access.lock",
            "jobs.lock",
            "jobs.lock_plan",
            "calendars.lock",
            "calendars.share",
            "cancels.displace_jobs",
            "cancels.displace_runs",
            "cancels.expire_found",
            "cancels.lock_runs",
            "cancels.sweep_found",
            "deadletters.lock_finished",
            "plans.lock_awaiting",
            "plans.lock_shards",
            "runs.confirm_marked",
            "tenants.lock",
            "uniques.lock",
            "uniques.lock_runs",
            # SQLite ends them by the statement with which a change of a job does.
            "cancels.cancel_runs",
            # SQLite has no partitions.
            "history.add_day",
            "history.days",
            "history.drop_day",
            "history.ended_other",
            "history.forget_other",
            # SQLite has one process.
            "history.sweeping",
            # SQLite has one writer, whose rows are seen in the order of their numbers.
            "events.writing",
            # SQLite looks for each at next to no cost.
            "plans.fire_new",
            "runs.enqueue_new",
            "runs.finish_new",
            # SQLite finds them by an index that costs no firing.
            "plans.zoned",
            # SQLite has no million jobs: their order is good enough for every filter.
            "jobs.edge",
            "jobs.few",
            "jobs.page_of_few_names",
            "jobs.search_blocks",
            "history.gather_words",
            "history.scattered_words",
            # SQLite asks `look`, and decides in between: nobody has to wait for another answer there.
            "flows.take",
            # SQLite has neither a server's settings nor sessions of others.
            "conditions.settings",
            "conditions.oldest_snapshot",
        }
    ),
    "sqlite": frozenset(
        {
            # SQLite has no statements that write in their WITH clause.
            "deadletters.keep",
            "events.mark",
            "notices.any",
            "notices.keep",
            "plans.fire_exhaust",
            "plans.fire_finish",
            "plans.fire_move",
            "runs.claim_blocked",
            "runs.claim_place",
            "runs.confirm_place",
            "runs.end",
            "runs.finished",
            "runs.pick",
            "runs.long_specs",
            "runs.reclaim_dead",
            "uniques.aged",
            "uniques.put_off",
            # What is null as a rule costs PostgreSQL nothing.
            "runs.set_apart",
            # PostgreSQL has a function for what comes before a decision about gates, and one for what follows when runs leave them or
            # their jobs' places.
            "gates.wishes",
            "gates.gates",
            "runs.vacate",
            # PostgreSQL looks and reserves at once.
            "flows.look",
            # Whoever takes the file has outlived the others.
            "members.bury_own",
        }
    ),
}
