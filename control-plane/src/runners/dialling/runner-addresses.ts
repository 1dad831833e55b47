import { ConflictError, InvalidInputError, NotFoundError } from '../../errors.js'
import {
  type RunnerAddress,
  deleteRunnerAddress,
  hasRunnerAddress,
  insertRunnerAddress,
  listRunnerAddresses,
} from '../../store/runners/runner-addresses.js'
import { type RunnerAddressDependencies, createDialWatch } from './dial-watch.js'

/** Most addresses. Each one costs a socket. */
const MAX_ADDRESSES = 1000

/** The runners that the control plane dials, because their hosts may not dial out. */
export type RunnerAddresses = ReturnType<typeof createRunnerAddresses>

/** Keeps the list of addresses, and has them dialled. */
export function createRunnerAddresses(deps: RunnerAddressDependencies) {
  const { store, clock, live, log } = deps
  const watch = createDialWatch(deps)
  return {
    list: (): Promise<RunnerAddress[]> => listRunnerAddresses(store.read),
    exists: (id: number): Promise<boolean> => hasRunnerAddress(store.read, id),
    /** Looks which addresses this node has to dial. It runs automatically. */
    look: watch.look,
    /**
     * From now on this address is dialled.
     * @throws InvalidInputError, ConflictError when it is there already, or when there are too many
     */
    async add(
      { address: text, name, fingerprint }: Pick<RunnerAddress, 'address' | 'name' | 'fingerprint'>,
      by: string,
    ): Promise<RunnerAddress> {
      const address = normalAddress(text)
      const row = { address, name, fingerprint, createdAt: clock.now(), createdBy: by }
      const added = await store.write('runners.add-address', async (queries) => {
        if ((await listRunnerAddresses(queries)).length >= MAX_ADDRESSES) {
          throw new ConflictError('too_many_addresses', `There are ${MAX_ADDRESSES} addresses of runners already`)
        }
        return insertRunnerAddress(queries, row)
      })
      if (!added) throw new ConflictError('address_exists', `${address} is dialled already`)
      log.info({ address, by }, 'an address of a runner was added')
      live.changed('runners')
      watch.lookSoon()
      return added
    },
    /** From now on it is not dialled any more; the runner itself stays. @throws NotFoundError */
    async remove(id: number, by: string): Promise<void> {
      const removed = await store.write('runners.remove-address', (queries) => deleteRunnerAddress(queries, id))
      if (!removed) throw new NotFoundError('no_such_address', `There is no address ${id}`)
      watch.drop(id)
      log.info({ address: removed.address, by }, 'an address of a runner was removed')
      live.changed('runners')
    },
    close: () => watch.close(),
  }
}

/** @throws InvalidInputError when the text is not a host with a port */
function normalAddress(text: string): string {
  const url = URL.parse(text.includes('://') ? text : `http://${text}`)
  const isPlain = url && url.pathname === '/' && url.search === '' && url.hash === '' && url.username === ''
  if (!isPlain || url.protocol !== 'http:' || url.port === '' || url.password !== '') {
    throw new InvalidInputError(
      'bad_address',
      'The address must be a host and a port, such as http://runner.example:8002',
    )
  }
  return url.origin
}
