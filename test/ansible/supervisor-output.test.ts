import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { linesOf } from './events.js'
import { JobFolder, fixtures, python } from './job-folder.js'
import { exists, until } from './observe.js'

const program = (code: string) => [python, '-u', '-c', `import os, sys, time\n${code}`]
const waitFor = (file: string) => `while not os.path.exists(${JSON.stringify(file)}): time.sleep(0.01)`

/** A program that prints everything and then waits, so that the supervisor can be looked at. */
const printThenWait = (code: string) => program(`${code}\nopen("printed", "w")\n${waitFor('gate')}`)

describe('output.log', () => {
  it('is what was printed, byte for byte', async () => {
    const code = `piece = bytes(range(256)) * 700 + b"\\x00" * 5000 + b"\\xff\\xfe broken \\xe2\\x82"
for _ in range(20): os.write(1, piece); os.write(2, piece)`
    const job = await JobFolder.create({ argv: program(code) })
    const end = await job.run()
    const piece = Buffer.concat([
      ...Array.from({ length: 700 }, () => Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))),
      Buffer.alloc(5000),
      Buffer.from([0xff, 0xfe]),
      Buffer.from(' broken '),
      Buffer.from([0xe2, 0x82]),
    ])
    const all = Buffer.concat(Array.from({ length: 40 }, () => piece))
    expect((await readFile(job.file('output.log'))).equals(all)).toBe(true)
    expect(end.output).toEqual({
      length: all.length,
      sha256: createHash('sha256').update(all).digest('hex'),
      dropped_bytes: 0,
    })
  })

  it('takes a line of 200 MB in little memory', async () => {
    const size = 200 * 1024 * 1024
    const job = await JobFolder.create({
      argv: printThenWait('piece = b"x" * 1048576\nfor _ in range(200): sys.stdout.buffer.write(piece)'),
      outputLimit: size + 1,
    })
    job.start()
    await until('all is printed', () => exists(job.file('printed')))
    await until('all is written', async () => (await stat(job.file('output.log'))).size === size)
    const status = await readFile(`/proc/${String(job.supervisorPid)}/status`, 'utf8')
    expect(Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1])).toBeLessThan(60 * 1024)
    await writeFile(job.file('gate'), '')
    expect(await job.end()).toMatchObject({ cause: 'exited', exit_code: 0, output: { length: size, dropped_bytes: 0 } })
  })

  it('ends with one warning where the limit is, and the playbook goes on', async () => {
    const job = await JobFolder.create({
      argv: program('sys.stdout.write("x" * 700)\nfor _ in range(100): sys.stdout.write("y" * 100)\nsys.exit(7)'),
      outputLimit: 1000,
    })
    const end = await job.run()
    const text = await job.output()
    expect(text.slice(0, 1000)).toBe('x'.repeat(700) + 'y'.repeat(300))
    expect(text.slice(1000)).toMatch(/^\n\[holdfast\] The output limit of 1000 bytes is reached: [^\n]+\n$/)
    expect(end).toMatchObject({ cause: 'exited', exit_code: 7, output: { dropped_bytes: 9700 } })
  })

  it('is not cut where output ends exactly at the limit', async () => {
    const job = await JobFolder.create({ argv: program('sys.stdout.write("z" * 1000)'), outputLimit: 1000 })
    expect((await job.run()).output.dropped_bytes).toBe(0)
    expect(await job.output()).toBe('z'.repeat(1000))
  })
})

const disk = await smallDisk()

describe.skipIf(disk === null)('on a full disk (needs the right to mount a tmpfs)', () => {
  const folder = disk ?? ''
  const size = 1024 * 1024

  beforeAll(() => execa('mount', ['-t', 'tmpfs', '-o', `size=${String(size)}`, 'tmpfs', folder]))
  afterAll(async () => {
    await execa('umount', ['-l', folder])
    await rm(folder, { recursive: true })
  })

  it('the job goes on, what is lost is counted, and end.json gets through', async () => {
    const work = await mkdtemp(join(tmpdir(), 'holdfast-work-'))
    const job = await JobFolder.create({
      argv: program('for _ in range(300): sys.stdout.write("a" * 9999 + "\\n")\nsys.exit(8)'),
      cwd: work,
      below: folder,
    })
    const end = await job.run()
    await rm(work, { recursive: true })
    expect(end).toMatchObject({ cause: 'exited', exit_code: 8 })
    const text = await job.output()
    const kept = text.replace(/\n?\[holdfast\] [^\n]*\n/, '')
    expect(kept.length + end.output.dropped_bytes).toBe(3_000_000)
    expect(text).toMatch(/\n\[holdfast\] \d+ bytes of output lost: No space left on device\n$/)
  })

  it('events that do not fit are counted, those that do are numbered through', async () => {
    await writeFile(join(folder, 'ballast'), Buffer.alloc(size / 2, 1))
    const args = ['-i', 'localhost,', '-c', 'local', 'big.yml']
    const job = await JobFolder.ofPlaybook(join(fixtures, 'runs'), args, { below: folder })
    const end = await job.run()
    await rm(join(folder, 'ballast'))
    expect(end).toMatchObject({ cause: 'exited', exit_code: 0, events: { errors: 0, plugin_seen: true } })
    const lines = linesOf(await readFile(job.file('events.jsonl'), 'utf8'))
    const whole = lines.filter((line) => line !== null)
    expect(lines.length - whole.length).toBeLessThanOrEqual(1)
    expect(end.events.dropped).toBeGreaterThan(0)
    expect(await job.report()).toMatchObject({ events: whole.length, dropped: end.events.dropped, finished: true })
  })

  it('output is written again as soon as there is room, and the gap is marked', async () => {
    const work = await mkdtemp(join(tmpdir(), 'holdfast-work-'))
    const ballast = join(folder, 'ballast')
    await writeFile(ballast, Buffer.alloc(size / 2, 1))
    const code = `sys.stdout.write("a" * 2000000)
open("printed", "w")
${waitFor('gate')}
while not os.path.exists("enough"):
    sys.stdout.write("b\\n")
    time.sleep(0.01)
sys.stdout.write("the end\\n")`
    const job = await JobFolder.create({ argv: program(code), cwd: work, below: folder })
    job.start()
    await until('the disk is full', () => exists(join(work, 'printed')))
    await rm(ballast)
    await writeFile(join(work, 'gate'), '')
    await until('output is written again', async () => (await job.output()).endsWith('b\n'))
    await writeFile(join(work, 'enough'), '')
    const end = await job.end()
    await rm(work, { recursive: true })
    const text = await job.output()
    expect(text).toMatch(/^a+\n\[holdfast\] \d+ bytes of output lost: No space left on device\n(b\n)+the end\n$/)
    expect(end.output.dropped_bytes).toBe(Number(/(\d+) bytes of output lost/.exec(text)?.[1]))
  })
})

/** A folder where a small file system may be mounted, or null where that is not permitted. */
async function smallDisk(): Promise<string | null> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-disk-'))
  await mkdir(folder, { recursive: true })
  const mounted = await execa('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', folder], { reject: false })
  if (mounted.exitCode !== 0) {
    await rm(folder, { recursive: true })
    return null
  }
  await execa('umount', [folder])
  return folder
}
