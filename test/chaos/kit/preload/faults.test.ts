import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { cleanEnvironment } from '../../../support/process.js'
import { type Faults, OPERATIONS, type Operation, createFaults } from './faults.js'

/** The library below both languages of the product, on what each of them really calls. */
let folder: string
let faults: Faults

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-test-'))
  faults = await createFaults(folder)
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** Calls by the name of the path on which they are made: it is there, and a folder where the call wants one. */
type Calls = Readonly<Record<string, string>>

const NODE_CALLS = {
  open: 'fs.openSync(path, "r")',
  read: 'fs.readFileSync(path, "utf8")',
  write: 'fs.writeFileSync(path, "x")',
  sync: 'fs.fsyncSync(fs.openSync(path, "r"))',
  stat: 'fs.statSync(path)',
  readdir: 'fs.readdirSync(path)',
  rename: 'fs.renameSync(path + "/../other", path)',
  link: 'fs.linkSync(path + "/../other", path)',
  unlink: 'fs.unlinkSync(path)',
  mkdir: 'fs.mkdirSync(path)',
  truncate: 'fs.ftruncateSync(fs.openSync(path, "r+"), 0)',
} satisfies Partial<Record<Operation, string>>

const PYTHON_CALLS = {
  open: 'open(path)',
  read: 'open(path).read()',
  write: 'os.write(os.open(path, os.O_WRONLY), b"x")',
  sync: 'os.fsync(os.open(path, os.O_RDONLY))',
  stat: 'os.stat(path)',
  readdir: 'os.listdir(path)',
  rename: 'os.rename(other, path)',
  link: 'os.link(other, path)',
  unlink: 'os.unlink(path)',
  mkdir: 'os.mkdir(path)',
  truncate: 'os.truncate(os.open(path, os.O_RDWR), 0)',
  lock: 'fcntl.flock(os.open(path, os.O_RDWR), fcntl.LOCK_EX)',
  map: 'mmap.mmap(os.open(path, os.O_RDWR), 1)',
} satisfies Partial<Record<Operation, string>>

/** The same by way of a descriptor of the folder, as the supervisor does it. */
const PYTHON_CALLS_BELOW = {
  open: 'os.open(name, os.O_RDONLY, dir_fd=folder)',
  stat: 'os.stat(name, dir_fd=folder)',
  readdir: 'os.listdir(os.open(name, os.O_RDONLY, dir_fd=folder))',
  rename: 'os.rename("other", name, src_dir_fd=folder, dst_dir_fd=folder)',
  link: 'os.link("other", name, src_dir_fd=folder, dst_dir_fd=folder)',
  unlink: 'os.unlink(name, dir_fd=folder)',
  mkdir: 'os.mkdir(name, dir_fd=folder)',
} satisfies Partial<Record<Operation, string>>

const LANGUAGES = { node: runNode, python3: runPython }

/** Prints the error's number of each call, as JSON. */
async function runNode(calls: Calls): Promise<unknown> {
  const tries = Object.entries(calls).map(
    ([operation, call]) =>
      `try { const path = "${folder}/${operation}"; ${call}; said.${operation} = 0 } catch (error) { said.${operation} = -error.errno }`,
  )
  return run('node', [
    '-e',
    `const fs = require("fs"), said = {};\n${tries.join('\n')}\nconsole.log(JSON.stringify(said))`,
  ])
}

async function runPython(calls: Calls): Promise<unknown> {
  const tries = Object.entries(calls).map(([operation, call]) =>
    [
      `name, path = "${operation}", "${folder}/${operation}"`,
      `try: ${call}; said["${operation}"] = 0`,
      `except OSError as error: said["${operation}"] = error.errno`,
    ].join('\n'),
  )
  const begin = `import fcntl, json, mmap, os\nsaid, other = {}, "${folder}/other"\nfolder = os.open("${folder}", os.O_RDONLY)`
  return run('python3', ['-I', '-c', `${begin}\n${tries.join('\n')}\nprint(json.dumps(said))`])
}

async function run(program: keyof typeof LANGUAGES, args: string[]): Promise<unknown> {
  const env = cleanEnvironment({ ...faults.environments.agent })
  const { stdout } = await execa(program, args, { env, extendEnv: false })
  return JSON.parse(stdout) as unknown
}

function prepare(operations: readonly string[]): void {
  writeFileSync(join(folder, 'other'), 'x')
  for (const operation of operations) {
    const path = join(folder, operation)
    if (operation === 'readdir') mkdirSync(path)
    else writeFileSync(path, 'x')
  }
}

describe('the faults of files', () => {
  test.each([
    ['node', NODE_CALLS],
    ['python3', PYTHON_CALLS],
    ['python3', PYTHON_CALLS_BELOW],
  ] as const)('every kind of call fails in %s as the rule says', async (language, calls) => {
    const operations = Object.keys(calls) as Operation[]
    prepare(operations)
    const armed = operations.map((operation) =>
      faults.arm({ operation, path: join(folder, operation), action: 'ESTALE', calls: { first: 1 } }),
    )
    const every = Object.fromEntries(operations.map((operation) => [operation, constants.errno.ESTALE]))
    expect(await LANGUAGES[language](calls)).toEqual(every)
    for (const [at, operation] of operations.entries())
      expect(armed[at]?.tally()).toMatchObject({ met: 1, last: `${operation} ${join(folder, operation)}` })
  })

  test('a rule for opening to write leaves reading alone', async () => {
    prepare(['open'])
    faults.arm({ operation: 'open-write', path: join(folder, 'open'), action: 'EIO' })
    expect(await runNode({ open: NODE_CALLS.open })).toEqual({ open: 0 })
    expect(await runPython({ open: 'open(path, "w")' })).toEqual({ open: constants.errno.EIO })
  })

  test('both languages see every error code', async () => {
    const codes = ['EMFILE', 'ENFILE', 'ENOMEM', 'EIO', 'EACCES', 'ETIMEDOUT', 'ENOSPC', 'EROFS'] as const
    const expected = Object.fromEntries(codes.map((code) => [code, constants.errno[code]]))
    const each = (call = '') => Object.fromEntries(codes.map((code) => [code, call]))
    prepare(codes)
    for (const code of codes) faults.arm({ operation: 'open', path: join(folder, code), action: code })
    expect(await runNode(each(NODE_CALLS.open))).toEqual(expected)
    expect(await runPython(each(PYTHON_CALLS.open))).toEqual(expected)
  })

  test('SQLite below the control plane makes calls of these kinds on its database', async () => {
    const seen = OPERATIONS.map((operation) => ({
      operation,
      fault: faults.arm({ operation, path: join(folder, 'some.db*'), action: 'none' }),
    }))
    const sqlite = createRequire(import.meta.url).resolve('sqlite3', { paths: [join(process.cwd(), 'control-plane')] })
    const script = `const db = new (require(${JSON.stringify(sqlite)}).Database)("${folder}/some.db")
      db.exec("pragma journal_mode = wal; pragma synchronous = full; create table t (a); insert into t values (1)", () =>
        db.close(() => console.log(0)))`
    expect(await run('node', ['-e', script])).toBe(0)
    const met = seen.filter(({ fault }) => fault.tally().calls > 0).map(({ operation }) => operation)
    expect(met).toEqual(expect.arrayContaining(['open', 'read', 'write', 'sync', 'stat', 'unlink', 'lock', 'map']))
  })

  test('calls are counted over all processes, and a seed decides which ones fail', async () => {
    const failing = async (): Promise<unknown> =>
      run('node', [
        '-e',
        `const fs = require("fs"), failed = []
        for (let at = 1; at <= 50; at += 1) try { fs.statSync("${folder}") } catch { failed.push(at) }
        console.log(JSON.stringify(failed))`,
      ])
    const rule = { operation: 'stat', path: folder, action: 'EIO' } as const
    const counted = faults.arm({ ...rule, calls: { first: 49, count: 4 } })
    expect([await failing(), await failing()]).toEqual([
      [49, 50],
      [1, 2],
    ])
    expect(counted.tally()).toMatchObject({ calls: 100, met: 4 })
    counted.disarm()
    expect(await failing()).toEqual([])
    const drawn = [1, 1, 2].map((seed) => async () => {
      const fault = faults.arm({ ...rule, chance: { share: 0.3, seed } })
      const failed = await failing()
      fault.disarm()
      return failed as number[]
    })
    const [first, again, other] = [await drawn[0]?.(), await drawn[1]?.(), await drawn[2]?.()]
    expect(again).toEqual(first)
    expect(other).not.toEqual(first)
    expect(first?.length).toBeGreaterThan(4)
    expect(first?.length).toBeLessThan(30)
  })
})
