// Graphile Worker: adds jobs in batches, and works with a local queue and batched completion, as its page on performance advises.

import { asked, require, started, waitForGo } from './tally.mjs'

const { Logger, makeWorkerUtils, run, WorkerPreset } = require('graphile-worker')

const BULK = 5_000
const logger = new Logger(() => (level, message) => {
  if (level === 'error') console.error(message)
})

async function withUtils (act) {
  const utils = await makeWorkerUtils({ connectionString: asked.dsn, logger })
  try {
    await act(utils)
  } finally {
    await utils.release()
  }
}

async function fill (utils) {
  const runAt = asked.due_s === null ? undefined : new Date(asked.due_s * 1000)
  for (let first = 0; first < asked.count; first += BULK) {
    const size = Math.min(BULK, asked.count - first)
    const spec = { identifier: 'count', payload: asked.arguments ?? {}, runAt }
    await utils.addJobs(Array.from({ length: size }, () => spec))
  }
}

async function work () {
  await waitForGo()
  const runner = await run({
    preset: {
      extends: [WorkerPreset],
      worker: {
        connectionString: asked.dsn,
        logger,
        concurrentJobs: asked.concurrent_jobs,
        maxPoolSize: asked.connections,
        pollInterval: asked.poll_ms,
        localQueue: { size: asked.local_queue },
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0
      }
    },
    taskList: {
      count: async payload => {
        if (asked.arguments !== null && payload.cents !== 500) throw new Error('other arguments')
        started()
      }
    }
  })
  await runner.promise
}

const acts = { install: () => withUtils(utils => utils.migrate()), fill: () => withUtils(fill), work }
await acts[asked.do]()
