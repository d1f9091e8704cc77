// pg-boss: inserts in bulk, and works in batches; a worker that got a full batch tells itself not to wait for its next poll.

import { asked, require, started, waitForGo } from './tally.mjs'

const PgBoss = require('pg-boss')

const BULK = 5_000

async function withBoss (act) {
  const boss = new PgBoss({ connectionString: asked.dsn, supervise: false, schedule: false })
  boss.on('error', console.error)
  await boss.start()
  await act(boss)
  await boss.stop({ graceful: false })
}

async function fill (boss) {
  const startAfter = asked.due_s === null ? undefined : new Date(asked.due_s * 1000).toISOString()
  for (let first = 0; first < asked.count; first += BULK) {
    const size = Math.min(BULK, asked.count - first)
    const job = { name: 'count', data: asked.arguments ?? undefined, startAfter }
    await boss.insert(Array.from({ length: size }, () => job))
  }
}

async function work () {
  const boss = new PgBoss({ connectionString: asked.dsn, max: asked.connections })
  boss.on('error', console.error)
  await boss.start()
  await waitForGo()
  for (let number = 0; number < asked.workers; number++) {
    let id = null
    const handle = async jobs => {
      for (const job of jobs) {
        if (asked.arguments !== null && job.data.cents !== 500) throw new Error('other arguments')
        started()
      }
      if (id !== null && jobs.length > 0) boss.notifyWorker(id)
    }
    const options = { batchSize: asked.batch_size, pollingIntervalSeconds: asked.poll_s, priority: asked.priority }
    id = await boss.work('count', options, handle)
  }
}

const acts = {
  install: () => withBoss(boss => boss.createQueue('count')),
  fill: () => withBoss(fill),
  work
}
await acts[asked.do]()
