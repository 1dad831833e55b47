import { setTimeout as pause } from 'node:timers/promises'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { holdDatabase } from '../kit/database-hold.js'
import type { FaultRule } from '../kit/preload/faults.js'
import { PROGRAMS } from '../kit/preload/faults.js'
import type { Chance } from '../kit/seed.js'
import type { FaultContext, FaultKind } from './fault-kind.js'
import { runnerFaults } from './runner-faults.js'

/** In seconds: far more than a job waits in the queue, or than a runner may be silent. */
const MAX_JUMP = 6 * 3600

const DOWN = { between: [200, 5000] } as const
const drawn = (chance: Chance, span: { readonly between: readonly [number, number] } = DOWN): number =>
  chance.between(...span.between)

/** What fails whatever the database is; `onFile` when it is a file. */
export function faultKinds(onFile: boolean): FaultKind[] {
  return [
    ...networkFaults(),
    ...processFaults(),
    ...diskFaults(),
    ...runnerFaults(),
    ...(onFile ? databaseFaults() : []),
    { name: 'clock jump', weight: 1, inject: moveClocks },
  ]
}

/** Each clock by hours, forwards or back. */
async function moveClocks({ chaos, chance }: FaultContext): Promise<void> {
  chaos.faults.moveClock(chance.between(-MAX_JUMP, MAX_JUMP), 'runner')
  chaos.faults.moveClock(chance.between(-MAX_JUMP, MAX_JUMP), 'control plane')
  await pause(drawn(chance))
  chaos.faults.moveClock(0)
}

function networkFaults(): FaultKind[] {
  const flowFault = (name: string, weight: number, apply: (context: FaultContext) => void): FaultKind => ({
    name,
    weight,
    async inject(context) {
      apply(context)
      await pause(drawn(context.chance))
      for (const direction of ['up', 'down'] as const) context.chaos.proxy.flow(direction, { kind: 'open' })
    },
  })
  return [
    {
      name: 'cut',
      weight: 4,
      inject: async ({ chaos }) => {
        chaos.proxy.cut()
      },
    },
    {
      name: 'cut mid frame',
      weight: 4,
      async inject({ chaos, chance }) {
        const cut = chaos.proxy.cutAfter(chance.pick(['up', 'up', 'down']), chance.between(1, 300_000))
        await Promise.race([cut, pause(5000)])
        chaos.proxy.forgetCuts()
      },
    },
    {
      name: 'cut for long',
      weight: 2,
      async inject({ chaos, chance }) {
        chaos.proxy.hold(true)
        chaos.proxy.cut()
        await pause(chance.between(1000, 8000))
        chaos.proxy.hold(false)
      },
    },
    {
      name: 'flapping',
      weight: 1,
      async inject({ chaos, chance }) {
        for (let turn = 0; turn < 5; turn += 1) {
          chaos.proxy.hold(true)
          chaos.proxy.cut()
          await pause(chance.between(50, 500))
          chaos.proxy.hold(false)
          await pause(chance.between(50, 500))
        }
      },
    },
    {
      name: 'half-open',
      weight: 2,
      async inject({ chaos, chance }) {
        chaos.proxy.halfOpen(chance.pick(['agent', 'control plane']))
        await pause(drawn(chance))
      },
    },
    flowFault('one-way', 3, ({ chaos, chance }) => {
      chaos.proxy.flow(chance.pick(['up', 'down']), { kind: 'swallowed' })
    }),
    flowFault('stopped', 2, ({ chaos, chance }) => {
      chaos.proxy.flow(chance.pick(['up', 'down']), { kind: 'stopped' })
    }),
    flowFault('delayed', 2, ({ chaos, chance }) => {
      chaos.proxy.flow('up', { kind: 'delayed', milliseconds: chance.between(10, 300) })
      chaos.proxy.flow('down', { kind: 'delayed', milliseconds: chance.between(10, 300) })
    }),
    flowFault('throttled', 2, ({ chaos, chance }) => {
      chaos.proxy.flow('up', { kind: 'throttled', bytesPerSecond: chance.between(20_000, 2_000_000) })
    }),
  ]
}

function processFaults(): FaultKind[] {
  const [program, operation] = [PROGRAMS.agent, 'rename'] as const
  const claim = { program, operation, path: '*/spool/jobs/*' } as const
  const removal = { program, operation, path: '*/spool/trash/*' } as const
  return [
    killing('kill control plane', 3, 'SIGKILL', 'control plane'),
    killing('stop control plane', 1, 'SIGTERM', 'control plane'),
    killing('kill agent', 3, 'SIGKILL', 'agent'),
    killing('stop agent', 1, 'SIGTERM', 'agent'),
    killing('kill both', 1, 'SIGKILL', 'agent', 'control plane'),
    {
      name: 'freeze',
      weight: 2,
      inject: ({ lives, chance }) => lives.freeze(chance.pick(['agent', 'control plane']), drawn(chance)),
    },
    { name: 'kill supervisor', weight: 1, inject: killSupervisor },
    ruleFault('kill before claim', 1, claim, 'kill-before'),
    ruleFault('kill after claim', 1, claim, 'kill-after'),
    ruleFault('kill before removal', 1, removal, 'kill-before'),
    ruleFault('kill after removal', 1, removal, 'kill-after'),
  ]
}

function killing(
  name: string,
  weight: number,
  signal: 'SIGKILL' | 'SIGTERM',
  ...victims: readonly ('agent' | 'control plane')[]
): FaultKind {
  return {
    name,
    weight,
    async inject({ lives }) {
      for (const victim of victims) lives.kill(victim, signal)
    },
  }
}

function diskFaults(): FaultKind[] {
  const staging = '*/spool/staging/*'
  return [
    whileFault('claim disk full', 1, { program: PROGRAMS.agent, operation: 'write', path: staging, action: 'ENOSPC' }),
    whileFault('claim sync error', 1, { program: PROGRAMS.agent, operation: 'sync', path: '*/spool/*', action: 'EIO' }),
  ]
}

function databaseFaults(): FaultKind[] {
  const [program, wal, files] = [PROGRAMS.controlPlane, '*-wal', '*/holdfast.db*'] as const
  return [
    ruleFault('kill before commit', 1, { program, operation: 'sync', path: wal }, 'kill-before'),
    ruleFault('kill after commit', 2, { program, operation: 'sync', path: wal }, 'kill-after'),
    whileFault('database disk full', 2, { program, operation: 'write', path: wal, action: 'ENOSPC' }),
    whileFault('database sync error', 1, { program, operation: 'sync', path: wal, action: 'EIO' }),
    whileFault('database unreadable', 2, { program, operation: 'read', path: files, action: 'EIO' }),
    whileFault('database not openable', 1, { program, operation: 'open', path: files, action: 'EMFILE' }),
    { name: 'database locked', weight: 2, inject: lockDatabase },
  ]
}

/** Kills a process at the next call of a kind; takes the rule back when none comes. */
function ruleFault(
  name: string,
  weight: number,
  where: Pick<FaultRule, 'program' | 'operation' | 'path'>,
  action: 'kill-before' | 'kill-after',
): FaultKind {
  return {
    name,
    weight,
    async inject({ chaos }) {
      const fault = chaos.faults.arm({ ...where, action, once: true })
      for (let looks = 0; looks < 50 && !fault.wasMet(); looks += 1) await pause(100)
      fault.disarm()
    },
  }
}

/** Every such call fails for a while. */
function whileFault(name: string, weight: number, rule: Omit<FaultRule, 'once'>): FaultKind {
  return {
    name,
    weight,
    async inject({ chaos, chance }) {
      const fault = chaos.faults.arm({ ...rule, once: false })
      await pause(drawn(chance))
      fault.disarm()
    },
  }
}

/** The supervisor of one running job is killed: that job ends as failed, with what was written until then. */
async function killSupervisor({ chaos, chance, harmed }: FaultContext): Promise<void> {
  const jobs = join(chaos.product.folder, 'rte-state/spool/jobs')
  for (const name of chance.shuffle(readdirSync(jobs))) {
    try {
      const started = JSON.parse(readFileSync(join(jobs, name, 'started.json'), 'utf8')) as { pid: number }
      const isThere = readFileSync(`/proc/${started.pid}/cmdline`, 'latin1').includes(name)
      if (!isThere) continue
      harmed(Number(name.split('-')[0]), 'supervisor killed')
      process.kill(started.pid, 'SIGKILL')
      return
    } catch {
      // Not started yet, or over meanwhile: the next one.
    }
  }
}

/** Somebody else writes: the control plane cannot, for a while. */
async function lockDatabase({ chaos, chance }: FaultContext): Promise<void> {
  const hold = await holdDatabase(chaos.product, 'begin immediate')
  await pause(drawn(chance))
  await hold.release()
}
