"""Every bound, with its reason."""

from __future__ import annotations

# What comes in.
PAYLOAD_BYTES_MAX = 64 * 1024
"""A job's HTTP body or task arguments. Larger payloads belong in a blob store, sent by reference: run rows stay small and fast."""
PAYLOAD_BYTES_CEILING = 1024 * 1024
"""What payloads may be configured to: past a megabyte, run rows and claim batches stop being cheap."""
BODY_BYTES_MAX = 32 * 1024 * 1024
"""An API request's body. It holds the largest bulk call (10,000 runs) with payloads of a few KiB each."""
HEAD_BYTES_MAX = 64 * 1024
"""The line and the headers of an API request, beyond what arrives at once."""
RUNS_PER_CALL_MAX = 10_000
"""Runs in one bulk call: about a second of store time, so that one caller cannot hold the writer for long."""
JOBS_PER_CALL_MAX = 10_000
"""Jobs in one bulk call: about a second from the call to its answer, and a quarter of it with the writer."""
PROBLEMS_PER_ITEM_MAX = 10
"""Field problems told of one item of a bulk call: an answer stays in proportion to its question, however bad that is."""
PAGE_ROWS_MAX = 500
PAGE_ROWS_DEFAULT = 50
SEARCH_WORDS_MAX = 16
"""Words of one search, with those that a URL falls into: each of them narrows it, and each is looked up."""
WORD_LETTERS_MAX = 200
"""Letters of a word that count: longer ones are tokens that nobody types, and no index has room for."""
JOBS_LOOKED_FIRST = 1_000
"""Jobs that a search looks at, at least, before it asks the index of words: one or two milliseconds. A word that many have fills a page."""
JOBS_LOOKED_UP_MAX = 2_000
"""Jobs that a search looks up that the index of words has found, where it does not know the filter: a few milliseconds."""
SEARCH_PATIENCE_MS = 20
"""For so long a search asks the index of words for one block of jobs after the other, each of which takes a few milliseconds at most: it
bounds what a page costs, however many have its words and however few all of them. The next goes on from there."""
RUNS_LOOKED_FIRST = 1_000
"""Runs that a page is looked for in at first: where most of them fit, that is enough for the largest page."""
RUNS_LOOKED_MAX = 20_000
"""Runs that are looked at beyond that, if they were not enough: it bounds what a page costs, however few of very many fit. The next goes
on from there."""
RUNS_LOOKED_APART_MAX = 8_000
"""The same for runs of one job, or that ended in one way without success: they lie apart, and each takes three times as long."""
VERSION_MAX = 999_999_999
"""The highest version of a job: a change a second for thirty years, and nine digits in every entity tag."""
NAME_LETTERS_MAX = 200
TAGS_MAX = 32
TAG_LETTERS_MAX = 64
QUEUE_LETTERS_MAX = 100
NOTE_LETTERS_MAX = 1_000
KEY_LETTERS_MAX = 255
"""A name for a wish, so that it can be repeated: as long as an idempotency key may be."""
URL_LETTERS_MAX = 4096
HEADERS_MAX = 64
HEADER_LETTERS_MAX = 8192
METHOD_LETTERS_MAX = 32
STATUSES_MAX = 32
"""Codes and ranges in one list: there are five hundred codes, and whoever means many of them means a range."""
KEEP_HEADERS_MAX = 16
"""Response headers that a job may ask to keep: they are stored with every attempt."""
CA_LETTERS_MAX = 16 * 1024
"""A target's own certificate authorities: eight certificates or so. They are stored with the job and read with it."""
SECRET_BYTES_MIN = 24
SECRET_BYTES_MAX = 64
"""A signing key, as Standard Webhooks bounds it."""
JSON_DEPTH_MAX = 64
"""Levels of lists and objects in a payload. Every encoder and decoder on its way, the target's included, must bear it."""
WHEN_LETTERS_MAX = 256
"""A cron expression, an instant or a duration: longer ones are mistakes, and are not searched."""
PROBLEMS_MAX = 100
"""Field problems told at once: enough to correct a call, and an answer stays small however bad the question."""

# Time.
AT_PAST_MS_MAX = 60_000
"""A one-time job up to this late runs at once: a slow client or a skewed clock is not a mistake. Older is refused unless allowed."""
EVERY_MS_MIN = 1_000
"""One second is the finest schedule we promise."""
EVERY_MS_MAX = 10 * 366 * 86_400_000
SEARCH_YEARS = 40
"""How far a cron search looks for a match. The rarest real date (29 February on a given weekday) recurs within 28 years, or 40 over
a skipped leap year such as 2100; past this a schedule is called never-firing. A year field is its own bound."""
REPEAT_YEARS_MAX = 100
"""The longest period of a repeating interval: a longer one outlives every system that could keep it."""
REPEAT_TIMES_MAX = 1_000_000_000
"""Occurrences of a repeating interval. They are computed, never counted: this is the most that one can mean."""
RULE_LETTERS_MAX = 32 * 1024
"""A recurrence rule with its start and its excluded dates: the longest rule, and as many dates as are taken."""
RULE_EXCLUDED_MAX = 1_000
"""Excluded dates of one rule. They are stored with the job and read whenever it is; more belong in a calendar."""
RULE_COUNT_MAX = 100_000
"""The highest COUNT of a rule. What has passed is counted once by each process, and so many in less than a second."""
RULE_INTERVAL_MAX = 1_000_000_000
"""The highest INTERVAL of a rule: 31 years of seconds, and more than the calendar has of anything longer."""
RULE_STEPS_MAX = 20_000
"""Periods of a rule that one search looks into: every year there is, or 54 years of days. Then the rule is called never-firing."""
RULE_TRIES_MAX = 100_000
"""Times of day that one search of a rule by the hour or finer compares with its interval. What meets at all does within 86,400."""
CALENDAR_DATES_MAX = 5_000
"""Dates and ranges of one calendar: some decades of every holiday. They are held in memory by every process that plans."""
CALENDAR_LETTERS_MAX = 1024 * 1024
"""An iCalendar file. Feeds of holidays have some hundred KiB; a personal calendar of years is not what this is for."""
CALENDAR_YEARS_AHEAD = 20
"""How far a recurring event of an iCalendar file is written out into days: long past the next time the file is read."""
CALENDAR_EVENTS_MAX = 20_000
"""Occurrences of all events of an iCalendar file: twenty years of days more than twice, in less than a second."""
EXCLUDED_DAYS_MAX = 366
"""How many days in a row may be excluded before an occurrence that would move to a free day is left out instead."""
MISFIRE_GRACE_MS = 10_000
"""An occurrence this late is late, not missed: a failover of schedulers must not look like an outage."""
MISFIRE_WINDOW_MS = 3_600_000
MISFIRE_CAP = 100
MISFIRE_CAP_MAX = 1_000
OCCURRENCES_PER_PASS_MAX = 100
"""On-time occurrences of one job planned in one pass; the rest follow in the next pass."""
MISSED_SEARCHED_MIN = 64
"""Occurrences looked at beyond twice those asked for, when the latest of many missed ones are searched."""
SKIPS_SEARCHED_MAX = 2_000
"""Occurrences in a row that calendars or people took out: past these a schedule is taken to have ended. There may be a thousand changed
ones; the rest are a thousand blocks of excluded days, at about 70 µs each."""
EXCLUDED_MOVED_MAX = 1_000
"""Occurrences that are moved off one block of excluded days. Denser schedules fire on the free days anyway."""
CHANGED_MAX = 1_000
"""Single occurrences of one schedule that are left out or moved; those long past make room."""
RECOVERY_RATE_DEFAULT = 100.0
"""Missed runs a second that one scheduler lets start after an outage: a target that just came back is not flooded."""
JITTER_MS_MAX = 24 * 3_600_000
MAX_RUNS_MAX = 1_000_000_000
CALENDARS_PER_SCHEDULE_MAX = 10
BACKFILL_RUNS_DEFAULT = 100
BACKFILL_RUNS_MAX = 10_000
"""Runs of one backfill: as many as one bulk call writes."""
BACKFILL_RATE_MAX = 1_000.0
BACKFILL_AHEAD_MS_MAX = 60_000
"""A backfill that ends up to this far ahead ends now: whoever says now has a clock of their own. Further ahead is a mistake."""
OCCURRENCES_SEARCHED_MAX = 100_000
"""Occurrences looked at in one question about the past or the future of a job: about a second."""
LATE_MS = 5_000
"""A run that started this long after it was due is told to be late: the promise is five seconds for all."""
FORECAST_JOBS_MAX = 200_000
FORECAST_HOURS_MAX = 168
UPCOMING_JOBS_FIRST = 1_000
"""Jobs whose schedules are looked at first for a page of what comes, the earliest of them: as a rule the page is full with them."""
UPCOMING_JOBS_MAX = 10_000
"""And at most: about a second of arithmetic."""
RECOVERY_JOBS_SHOWN = 100

# Execution.
TIMEOUT_MS_DEFAULT = 30_000
TIMEOUT_MS_MIN = 100
TIMEOUT_MS_MAX = 24 * 3_600_000
RUN_TIMEOUT_MS_MAX = 30 * 86_400_000
"""A whole run, with all its attempts and the waits between them."""
CONNECT_TIMEOUT_MS_DEFAULT = 10_000
CONNECT_TIMEOUT_MS_MIN = 100
CONNECT_TIMEOUT_MS_MAX = 300_000
"""Longer than any kernel goes on trying to connect."""
TIMEOUT_GRACE_MS = 10_000
"""What a worker gets beyond an attempt's timeout to report it, before the sweeper ends the attempt in its place."""
ATTEMPTS_MAX = 100
"""Attempts a policy may ask for: each leaves a record on the run's row."""
LOST_MAX = 3
"""Workers that may vanish while holding one run before it is dead as poison."""
LOST_ASKED_MAX = 10
"""What a job may ask for in place of that."""
REDRIVE_BATCH = 1_000
"""Dead letters of one redrive call: about a second of store time; many calls redrive many, and show how far they are."""
REDRIVE_RATE_DEFAULT = 50.0
REDRIVE_RATE_MAX = 10_000.0
EXPIRES_AFTER_MS_MAX = 30 * 86_400_000
LATE_AFTER_MS_MAX = 30 * 86_400_000
DEDUPE_WINDOW_MS_MAX = 30 * 86_400_000
"""How long an ended run may keep its dedupe key: as long as anything may wait here. Every key costs a row meanwhile."""
KEY_SWEEP_MS = 60_000
"""How long after its run is written and due a dedupe key is first looked at, whether it is free: most runs have ended by then, and every
statement that began before the run was there."""
REQUEST_KEPT_MS = 24 * 3_600_000
"""How long a request with a key is remembered, with its answer."""
REQUEST_KEY_LETTERS_MAX = 255
LABELS_MAX = 16
RETRY_AFTER_MS_MAX = 3_600_000
"""The longest wait a target may impose by Retry-After."""
RETRY_CAP_MS_MAX = 7 * 86_400_000
RETRY_ELAPSED_MS_MAX = 30 * 86_400_000
RESPONSE_KEPT_BYTES = 64 * 1024
"""What is stored of a response: enough to see why a target said no, little enough to keep with every run."""
RESPONSE_READ_BYTES = 1024 * 1024
"""Where reading stops. Up to here a longer body is read to its end, so that its connection can be used again."""
RESPONSE_HEADERS_READ_MAX = 128
"""Lines of a response that are looked through for headers to keep: the last ones, where there are more."""
RESPONSE_HEADER_LETTERS_MAX = 2_048
"""What is kept of one header: a long URL."""
ERROR_LETTERS_MAX = 2_000
SECRET_OVERLAP_MS = 24 * 3_600_000
"""How long calls are signed with the previous secret too: a day to bring the new one to every receiver."""
SIGNATURE_TOLERANCE_S = 300
"""How far the time of a signature may lie from a receiver's clock, as Standard Webhooks proposes it."""
SECRETS_FRESH_S = 5.0
"""How old a signing secret in a worker's memory may be: a rotation is everywhere within this time."""
SECRETS_KEPT = 10_000
API_KEYS_FRESH_S = 3.0
"""How old what a server knows of an API key may be: with the time that a question takes, one that was revoked is refused within 5 s."""
API_KEYS_KEPT = 10_000
CIRCUITS_MAX = 10_000
"""Targets whose failures a worker counts, at about 1 KB each; healthy ones cost nothing."""
HOST_SHARE = 0.5
"""The share of a worker's slots that one host gets without having earned more: one that hangs leaves the others the rest."""
HOST_PACE_MIN = 10.0
"""Calls a second that a host is expected to bear at least, when runs are put off because it is busy."""
HOST_WAIT_S_MAX = 300.0
"""The longest time that a run is put off at once for a busy host."""

# Tasks.
TASK_THREADS_DEFAULT = 16
"""Plain functions that one worker runs at a time: they mostly wait for others, and hold the interpreter when they do not."""
TASK_THREADS_ABANDONED_MAX = 64
"""Threads left behind by tasks that did not stop when asked. Each holds its stack and whatever its task holds; past these the pool
shrinks instead, until some come back."""
TASK_GRACE_S = 3.0
"""What a task gets to stop by itself when it is cancelled or out of time. With it an attempt still ends before the sweeper ends it."""
CHECKPOINT_BYTES_MAX = 64 * 1024
"""What a task may keep for its next attempt: where it is, not what it has made. It is kept with the run."""
PROGRESS_LETTERS_MAX = 200
TASK_FRAME_BYTES_MAX = 4 * 1024 * 1024
"""A message between a worker and a process of its tasks: the largest payload that can be configured, with room. A longer one is noise."""
TASK_PROCESS_START_S = 60.0
"""How long a process may import its app before it counts as hung."""
TASK_PROCESS_PAUSE_S_MAX = 5.0
"""The longest pause before a process that could not start is tried again: an app that cannot be imported must not take a processor."""

# Tenants.
WEIGHT_MIN = 0.01
WEIGHT_MAX = 100.0
"""Shares of a line differ by four orders of magnitude at most: with a smaller one nothing would ever come to its turn."""
QUOTA_JOBS_MAX = 10_000_000
"""A tenant's jobs are counted whenever it creates some: past this that takes longer than the creating."""
QUOTA_RUNNING_MAX = 1_000_000
"""More than all workers of a fleet have slots."""
QUOTA_RATE_MAX = 1_000_000
"""Runs a second, or a minute: a token every microsecond is the finest that a bucket counts."""
HISTORY_DAYS_DEFAULT = 90
HISTORY_DAYS_MAX = 3_660
"""Ten years: on PostgreSQL each day is a table, and every question about all of history looks at each."""
FINISHED_JOB_DAYS_DEFAULT = 90
"""As long as its run is kept, unless somebody says otherwise."""
RETENTION_MS_MIN = 3_600_000
RETENTION_MS_MAX = HISTORY_DAYS_MAX * 86_400_000
"""How long a job may ask to keep its finished runs: what is too old is looked for every hour."""

# Leases.
BEAT_S = 2.0
LEASE_S = 8.0
"""Four beats: one slow store call or one long pause of the interpreter does not cost the lease; a failover stays under ten seconds."""
LEASE_MARGIN_S = 1.5
"""An owner stops trusting its lease this long before others may take it: room for a beat's round trip and clock rates that differ."""
LATE_BEATS = 2
"""A process that missed so many beats is shown as late: one may be lost to a busy moment."""
SHARDS = 256
"""Virtual shards: enough to spread evenly over dozens of schedulers, few enough that owning all of them costs one cheap scan."""
SHARDS_TAKEN_PER_PASS = 64
"""Shards one pass may take over, so that a rebalance does not stop the world."""

# Batches.
FIRE_BATCH = 1_000
DUE_PAGE = 4 * FIRE_BATCH
"""Due plans that are read at once, to be fired by batches: the look into every shard is a third of what firing a single batch costs."""
CLAIM_BATCH = 1_000
"""Rows per statement: past a thousand the cost per row is flat, and a statement takes some ten milliseconds."""
FINISH_BATCH = 1_000
RECLAIM_BATCH = 500
PROMOTE_BATCH = 1_000
NOTICE_BATCH = 200
"""Ends that somebody is told of in one transaction: each is a run with its body."""
RETENTIONS_SWEPT_MAX = 100
"""Jobs with a retention of their own that one pass looks at: some ten milliseconds, in which nobody can change how long they keep."""
EXPIRE_BATCH = 100
"""Finished jobs that are looked at in one step: each that goes is a transaction of its own, and firing goes first."""
JOBS_FORGOTTEN_MAX = 200
"""Deleted jobs that are forgotten in one transaction: for each, every day of history is asked whether it has runs of it."""
WORDS_MOVED_MAX = 2_000
"""Jobs whose words are put into another block of their index in one transaction: some tens of milliseconds."""
FORGET_BATCH = 1_000
"""Receipts of an inbox that one call forgets: deliveries that come meanwhile wait for milliseconds."""
AHEAD_MS = 1_000
"""How long before its due time a run may be written and claimed; it is held until its millisecond."""
EARLY_MS = 5
"""By how much a start may come before its time on the store's clock: two clocks that are kept well drift apart by less between beats."""
GATHER_S = 0.1
"""How long what comes due is let gather before it is written or made ready, a tenth of AHEAD_MS: a look costs the same whether it finds ten
runs or a thousand."""
CROWD_AHEAD_MS = 20_000
"""How long before a crowd is due its runs may be written, to wait. A scheduler writes some ten thousand a second on a small machine; a
hundred thousand need all of this, since they are made ready six seconds before their time."""
CROWD_MIN = 2_000
"""Occurrences in one second, of one scheduler, that are a crowd. Fewer are written in half of the last second, and need not be made ready
in a second step."""
MADE_READY_PER_S = 20_000
"""Waiting runs that one process makes ready in a second, on a small machine that has little else to do."""
READY_AHEAD_MS_MAX = AHEAD_MS + 5_000
"""How long before its time a run may be made ready, where so many wait for one time that a second is not enough. Until AHEAD_MS before it
every claim walks past it."""
PUT_OFF_MS_MIN = AHEAD_MS + 100
"""What a worker puts off for less would be claimed again at once, and held in a slot."""

# What may be under way, and what may start.
CONCURRENCY_MAX = 10_000
"""Runs under way at once that a limit may allow. Each has a place there, which is a row; who means more of them means no limit."""
RATE_LIMIT_MAX = 1_000_000
"""Starts in a time, and starts at once, that a rate may allow: more than one database dispatches in any time that is worth counting."""
RATE_PER_MS_MIN = 100
"""The shortest time of a rate. Starts are told apart by the millisecond."""
RATE_PER_MS_MAX = 24 * 3_600_000
"""The longest: how full a bucket is must be remembered for as long."""
LIMITS_FRESH_S = 4.0
"""How old a process's knowledge of the limits of queues, hosts and tenants may be: what is set is everywhere within five seconds."""
GATE_KEPT_MS = 60_000
"""How long a gate is remembered that nobody comes to, and where nobody waits."""
JOB_GATE_KEPT_MS = 30 * 86_400_000
"""The same for the gate of a job that was changed: runs of its earlier versions, which know earlier limits, may still wait."""
GATE_FREED_MAX = 500
"""How many are let in at once where there is no limit any more: as many as are claimed at once."""

WHY_COUNTED_MAX = 10_000
"""Runs that are counted to tell somebody the place of one: some milliseconds. Past these it is "at least"."""
WHY_RUNS_MAX = 20
"""Runs of a job that are looked at to tell how it fared lately."""
SHARES_SHOWN_MAX = 1_000
"""Tenants of one queue that are shown with their shares."""

# Loops.
TURN_S = 0.005
"""How long one piece of work keeps the event loop to itself: a call of thousands must not make the heartbeat of its process late."""
POLL_S = 0.5
"""The truth behind lost wake-ups: nothing due waits longer than this to be noticed."""
HELD_PER_SLOT = 5
"""Runs that a worker holds for their time, for each slot that is free: very many may be due at one instant, and to claim them takes longer
than to start them."""
HELD_LATE_MS = 500
"""How long after its time a held run waits for a slot where none becomes free: then it goes back, for others who may have one."""
HELD_PATIENCE_S = 3.0
"""How long it would have to wait, at the pace at which slots became free lately, to go back although they do. What goes back
for no other worker is written and claimed once more for nothing."""
START_GROUP_S = 0.01
"""Where runs become due in every millisecond, they wait this long for company before their worker asks whether they are still its own: a
question costs as much as fifty runs in it."""
START_GROUP_MIN = 32
"""So many due at once mean that more follow. Fewer are started to the millisecond."""
OUTCOME_GROUP_S = 0.003
"""Outcomes wait this long for company before they are written together."""
JOB_TYPES_TOLD_S = 3_600.0
"""How often a worker says which tasks it has."""
JOB_TYPES_KEPT_MS = 30 * 24 * 3_600_000
"""How long a task is known that no worker says to have."""
SAVE_GROUP_S = 0.25
"""Checkpoints and progress of tasks are written at most this often."""
WAKEUP_GAP_S = 0.02
"""Wake-ups through the store are sent at most this often per topic."""

TIME_CHECK_S = 5.0
"""How often a process without a lease asks the store for its time: crystal clocks drift by less than a millisecond meanwhile."""
ROSTER_S = 1.0
"""How often processes look at each other's beats. With the lease it bounds a failover."""
SWEEP_S = 2.0
"""How often one process looks, for all, after what others left behind: the first of those that schedule."""
SWEEP_OTHERS_S = 10.0
"""How often the others do, in case it cannot. When it dies they do at once, as soon as that is known."""
YIELD_MS = 300
"""For so long they leave what comes near to it. What they make ready then still is before its time, and the polls see it."""
LITTER_MIN = 20_000
"""So many dead rows make a table worth clearing between two rounds of the server's own: fewer are passed over in no time."""
DEFINITIONS_KEPT = 100_000
"""Job versions that a process keeps in memory, at about 1.5 KB each. To read one again takes as long as the rest of its firing, and as long
again where it is carried out: all that fire within ten seconds should fit."""
DEFINITION_BYTES = 1_000
"""The payload of a version that counts for one. A larger one counts for as many, so that what is kept stays within some 200 MB."""
STALE_BATCH = 200
"""Plans looked at again in one pass, each in a transaction of its own: a new calendar must not hold up the firing."""
EVENTS_KEPT_MS = 3_600_000
"""How long listeners may be away and still be told all: at ten thousand runs a second an hour of ends takes half a gigabyte."""
EVENTS_POLL_S = 0.1
"""How often a process with listeners looks for news, for all of them together. Without listeners it does not."""
EVENTS_PAGE = 200
"""Things told at once. A reader has no more of them in memory here, however slow it is."""
EVENTS_LOOKED_MAX = 1_000
"""Ends and changes that are looked at for a page, whoever's they are: others have their turn in between."""
EVENT_ROWS_MAX = 50
"""Rows of the record that are read at once; each may tell of a thousand runs."""
EVENT_READERS_MAX = 200
"""Listeners of one process: each is a connection, and looks at all that happens."""
EVENT_BEAT_S = 15.0
"""How often a listener hears something even if nothing happens: half of what impatient proxies wait."""
EVENT_STALL_S = 30.0
"""A listener that takes nothing for so long is cut off. It may come back with the last id that it has."""
RUN_LOOK_S = 0.25
"""How often a single run is looked at for somebody who listens to it."""
HISTORY_DAYS_AHEAD = 3
HISTORY_SWEPT_MAX = 1_000
"""Finished runs that one pass of a sweep looks at: others wait for it for milliseconds."""
HISTORY_MOVED_MAX = 5_000
"""Runs of an old day that ended lately, backfilled ones above all, and are moved when the day is dropped: nobody reads history meanwhile,
for a tenth of a second or so."""
SLOTS_DEFAULT = 2_000
"""Runs a worker executes at a time. HTTP calls are cheap to wait for."""
DRAIN_S = 30.0
"""How long a stopping worker waits for the calls it is making."""
