import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { ROOT } from '../support/product.js'

/**
 * A process with few descriptors: takes all that are left beside the reserve, waits until the reserve is given up, and
 * counts how many can be opened then; gives all back, waits until the reserve is whole, and counts once more.
 */
const PROGRAM = `
  import { closeSync, openSync } from 'node:fs'
  import { setTimeout as pause } from 'node:timers/promises'
  import { openDescriptorReserve } from ${JSON.stringify(join(ROOT, 'runner-agent/dist/host/descriptor-reserve.js'))}
  const said = []
  const reserve = openDescriptorReserve({ info: (text) => said.push(text), error: (_, text) => said.push(text) })
  const takeAll = () => {
    const taken = []
    for (;;) {
      try {
        taken.push(openSync('/dev/null', 'r'))
      } catch {
        return taken
      }
    }
  }
  const until = async (condition) => {
    while (!condition()) await pause(20)
  }
  const before = reserve.problem
  const others = takeAll()
  await until(() => reserve.problem !== null)
  const problem = reserve.problem
  const freed = takeAll()
  for (const descriptor of [...others, ...freed]) closeSync(descriptor)
  await until(() => reserve.problem === null)
  const again = takeAll()
  console.log(JSON.stringify({ before, others: others.length, freed: freed.length, problem, again: again.length, said }))
  process.exit(0)
`

test('when no more files can be opened the reserve is free for the jobs that are there, and is put aside again later', async () => {
  const limited = ['-c', 'ulimit -n 120 && exec "$0" --input-type=module -e "$1"', process.execPath, PROGRAM]
  const { stdout } = await promisify(execFile)('sh', limited)
  const told = JSON.parse(stdout) as Record<'others' | 'freed' | 'again', number> & Record<string, unknown>
  expect(told.before).toBeNull()
  expect(told.problem).toMatch(/no more files can be opened/)
  expect(told.freed).toBe(32)
  // As many as before: the reserve is whole once more.
  expect(told.again).toBe(told.others)
  expect(told.said).toHaveLength(2)
})
