import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { describe, expect, onTestFinished, test } from 'vitest'
import { identifyProcess, type ProcessIdentity } from '../../../runner-agent/src/host/processes.js'
import { ANSIBLE_PARTS } from '../../../runner-agent/src/package-info.js'
import { createJobFolder, type JobFolder } from '../../../runner-agent/src/spool/job-folder.js'
import { createSupervisorWatch, type SupervisorWatch } from '../../../runner-agent/src/spool/supervisor-watch.js'
import { holdClock } from '../../agent/held-clock.js'
import { waitUntil } from '../../agent/waiting.js'

/** Holds a lock on a file as a supervisor does, says so, and waits for its end. */
const HOLD = `
import fcntl, signal, sys
file = open(sys.argv[1], "r+")
fcntl.lockf(file, fcntl.LOCK_EX)
print("held", flush=True)
signal.pause()
`

function createWatch(): SupervisorWatch {
  const program = { python: 'python3', script: ANSIBLE_PARTS.locks }
  const watch = createSupervisorWatch({ program, log: pino({ level: 'silent' }) })
  onTestFinished(() => {
    watch.close()
  })
  return watch
}

/** The folder of a job whose mark of the start was torn while it was written. */
function tornJob(): JobFolder {
  const parent = mkdtempSync(join(tmpdir(), 'holdfast-supervisors-'))
  onTestFinished(() => {
    rmSync(parent, { recursive: true })
  })
  const key = { jobId: 1, runId: 'a'.repeat(32) }
  const folder = createJobFolder(join(parent, `${key.jobId}-${key.runId}`), key)
  mkdirSync(folder.path)
  writeFileSync(folder.file('started.json'), '{"pid":')
  return folder
}

test('a supervisor that nobody can see is gone when nobody holds its lock, and not before the kernel has said so', async () => {
  const [watch, folder] = [createWatch(), tornJob()]
  expect(watch.lookAtTorn(folder)).toBe('unknown')
  await waitUntil('the kernel has answered', () => watch.lookAtTorn(folder) !== 'unknown')
  expect(watch.lookAtTorn(folder)).toBe('gone')
})

test('a supervisor that nobody can see runs as long as its lock is held', async () => {
  const [watch, folder] = [createWatch(), tornJob()]
  const holder = spawn('python3', ['-c', HOLD, folder.file('started.json')], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void holder.kill('SIGKILL'))
  await once(holder.stdout, 'data')
  watch.lookAtTorn(folder)
  await waitUntil('the kernel has answered', () => watch.lookAtTorn(folder) !== 'unknown')
  expect(watch.lookAtTorn(folder)).toBe('runs')
})

describe('questions to the kernel', () => {
  const ASK_EVERY_MS = 5_000

  /** A kernel that gives the answers of a file, and notes for which files it was asked. */
  function answering() {
    const clock = holdClock({ timers: true })
    const base = mkdtempSync(join(tmpdir(), 'holdfast-kernel-'))
    onTestFinished(() => {
      rmSync(base, { recursive: true })
    })
    const [answers, asked] = [join(base, 'answers'), join(base, 'asked')]
    const python = join(base, 'python')
    // The kernel may need a while: it answers when there is an answer.
    const script = `/bin/cat >> ${asked}\necho >> ${asked}\nuntil [ -e ${answers} ]; do /bin/sleep 0.01; done\n/bin/cat ${answers}`
    writeFileSync(python, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
    const lines: string[] = []
    const log = pino({}, { write: (line) => void lines.push(line) })
    const watch = createSupervisorWatch({ program: { python, script: '/locks.py' }, log })
    /** A question is whole with the end of its line. */
    const questions = (): string[][] =>
      (existsSync(asked) ? readFileSync(asked, 'utf8') : '')
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as string[])
    return {
      clock,
      watch,
      lines,
      questions,
      answer(...words: string[]) {
        writeFileSync(`${answers}.tmp`, JSON.stringify(words))
        renameSync(`${answers}.tmp`, answers)
      },
      /** The next question is asked after so long, and is answered so. */
      async ask(milliseconds: number, ...words: string[]) {
        writeFileSync(answers, JSON.stringify(words))
        const before = questions().length
        expect(clock.count()).toBe(1)
        clock.move(milliseconds - 1)
        expect(clock.count()).toBe(1)
        clock.move(1)
        expect(clock.count()).toBe(0)
        await waitUntil('the kernel is asked', () => questions().length > before)
      },
    }
  }

  const SELF = identifyProcess(process.pid)
  /** A supervisor in the container of an earlier agent. */
  const STRANGER = { ...SELF, pid_namespace: 'pid:[1]', locked: true } as ProcessIdentity & { locked: boolean }

  test.each([
    ['held', 'runs'],
    ['free', 'gone'],
    ['ENOLCK', 'unknown'],
  ])('that are answered with %s say that a supervisor of another container is %s', async (word, state) => {
    const { clock, watch, ask } = answering()
    const folder = tornJob()
    expect(watch.look(folder, STRANGER)).toBe('unknown')
    await ask(0, word)
    await waitUntil('it is answered, and the next question is planned unless it is known', () => {
      const found = watch.look(folder, STRANGER)
      return found === state && (found === 'gone' || clock.count() === 1)
    })
    watch.close()
  })

  test('are asked about no supervisor that can be seen, or that has no lock', () => {
    const { clock, watch } = answering()
    const folder = tornJob()
    if (SELF === null) throw new Error('this process is not found')
    expect(watch.look(folder, { ...SELF, locked: true })).toBe('runs')
    expect(watch.look(folder, { ...SELF, locked: true, boot_id: 'another boot' })).toBe('gone')
    expect(watch.look(folder, { ...STRANGER, locked: false })).toBe('unknown')
    expect(watch.look(folder, { ...SELF, pid_namespace: 'pid:[1]' })).toBe('unknown')
    expect(clock.count()).toBe(0)
  })

  test('come at once for a new supervisor, and every five seconds while somebody looks at it', async () => {
    const { clock, watch, questions, ask } = answering()
    const folder = tornJob()
    watch.look(folder, STRANGER)
    watch.look(folder, STRANGER)
    await ask(0, 'held')
    await waitUntil('it is answered', () => watch.look(folder, STRANGER) === 'runs')
    await waitUntil('the next question is planned', () => {
      watch.look(folder, STRANGER)
      return clock.count() === 1
    })
    await ask(ASK_EVERY_MS, 'free')
    await waitUntil('it is answered', () => watch.look(folder, STRANGER) === 'gone')
    // What is gone stays gone, and is not asked about again.
    expect(watch.look(folder, STRANGER)).toBe('gone')
    expect(clock.count()).toBe(0)
    expect(questions()).toEqual([[folder.file('started.json')], [folder.file('started.json')]])
  })

  test('name all supervisors that somebody looked at since the last one, and no others', async () => {
    const { clock, watch, questions, ask } = answering()
    const [one, other] = [tornJob(), tornJob()]
    const second = { ...STRANGER, pid: STRANGER.pid + 1 }
    watch.look(one, STRANGER)
    watch.look(other, second)
    await ask(0, 'held', 'held')
    await waitUntil('both are answered', () => watch.look(other, second) === 'runs')
    await waitUntil('the next question is planned', () => {
      watch.look(other, second)
      return clock.count() === 1
    })
    await ask(ASK_EVERY_MS, 'free')
    await waitUntil('it is answered', () => watch.look(other, second) === 'gone')
    expect(watch.look(one, STRANGER)).toBe('runs')
    const [path, ofOther] = [one, other].map((folder) => folder.file('started.json'))
    expect(questions()).toEqual([[path, ofOther], [ofOther]])
  })

  test('that fail are noted, say nothing, and are asked again', async () => {
    const { clock, watch, lines, ask } = answering()
    const folder = tornJob()
    watch.look(folder, STRANGER)
    await ask(0)
    await waitUntil('the failure is noted', () => lines.length > 0)
    expect(lines[0]).toContain('cannot look at the locks of supervisors; tried again')
    await waitUntil('the next question is planned', () => {
      expect(watch.look(folder, STRANGER)).toBe('unknown')
      return clock.count() === 1
    })
    await ask(ASK_EVERY_MS, 'held')
    await waitUntil('it is answered', () => watch.look(folder, STRANGER) === 'runs')
  })

  test('wait for the answer of the one before', async () => {
    const { clock, watch, questions, answer } = answering()
    const folder = tornJob()
    watch.look(folder, STRANGER)
    clock.move(0)
    expect(watch.look(folder, STRANGER)).toBe('unknown')
    expect(clock.count()).toBe(0)
    await waitUntil('the kernel is asked', () => questions().length === 1)
    watch.look(folder, STRANGER)
    expect(clock.count()).toBe(0)
    answer('held')
    await waitUntil('it is answered', () => watch.look(folder, STRANGER) === 'runs')
  })

  test('come no more after the end', () => {
    const { clock, watch } = answering()
    const folder = tornJob()
    watch.lookAtTorn(folder)
    expect(clock.count()).toBe(1)
    watch.close()
    expect(clock.count()).toBe(0)
    expect(watch.lookAtTorn(folder)).toBe('unknown')
    expect(clock.count()).toBe(0)
    const idle = createWatch()
    idle.close()
    idle.close()
    expect(idle.lookAtTorn(folder)).toBe('unknown')
    expect(clock.count()).toBe(0)
  })
})

test('a question that waits keeps no process alive', () => {
  const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  const [watch, folder] = [createWatch(), tornJob()]
  const before = timers()
  watch.lookAtTorn(folder)
  expect(timers()).toBe(before)
})
