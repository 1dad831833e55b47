import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createFaults } from '../chaos/kit/preload/faults.js'
import { ROOT } from '../support/product.js'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-locks-'))
})
afterEach(() => {
  rmSync(folder, { recursive: true, force: true })
})

/** Writes and reads by turns; it ends by itself when a write succeeds after the fault, and prints what is stored. */
const PROGRAM = `
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
const [root, folder] = process.argv.slice(2)
const { sql } = await import(pathToFileURL(createRequire(root + '/control-plane/package.json').resolve('kysely')))
const { openSqliteStore } = await import(root + '/control-plane/dist/store/sqlite/sqlite-store.js')
const warnings = []
const store = await openSqliteStore(folder + '/holdfast.db', (text) => warnings.push(text))
const write = (text) => store.write('test', (queries) => sql.raw(text).execute(queries))
await write('create table numbers (number integer)')
const stored = []
let refused = 0
process.stdout.write('ready\\n')
await new Promise((resolve) => process.stdin.once('data', resolve))
for (let number = 1; number <= 4; number += 1) {
  try {
    await write('insert into numbers values (' + number + ')')
    stored.push(number)
  } catch (error) {
    if (error.code !== 'database_unavailable') throw error
    refused += 1
  }
}
const { rows } = await sql.raw('select number from numbers order by number').execute(store.read)
await store.close()
process.stdout.write(JSON.stringify({ stored, rows: rows.map((row) => row.number), refused, warnings }) + '\\n')
process.exit(0)
`

/** The unlock after the mark of a reader was moved: from then on SQLite of that process believes in a lock. */
const UNLOCK_OF_A_MARK = 2

test('a lock that the system does not take back is let go by opening the file anew, and nothing is lost', async () => {
  const faults = await createFaults(folder)
  const program = join(folder, 'program.mjs')
  writeFileSync(program, PROGRAM)
  const running = execa('node', [program, ROOT, folder], { env: faults.environments.controlPlane })
  const ready = new Promise((resolve) => running.stdout.once('data', resolve))
  // A program that ends before it is ready tells why.
  await Promise.race([ready, running])
  const fault = faults.arm({
    operation: 'lock',
    path: '*holdfast.db-shm',
    action: 'ENOLCK',
    calls: { first: UNLOCK_OF_A_MARK },
  })
  running.stdin.write('go\n')
  const { stdout } = await running
  expect(fault.wasMet()).toBe(true)
  const said = JSON.parse(stdout.split('\n').at(-1) ?? '') as Record<string, unknown>
  expect(said['rows']).toEqual(said['stored'])
  // The write that met it may be refused after its time; every later one succeeds.
  expect(said['refused']).toBeLessThanOrEqual(1)
  expect(said['warnings']).toEqual([expect.stringContaining('SQLITE_PROTOCOL'), expect.stringContaining('opened anew')])
})
