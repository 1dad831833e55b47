import { describe, expect, test } from 'vitest'
import { callPython } from './python-calls.js'
import { SUPERVISED_RUN } from './supervise-run.js'

const call = callPython(`${SUPERVISED_RUN}
def faults(scene, codes=(), broken=None, has_run=True):
    """As run(), with errors of the system when the run begins, or with a part of it broken."""
    for name, value in REAL.items(): setattr(supervise, name, value)
    with Folder() as folder:
        one = Scene(folder, faults=[OSError(getattr(errno, code), "x") for code in codes], **scene)
        if broken:
            kept = getattr(REAL["Run"], broken)
            def fail(run): raise ValueError("a fault in " + broken)
            setattr(REAL["Run"], broken, fail)
        try:
            supervise.supervise(one.job)
        finally:
            one.close()
            if broken: setattr(REAL["Run"], broken, kept)
        return one.said()

def prepared():
    """What a new run does with its pipes, and for whom it writes the output."""
    for name, value in REAL.items(): setattr(supervise, name, value)
    def state(secrets, isolated):
        with Folder() as folder:
            one = Scene(folder, secrets=secrets, isolated=isolated)
            run = supervise.Run(one.job)
            size = lambda pipe: fcntl.fcntl(pipe, 1032)
            said = {
                "made": one.output_made,
                "blocking": os.get_blocking(one.output),
                "wide": [size(one.output) >= 262144, size(one.events) >= 262144],
                "ended": run.has_ended, "exit": run.exit(), "log": one.log,
                "polls": [[{one.output: "output", one.signals: "signals", one.events: "events"}[file] for file in poll.files] for poll in one.polls],
            }
            one.close()
            return said
    return [state(False, False), state(True, True)]

def closed():
    """Whether the pipe of the output is closed, and looked at no more, as soon as ansible has closed it."""
    for name, value in REAL.items(): setattr(supervise, name, value)
    with Folder() as folder:
        one = Scene(folder)
        run = supervise.Run(one.job)
        os.close(one.writer)
        before = open_files()
        run._read_output()
        said = [open_files() - before, one.output in one.polls[1].files]
        one.close()
        return said

def not_widened(number):
    """A kernel that gives no wider pipe is no reason not to go on."""
    pipe = os.pipe()
    kept, fcntl.fcntl = fcntl.fcntl, failing(number)
    try:
        return REAL["_widen"](pipe[0])
    finally:
        fcntl.fcntl = kept
        for file in pipe: os.close(file)
`)

const exited = (code: number): number => code * 256
const END = [['exit', exited(3)], ['close']]

describe('a new run', () => {
  const polls = [['signals'], ['signals', 'output']]
  const plain = {
    made: [77, 1000, 'PassThrough'],
    blocking: false,
    wide: [true, false],
    ended: false,
    exit: [null, null],
  }

  test('reserves space, widens its pipes and looks at them', async () => {
    expect(await call('prepared')).toEqual([
      { ...plain, log: ['reserve'], polls },
      {
        ...plain,
        made: [77, 1000, 'hider of hush'],
        wide: [true, true],
        log: ['reserve', "relay ['events.jsonl', 'callback.json']"],
        polls: [['signals'], ['signals', 'output', 'events']],
      },
    ])
  })

  test('keeps no pipe open that ansible has closed', async () => {
    expect(await call('closed')).toEqual([-1, false])
  })

  test('goes on where pipes cannot be made wider', async () => {
    expect(await call('not_widened', 1)).toBeNull()
  })
})

describe('a fault of the host', () => {
  test('is waited out when the run begins, however often it comes, and what is waited for is said', async () => {
    const ended = await call('faults', { steps: END }, ['EMFILE', 'ENOMEM', 'EIO'])
    const log = ['reserve', 'waiting', 'reserve', 'waiting', 'reserve', 'waiting', 'reserve', 'going on']
    const noted = ['exit noted', 3, null, false]
    expect(ended).toMatchObject({
      end: ['Output', 'exited', 3, null, null],
      slept: [0.5, 0.5, 0.5],
      log: [...log, noted, 'children?'],
    })
  })

  test('is waited out in the middle of a run, which goes on as it was', async () => {
    const steps = [['out', 'a'], ['fault', 'EMFILE'], ['out', 'b'], ...END]
    expect(await call('run', { steps })).toMatchObject({
      end: ['Output', 'exited', 3, null, null],
      output: 'ab',
      slept: [0.5],
      log: ['reserve', 'gather 20', 'waiting', 'going on', 'gather 20', expect.anything(), 'children?'],
    })
  })
})

describe('a fault of the supervisor itself', () => {
  const ladder = [
    [false, 1],
    [false, 1],
    [true, 1],
  ]
  const ending = { ladders: [[[[15, 2]], 50, ['mark', null]]], slept: [0.05, 0.05], left: 0 }

  test('before there is a run ends the playbook, and says so', async () => {
    const ended = await call('faults', { ladder }, ['ENOSPC'])
    const message = 'the supervisor failed and ended the playbook: OSError: [Errno 28] x'
    const log = ['reserve', 'children?', 'children?']
    expect(ended).toMatchObject({ ...ending, end: [false, 'supervisor_lost', null, null, message], log })
  })

  test('while the playbook runs ends it, and says so', async () => {
    const message = 'the supervisor failed and ended the playbook: ValueError: a fault in follow'
    const ended = await call('faults', { ladder }, [], 'follow')
    expect(ended).toMatchObject({ ...ending, end: ['Output', 'supervisor_lost', null, null, message] })
  })

  test.each([
    ['an exit code', exited(3), ['exited', 3, null]],
    ['a signal', 9, ['signaled', null, 'SIGKILL']],
  ])('after the playbook leaves its end as it was: %s', async (_what, status, how) => {
    const message = 'the supervisor failed after the playbook: ValueError: a fault in sweep'
    const ended = await call('faults', { steps: [['exit', status], ['close']], ladder }, [], 'sweep')
    expect(ended).toMatchObject({ ...ending, end: ['Output', ...how, message] })
  })

  test('also removes the user of the job, and says what is left of it', async () => {
    const fault = 'the supervisor failed and ended the playbook: ValueError: a fault in follow'
    const ladders = [[[[15, 2]], 50, ['mark', 'the user']]]
    const clean = await call('faults', { ladder, isolated: true }, [], 'follow')
    expect(clean).toMatchObject({ ladders, end: ['Output', 'supervisor_lost', null, null, fault] })
    const left = await call('faults', { ladder, isolated: 'a file is left' }, [], 'follow')
    expect(left).toMatchObject({ end: ['Output', 'supervisor_lost', null, null, `${fault}; a file is left`] })
    expect((left as { log: unknown[] }).log).toContain('user removed')
  })
})

describe('the run of a job with a user of its own', () => {
  const ladder = [[true, 0]]
  const sent = {
    steps: [
      ['event', 'one'],
      [
        ['event', 'two'],
        ['out', 'x'],
      ],
      ...END,
    ],
    ladder,
  }

  test('takes events from its pipe, and at its end the rest, and removes the user', async () => {
    const ended = await call('run', { ...sent, isolated: true })
    expect(ended).toMatchObject({ end: ['Output', 'exited', 3, null, null], output: 'x' })
    const { log } = ended as { log: unknown[] }
    const said = log.filter((line) => typeof line === 'string' && /event|relay|user/.test(line))
    const relay = "relay ['events.jsonl', 'callback.json']"
    expect(said).toEqual([relay, 'event one', 'event two', 'relay finished', 'user removed'])
  })

  test.each([
    ['something is left', 'a file is left', [], 'a file is left'],
    ['the removal fails', 'fails', [], "what the job's user has left could not be removed: OSError: [Errno 5] broken"],
    ['processes are left, too', 'a file', [8], 'some processes of the job could not be ended: 8; a file'],
  ])('says when %s', async (_what, isolated, left, message) => {
    const ended = await call('run', { ...sent, isolated, left })
    expect(ended).toMatchObject({ end: ['Output', 'exited', 3, null, message] })
  })
})

test('the pipes of secrets are removed at the end of a job that has some, and of no other', async () => {
  const lines = ['reserve', ['exit noted', 3, null, false], 'children?']
  expect(await call('run', { steps: END, secrets: true })).toMatchObject({ log: [...lines, 'pipes removed'] })
  expect(await call('run', { steps: END })).toMatchObject({ log: lines })
})
