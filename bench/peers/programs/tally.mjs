// The same as tally.py, for Node: jobs count themselves, and the process says when it is ready and ends when it is told to.

import { createRequire } from 'node:module'
import { openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const WRITE_MS = 4

export const asked = JSON.parse(process.argv[2])
// Packages lie in the environment of the peer, not beside the program.
export const require = createRequire(join(asked.home, 'package.json'))

let count = 0
let first = 0n
const starts = []

export function started () {
  if (count++ === 0) first = process.hrtime.bigint()
  if (asked.keep) starts.push((performance.timeOrigin + performance.now()) / 1000)
}

export async function waitForGo () {
  const lines = createInterface({ input: process.stdin })
  const go = new Promise(resolve => lines.once('line', resolve))
  lines.on('close', () => {
    process.stdout.write(JSON.stringify(starts) + '\n', () => process.exit(0))
  })
  console.log('ready')
  await go
  const file = openSync(join(asked.tally, String(process.pid)), 'w')
  const words = new BigInt64Array(2)
  setInterval(() => {
    if (words[0] === BigInt(count)) return
    words.set([BigInt(count), first])
    writeSync(file, new Uint8Array(words.buffer), 0, 16, 0)
  }, WRITE_MS)
}
