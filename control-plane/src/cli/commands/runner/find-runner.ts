import type { Client, Runner } from '@holdfast/client'
import { UnknownNameError, UsageError } from '../../errors.js'

/** Finds a runner by id or name. @throws NotFoundError when there is none, UsageError when there are several */
export async function runnerNamed(client: Client, idOrName: string): Promise<Runner> {
  const { records } = await client.listRunners()
  const byId = records.find((runner) => String(runner.id) === idOrName)
  if (byId) return byId
  const named = records.filter((runner) => runner.name === idOrName)
  const only = named[0]
  if (only && named.length === 1) return only
  if (only) {
    // A request to join with another key may have the name of an approved runner. Both are in the list.
    const ids = named.map((runner) => `${runner.id} (${runner.state}, ${runner.fingerprint})`).join(', ')
    throw new UsageError(`Several runners are named ${idOrName}: ${ids}. Give the id of the one that is meant.`)
  }
  throw new UnknownNameError(`There is no runner with the id or name ${idOrName}; holdfast runner list shows them.`)
}
