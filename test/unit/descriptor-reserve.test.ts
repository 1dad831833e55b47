import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { ROOT } from '../support/product.js'

/**
 * A process with few descriptors, whose reserve looks when the program says so. It takes all that are left beside the
 * reserve, lets it look, and counts how many can be opened then. It gives as many back as the reserve needs and lets it
 * look, then all of them. At the end it counts once more.
 */
const PROGRAM = `
  import { closeSync, openSync } from 'node:fs'
  import { openDescriptorReserve } from ${JSON.stringify(join(ROOT, 'runner-agent/dist/host/descriptor-reserve.js'))}
  const said = []
  let look
  globalThis.setInterval = (run) => {
    look = run
    return { unref: () => undefined }
  }
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
  const before = reserve.problem
  const others = takeAll()
  look()
  const problem = reserve.problem
  const freed = takeAll()
  for (const descriptor of freed) closeSync(descriptor)
  look()
  const withoutOneMore = reserve.problem
  const stillFree = takeAll()
  for (const descriptor of [...others, ...stillFree]) closeSync(descriptor)
  look()
  const after = reserve.problem
  const again = takeAll()
  console.log(JSON.stringify({
    before, problem, withoutOneMore, after, said,
    others: others.length, freed: freed.length, stillFree: stillFree.length, again: again.length,
  }))
  process.exit(0)
`

test('when no more files can be opened the reserve is released for the present jobs, and is taken again later', async () => {
  const limited = ['-c', 'ulimit -n 120 && exec "$0" --input-type=module -e "$1"', process.execPath, PROGRAM]
  const { stdout } = await promisify(execFile)('sh', limited)
  const told = JSON.parse(stdout) as Record<'others' | 'freed' | 'stillFree' | 'again', number> &
    Record<string, unknown>
  expect(told.before).toBeNull()
  expect(told.problem).toMatch(/no more files can be opened/)
  expect(told.freed).toBe(32)
  // Other work needs at least one place beside the reserve.
  expect([told.withoutOneMore, told.stillFree]).toEqual([told.problem, 32])
  expect(told.after).toBeNull()
  // As many as before: the reserve is whole once more.
  expect(told.again).toBe(told.others)
  expect(told.said).toHaveLength(2)
})
