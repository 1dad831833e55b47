import { setTimeout as pause } from 'node:timers/promises'
import type { PostgresServer } from '../../support/postgres.js'
import type { Node, SeveralNodes } from '../../nodes/several.js'
import type { Chance } from '../kit/seed.js'
import type { FaultKind } from './fault-kind.js'

/** What befalls a server of PostgreSQL and the connections to it. */
export function serverFaults(server: PostgresServer, several: SeveralNodes): FaultKind[] {
  let isDown = false
  return [
    {
      name: 'kill database server',
      weight: 2,
      async inject({ chance }) {
        if (isDown) return
        isDown = true
        await server.kill()
        await pause(chance.between(0, 8000))
        await server.start()
        isDown = false
      },
    },
    {
      name: 'cut database connections',
      weight: 2,
      async inject({ chance }) {
        await several.cutDatabase(chance.pick(['holdfast notifications', 'holdfast']))
      },
    },
  ]
}

/** What befalls control planes beside the first one, which is killed and started again as it is when it is alone. */
export function nodeFaults(several: SeveralNodes): FaultKind[] {
  return [
    { name: 'kill another node', weight: 3, inject: ({ chance }) => replaceAnother(several, chance, 'SIGKILL') },
    { name: 'stop another node', weight: 1, inject: ({ chance }) => replaceAnother(several, chance, 'SIGTERM') },
    {
      name: 'lead the runner to another node',
      weight: 3,
      async inject({ chaos, chance }) {
        several.steerTo(chance.pick(several.nodes))
        if (chance.next() < 0.5) chaos.proxy.cut()
        else chaos.proxy.halfOpen('control plane')
        await pause(chance.between(0, 2000))
      },
    },
    {
      name: 'a node hangs',
      weight: 1,
      async inject({ chance }) {
        const node = another(several, chance)
        if (!node?.program.isRunning()) return
        process.kill(node.program.pid, 'SIGSTOP')
        await pause(chance.between(500, 12_000))
        if (node.program.isRunning()) process.kill(node.program.pid, 'SIGCONT')
      },
    },
  ]
}

/** Not the first one: whoever keeps that running starts it at its old address. */
function another({ nodes }: SeveralNodes, chance: Chance): Node | null {
  const others = nodes.slice(1)
  return others.length > 0 ? chance.pick(others) : null
}

async function replaceAnother(several: SeveralNodes, chance: Chance, signal: NodeJS.Signals): Promise<void> {
  const node = another(several, chance)
  if (!node) return
  // A node that hangs does not hear of its end.
  if (node.program.isRunning()) process.kill(node.program.pid, 'SIGCONT')
  await several.end(node, signal)
  await pause(chance.between(0, 3000))
  for (;;) {
    try {
      await several.add()
      return
    } catch {
      // The database is away: a service manager tries again, too.
      await pause(500)
    }
  }
}
