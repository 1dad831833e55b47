import { mkdir, mkdtemp, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { describe, expect, it, onTestFinished } from 'vitest'
import { JobFolder, python } from './job-folder.js'
import { exists, fileSays, isAlive, measure, processesOf, tryKill, until } from './observe.js'

const shell = (script: string) => ['/bin/sh', '-c', script]
const PLAYBOOK_WITH_GATE = `- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - ansible.builtin.debug:
        msg: before the move
    - ansible.builtin.shell: until [ -e gate ]; do sleep 0.05; done
      args:
        chdir: "{{ playbook_dir }}"
    - ansible.builtin.debug:
        msg: after the move
`
const quickLadder = { interrupt: 0.3, terminate: 0.3 }

describe('the end of a job', () => {
  it('is the exit code of the program', async () => {
    const job = await JobFolder.create({ argv: shell('echo hello; echo oops >&2; exit 3') })
    const end = await job.run()
    expect(end).toMatchObject({ cause: 'exited', exit_code: 3, signal: null, message: null, aborted: false })
    expect(end.started_at).not.toBeNull()
    expect(await job.output()).toBe('hello\noops\n')
    expect(end.events).toMatchObject({ length: 0, dropped: 0, errors: 0, plugin_seen: false })
    // It was not ansible that refused the run.
    expect(end.events).not.toHaveProperty('before_play')
    expect((await readdir(job.path)).sort()).toEqual([
      'end.json',
      'events.jsonl',
      'exit.json',
      'output.log',
      'playbook.json',
      'started.json',
      'supervisor.json',
    ])
  })

  it('is a refusal with the reason and its place, when the job can have no user of its own', async () => {
    const ended = async (isolation: object) => {
      const job = await JobFolder.create({ argv: shell('exit 0') })
      await job.replaceInOrders('"run_id"', `"isolation":${JSON.stringify(isolation)},"run_id"`)
      return { job, end: await job.run() }
    }
    const entry = { uid: 60_000, gid: 60_000, name: 'job-a', groups: [] }
    const none = await ended({ users: [], folder: '/nowhere', home: null, private: [] })
    const said = 'the job could not be given a user of its own: '
    expect(none.end).toMatchObject({ cause: 'spawn_failed', message: `${said}no user is free for this job` })
    // A file is where the folder of the users should be.
    const file = none.job.file('supervisor.json')
    const shut = await ended({ users: [entry], folder: file, home: null, private: [] })
    expect(shut.end.message).toBe(`${said}Not a directory: ${file}/job-a`)
  })

  it('is the signal that ended it', async () => {
    const job = await JobFolder.create({ argv: shell('kill -9 $$') })
    expect(await job.run()).toMatchObject({ cause: 'signaled', exit_code: null, signal: 'SIGKILL', aborted: false })
  })

  it('is not kept waiting by a silent daemon that holds the output, and the daemon is ended', async () => {
    const job = await JobFolder.create({
      argv: shell('setsid sleep 600 & echo started'),
      drain: { quiet: 0.2, total: 600 },
    })
    expect(await job.run()).toMatchObject({ cause: 'exited', exit_code: 0, message: null })
    expect(await job.output()).toBe('started\n')
  })

  it('is not kept waiting by a daemon that goes on printing', async () => {
    const job = await JobFolder.create({
      argv: shell('setsid sh -c "trap : TERM; while :; do echo still here; sleep 0.01; done" & exit 4'),
      drain: { quiet: 600, total: 0.3 },
    })
    expect(await job.run()).toMatchObject({ cause: 'exited', exit_code: 4, message: null })
    expect(await job.output()).toContain('still here')
  })

  it('is told whatever the playbook has written over the report of the callback', async () => {
    const job = await JobFolder.create({
      argv: shell(`printf '{"dropped": 1e999, "errors": 0}' > callback.json; exit 3`),
    })
    expect(await job.run()).toMatchObject({ cause: 'exited', exit_code: 3, events: { plugin_seen: false } })
  })

  it.each([
    ['kill 0', 'SIGTERM'],
    ['kill -9 0', 'SIGKILL'],
  ])('survives a task that runs `%s`', async (command, signal) => {
    const job = await JobFolder.create({ argv: shell(`echo before; ${command}; sleep 600`) })
    expect(await job.run()).toMatchObject({ cause: 'signaled', signal })
    expect(await job.output()).toBe('before\n')
  })

  it('comes and is told when the supervisor itself fails', async () => {
    const job = await JobFolder.create({ argv: shell('echo hello; exit 3') })
    job.startBroken('output_log.OutputLog.feed = None')
    const end = await job.end()
    expect(end).toMatchObject({ cause: 'exited', exit_code: 3, output: { length: 0 } })
    expect(end.message).toContain('the supervisor failed, so later output may be missing: TypeError')
  })

  it('names the processes that cannot be ended, and waits for them no longer than it must', async () => {
    const job = await JobFolder.create({
      argv: shell('setsid sleep 600 & echo $!; exit 3'),
      drain: { quiet: 0, total: 0 },
    })
    // As if they were stuck in the kernel: no signal does anything.
    job.startBroken(`
from holdfast_job import process_tree, supervise
supervise._SWEEP, process_tree._GIVE_UP_AFTER = ((15, 0.0),), 0.0
process_tree.ProcessTree.signal = lambda tree, number: tree.find()`)
    expect(await job.exitOfSupervisor()).toBe(0)
    const [pid] = await processesOf(job.marker)
    onTestFinished(() => {
      if (pid !== undefined) tryKill(pid)
    })
    const end = JSON.parse(await readFile(job.file('end.json'), 'utf8')) as unknown
    const message = `some processes of the job could not be ended: ${pid} (sleep)`
    expect(end).toMatchObject({ cause: 'exited', exit_code: 3, message })
  })

  it('does not need the job folder to come to an end', async () => {
    const job = await JobFolder.create({ argv: shell('touch ready; while [ -e gate ]; do sleep 0.02; done') })
    const gate = `${job.path}.gate`
    await writeFile(gate, '')
    await job.replaceInOrders('-e gate', `-e ${gate}`)
    job.start()
    await until('the program runs', () => exists(job.file('ready')))
    // The supervisor may write into it in the middle of the removal.
    await rm(job.path, { recursive: true, maxRetries: 20 })
    await rm(gate)
    expect(await job.exitOfSupervisor()).toBe(0)
    expect(await processesOf(job.marker)).toEqual([])
  })

  it.each([
    ['its folder cannot be opened', 'start.os', 'open', 'name == job'],
    ['its own code cannot be read', '__import__("builtins")', '__import__', "name == 'holdfast_job.supervise'"],
  ])('is the real one when %s for a while', async (_what, owner, name, condition) => {
    const job = await JobFolder.create({ argv: shell('echo done; exit 3') })
    // More often than anybody would try who gives up; the pauses between cost no time here.
    job.startBroken(`
import errno
job, real, left, start.time.sleep = sys.argv[1], ${owner}.${name}, [100], lambda seconds: None
def failing(name, *arguments, **more):
    if ${condition} and left[0] > 0:
        left[0] -= 1
        raise OSError(errno.EMFILE, "too many open files")
    return real(name, *arguments, **more)
${owner}.${name} = failing`)
    expect(await job.end()).toMatchObject({ cause: 'exited', exit_code: 3 })
    expect(await job.output()).toBe('done\n')
  })

  it('is written into the folder of the job wherever that was moved while the playbook ran', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'holdfast-moved-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    await writeFile(join(folder, 'site.yml'), PLAYBOOK_WITH_GATE)
    const job = await JobFolder.ofPlaybook(folder, ['-i', 'localhost,', 'site.yml'])
    job.start()
    await until('the playbook runs', async () => (await job.output().catch(() => '')).includes('before the move'))
    const moved = `${job.path}.moved`
    await rename(job.path, moved)
    onTestFinished(() => rm(moved, { recursive: true, force: true }))
    await writeFile(join(folder, 'gate'), '')
    expect(await job.exitOfSupervisor()).toBe(0)
    await rename(moved, job.path)
    const end = await job.end()
    expect(end).toMatchObject({ cause: 'exited', exit_code: 0, events: { plugin_seen: true, dropped: 0, errors: 0 } })
    expect(await job.output()).toContain('after the move')
    const events = await job.events()
    expect(events.at(-1)).toMatchObject({ type: 'playbook_on_stats' })
    expect(await job.report()).toMatchObject({ finished: true, events: events.length })
  })

  it('of ansible is durable before anything else is done', async () => {
    const drain = { quiet: 600, total: 600 }
    const job = await JobFolder.create({ argv: shell('setsid sleep 600 & exit 5'), drain })
    job.start()
    await until('the exit is written', () => exists(job.file('exit.json')))
    for (const pid of await job.supervisors()) tryKill(pid)
    await job.exitOfSupervisor()
    const exit = JSON.parse(await readFile(job.file('exit.json'), 'utf8')) as unknown
    expect(exit).toMatchObject({ run_id: job.runId, exit_code: 5, signal: null, stopped: false })
    expect(await exists(job.file('end.json'))).toBe(false)
  })

  it('of ansible is noted once more before the processes that are left are ended', async () => {
    const seen = 'trap "ls exit.json > seen 2>&1; exit" TERM; touch ready; while :; do sleep 0.02; done'
    const script = `setsid sh -c '${seen}' & while [ ! -e ready ]; do sleep 0.02; done; exit 5`
    const job = await JobFolder.create({ argv: shell(script), drain: { quiet: 0.1, total: 0.1 } })
    // The disk is full when ansible ends, and has space again a moment later.
    job.startBroken(`
from holdfast_job import supervise
full, write, sweep = [True], supervise.write_exit, supervise.Run.sweep
supervise._SWEEP = ((15, 600.0),)
supervise.write_exit = lambda *arguments: not full[0] and write(*arguments)
def sweep_with_space(run):
    full[0] = False
    sweep(run)
supervise.Run.sweep = sweep_with_space`)
    expect(await job.end()).toMatchObject({ cause: 'exited', exit_code: 5 })
    expect(await readFile(job.file('seen'), 'utf8')).toBe('exit.json\n')
  })
})

/** Lines that come one after the other, so that there is something to read at each moment. */
const PRINTING = 'i=0; while [ $i -lt 2000 ]; do echo "line $i"; i=$((i+1)); done; exit 4'
const PRINTED = Array.from({ length: 2000 }, (_, line) => `line ${line}\n`).join('')

describe('a supervisor that is killed', () => {
  it.each([
    ['with bytes on their way to it', 'handover.Handover', '_fetch', 'before'],
    ['with bytes that it has just taken', 'handover.os', 'readv', 'after'],
    ['before it writes them', 'output_log.OutputLog', '_append', 'before'],
    ['after it has written them', 'output_log.OutputLog', '_append', 'after'],
    ['when all is said about them', 'handover.Handover', 'done', 'after'],
    ['when the program has ended and nobody has noted how', 'supervise', 'write_exit', 'before'],
    ['before it writes the end', 'supervise', 'write_end', 'before'],
  ])(
    '%s: another one goes on, no byte is lost or doubled, and the end is the real one',
    async (_, owner, name, when) => {
      const job = await JobFolder.create({ argv: shell(PRINTING) })
      job.startBroken(`
import os
from holdfast_job import handover, supervise
real = ${owner}.${name}
def die_once():
    try:
        os.close(os.open(sys.argv[1] + ".killed", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    os.kill(os.getpid(), 9)
def dying(*arguments, **more):
    if ${when === 'before' ? 'True' : 'False'}:
        die_once()
    result = real(*arguments, **more)
    die_once()
    return result
${owner}.${name} = dying`)
      expect(await job.end()).toMatchObject({ cause: 'exited', exit_code: 4, message: null })
      expect(await exists(`${job.path}.killed`)).toBe(true)
      expect(await job.output()).toBe(PRINTED)
    },
  )

  it('hides secrets that come in two parts, before and after it is killed', async () => {
    const script = 'printf "the word is swor"; touch ready; while [ ! -e gate ]; do sleep 0.02; done; echo "dfish!"'
    const job = await JobFolder.create({ argv: shell(script) })
    job.startWithSecrets(`${JSON.stringify({ pipes: {}, files: {}, hidden: ['swordfish'] })}\n`)
    await until('the first part is there', async () => (await exists(job.file('ready'))) && (await job.output()) !== '')
    tryKill(await job.supervisorBesideKeeper())
    await writeFile(job.file('gate'), '')
    expect(await job.end()).toMatchObject({ cause: 'exited', exit_code: 0 })
    expect(await job.output()).toBe('the word is ********!\n')
  })

  it('is followed by one that obeys an abort', async () => {
    const job = await JobFolder.create({ argv: shell('touch ready; while :; do sleep 0.02; done') })
    job.start()
    await until('the program runs', () => exists(job.file('ready')))
    tryKill(await job.supervisorBesideKeeper())
    await job.abort()
    expect(await job.end()).toMatchObject({ cause: 'aborted', aborted: true })
  })

  it('was only kept: without its keeper the supervisor goes on', async () => {
    const script = 'echo before; touch ready; while [ ! -e gate ]; do sleep 0.02; done; echo after; exit 4'
    const job = await JobFolder.create({ argv: shell(script) })
    job.start()
    await until('the program runs', () => exists(job.file('ready')))
    tryKill(job.supervisorPid)
    await writeFile(job.file('gate'), '')
    await until('the end is written', () => exists(job.file('end.json')))
    expect(JSON.parse(await readFile(job.file('end.json'), 'utf8'))).toMatchObject({ cause: 'exited', exit_code: 4 })
    expect(await job.output()).toBe('before\nafter\n')
  })
})

describe('the start of a job', () => {
  it('happens once: a second supervisor refuses and changes nothing', async () => {
    const job = await JobFolder.create({ argv: shell('echo once >> runs') })
    await job.run()
    const before = await measure(job.file('end.json'))
    job.start()
    expect(await job.exitOfSupervisor()).toBe(17)
    expect(await measure(job.file('end.json'))).toEqual(before)
    expect(await readFile(job.file('runs'), 'utf8')).toBe('once\n')
  })

  it('names the process that can be found again', async () => {
    const job = await JobFolder.create({ argv: shell('cat started.json') })
    job.start()
    const pid = job.supervisorPid
    await job.end()
    const started = JSON.parse(await job.output()) as Record<string, unknown>
    expect(started).toMatchObject({
      pid,
      boot_id: (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim(),
    })
    expect(started['start_ticks']).toBeGreaterThan(0)
  })

  it('lets the kernel end the program rather than its supervisor when no memory is left', async () => {
    // The program may begin before its supervisor has its own score back, which it lent to the start.
    const own = '$(cat /proc/self/oom_score_adj)'
    const ofParent = '$(cat /proc/$PPID/oom_score_adj)'
    const waiting = `for i in $(seq 500); do [ "${own}" -gt "${ofParent}" ] && break; sleep 0.01; done`
    const job = await JobFolder.create({ argv: shell(`${waiting}; echo "${own}"; echo "${ofParent}"`) })
    await job.run()
    const [ofProgram = 0, ofSupervisor = 0] = (await job.output()).split('\n').map(Number)
    expect(ofProgram).toBeGreaterThan(ofSupervisor)
  })

  it('gives the program its own environment, no input, no foreign descriptors and default signals', async () => {
    const blocking =
      'import os, signal, sys; signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM, signal.SIGCHLD)); ' +
      'os.execvp(sys.argv[1], sys.argv[1:])'
    const see = async (argv: string[]) => {
      const job = await JobFolder.create({ argv, env: { PATH: '/usr/bin:/bin', NAME: 'grün' } })
      job.start(`trap "" INT HUP PIPE; exec 7</dev/null; exec python3 -c '${blocking}' "$@"`)
      await job.end()
      return (await job.output()).replace(job.marker, 'MARKER')
    }
    expect((await see(['env'])).trim().split('\n').sort()).toEqual([
      'HOLDFAST_JOB_MARKER=MARKER',
      'NAME=grün',
      'PATH=/usr/bin:/bin',
    ])
    expect(await see(['cat'])).toBe('')
    expect(await see(['ls', '/proc/self/fd'])).toBe('0\n1\n2\n3\n')
    const masks = (await see(['grep', '-E', 'SigIgn|SigBlk', '/proc/self/status'])).match(/[0-9a-f]{16}/g) ?? []
    const ordinarySignals = 0x7fffffffn // glibc keeps 32 and 33 for itself
    expect(masks.map((mask) => BigInt(`0x${mask}`) & ordinarySignals)).toEqual([0n, 0n])
  })

  it.each([
    [
      'a program that is not there',
      { argv: ['/no/such/program'] },
      /\/no\/such\/program could not be started: No such file/,
    ],
    ['a program that is not in PATH', { argv: ['no-such-program'] }, /no-such-program .* not found in PATH/],
    [
      'a folder that is not there',
      { argv: ['/bin/true'], cwd: '/no/such/folder' },
      /folder \/no\/such\/folder .* No such file/,
    ],
    ['a folder instead of a program', { argv: ['/tmp'] }, /\/tmp could not be started: Permission denied/],
    ['orders without a program', { argv: [] }, /supervisor\.json is not as it must be/],
  ])('says why for %s', async (_, orders, message) => {
    const job = await JobFolder.create(orders)
    const end = await job.run()
    expect(end).toMatchObject({ cause: 'spawn_failed', exit_code: null, signal: null, started_at: null })
    expect(end.message).toMatch(message)
  })

  it('says when an interpreter is missing', async () => {
    const job = await JobFolder.create({ argv: ['./script'] })
    await writeFile(job.file('script'), '#!/no/such/interpreter\n', { mode: 0o700 })
    expect((await job.run()).message).toMatch(/interpreter may be missing/)
  })

  it('says so when the supervisor itself cannot work', async () => {
    const job = await JobFolder.create({ argv: ['/bin/true'] })
    await mkdir(job.file('output.log'))
    job.start()
    expect(await job.exitOfSupervisor()).toBe(0)
    const end = JSON.parse(await readFile(job.file('end.json'), 'utf8')) as Record<string, unknown>
    expect(end).toMatchObject({ cause: 'spawn_failed', run_id: job.runId })
    expect(end['message']).toContain('the supervisor failed before the start')
  })
})

describe('an abort', () => {
  const waiting = 'touch ready; while :; do sleep 0.02; done'

  it('before the start keeps the program from being started', async () => {
    const job = await JobFolder.create({ argv: shell('touch ran') })
    await writeFile(job.file('abort.json'), '{}')
    expect(await job.run()).toMatchObject({ cause: 'aborted', exit_code: null, aborted: true, started_at: null })
    expect(await exists(job.file('ran'))).toBe(false)
  })

  it('is not meant by SIGTERM alone', async () => {
    const job = await JobFolder.create({ argv: shell('touch ready; while [ -e gate ]; do sleep 0.02; done; exit 5') })
    await writeFile(job.file('gate'), '')
    job.start()
    await until('the program runs', () => exists(job.file('ready')))
    for (const signal of ['SIGTERM', 'SIGUSR1', 'SIGINT', 'SIGHUP'] as const) process.kill(job.supervisorPid, signal)
    await rm(job.file('gate'))
    expect(await job.end()).toMatchObject({ cause: 'exited', exit_code: 5, aborted: false })
  })

  it('asks with SIGINT first, and the program may say its last words', async () => {
    // Much, so that all of it is still in the pipe when the program has ended.
    const words = 'goodbye\n'.repeat(25_000)
    const job = await JobFolder.create({ argv: shell(`trap "cat words; exit 99" INT; ${waiting}`) })
    await writeFile(job.file('words'), words)
    job.start()
    await until('the program runs', () => exists(job.file('ready')))
    await job.abort()
    expect(await job.end()).toMatchObject({ cause: 'aborted', exit_code: 99, signal: null, aborted: true })
    expect(await job.output()).toBe(words)
  })

  it('reaches a program although the supervisor was started with SIGINT ignored', async () => {
    const job = await JobFolder.create({ argv: shell(waiting) })
    job.start('trap "" INT; exec "$@"')
    await until('the program runs', () => exists(job.file('ready')))
    await job.abort()
    expect(await job.end()).toMatchObject({ cause: 'aborted', signal: 'SIGINT' })
  })

  it('goes on to SIGTERM and SIGKILL, and finds who has left session, parent and environment', async () => {
    const stubborn = 'trap "echo INT >> log" INT; trap "echo TERM >> log" TERM'
    const script = `${stubborn}
      setsid sh -c '${stubborn}; touch away; while :; do sleep 0.02; done' &
      (env -i /usr/bin/setsid /bin/sh -c '${stubborn}; echo $$ > bare; while :; do /bin/sleep 0.02; done' &)
      while [ ! -e away ] || [ ! -s bare ]; do sleep 0.02; done
      ${waiting}`
    const job = await JobFolder.create({ argv: shell(script), ladder: { interrupt: 1, terminate: 1 } })
    const relative = execa('sleep', ['600'], { env: { HOLDFAST_JOB_MARKER: job.marker }, reject: false })
    onTestFinished(() => void (relative.pid && tryKill(relative.pid)))
    job.start()
    await until('the program runs', () => exists(job.file('ready')))
    await job.abort()
    expect(await job.end()).toMatchObject({ cause: 'aborted', signal: 'SIGKILL', aborted: true, message: null })
    const log = await readFile(job.file('log'), 'utf8')
    expect(log.match(/INT/g)?.length).toBe(1) // shells start their background commands with SIGINT ignored
    expect(log.match(/TERM/g)?.length).toBe(3)
    expect((await relative).signal).toBe('SIGINT')
    expect(await isAlive(Number(await readFile(job.file('bare'), 'utf8')))).toBe(false)
  })

  it('ends a program whose first thread has ended, which looks like a dead one', async () => {
    const script = [
      'import ctypes, os, threading, time',
      'threading.Thread(target=time.sleep, args=(600,)).start()',
      'print(os.getpid(), flush=True)',
      'ctypes.CDLL(None).syscall({"x86_64": 60, "aarch64": 93}[os.uname().machine], 0)',
    ]
    const job = await JobFolder.create({ argv: [python, '-c', script.join('\n')], ladder: quickLadder })
    job.start()
    await until('it looks like a zombie', async () => {
      const pid = Number(await job.output().catch(() => ''))
      return pid > 0 && (await readFile(`/proc/${pid}/stat`, 'utf8')).includes(') Z ')
    })
    await job.abort()
    expect(await job.end()).toMatchObject({ cause: 'aborted', signal: 'SIGTERM', message: null })
  })

  it('takes no longer than it must: nothing left means the end', async () => {
    const job = await JobFolder.create({ argv: shell(waiting), ladder: { interrupt: 600, terminate: 600 } })
    job.start()
    await until('the program runs', () => exists(job.file('ready')))
    await job.abort()
    expect(await job.end()).toMatchObject({ cause: 'aborted', signal: 'SIGINT' })
  })

  it('that comes after the end changes nothing but is told', async () => {
    const job = await JobFolder.create({
      argv: shell('setsid sleep 600 & echo $$ > pid; exit 6'),
      drain: { quiet: 600, total: 600 },
    })
    job.start()
    await until('the program has ended and is buried', async () => {
      const pid = (await readFile(job.file('pid'), 'utf8').catch(() => '')).trim()
      return pid !== '' && !(await exists(`/proc/${pid}`))
    })
    await job.abort()
    expect(await job.end()).toMatchObject({ cause: 'exited', exit_code: 6, aborted: true })
  })

  it('twice is the same as once', async () => {
    const ladder = { interrupt: 0.3, terminate: 600 }
    const job = await JobFolder.create({ argv: shell(`trap "echo INT" INT; ${waiting}`), ladder })
    job.start()
    await until('the program runs', () => exists(job.file('ready')))
    await job.abort()
    await until('the first signal has come', () => fileSays(job.file('output.log'), 'INT'))
    await job.abort()
    expect(await job.end()).toMatchObject({ cause: 'aborted', signal: 'SIGTERM' })
    expect(await job.output()).toBe('INT\n')
    expect(await isAlive(job.supervisorPid)).toBe(false)
  })
})
