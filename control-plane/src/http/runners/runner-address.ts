import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from 'typebox'
import { shownName } from '../../auth/sessions/shown-name.js'
import { isoTime } from '../../time/clock.js'
import { NotFoundError } from '../../errors.js'
import type { RunnerAddresses } from '../../runners/dialling/runner-addresses.js'
import type { RunnerAddress } from '../../store/runners/runner-addresses.js'
import { noteAudit } from '../route/audit-hook.js'
import { adminOf, requireAdmin, requireAdminFor } from '../route/guards.js'
import { IdParams, Message, answers, asList, idOf, listOf } from '../route/schemas.js'
import { nullable } from '../../words/nullable.js'

/** What these routes need of other rooms. */
export interface RunnerAddressRouteDependencies {
  readonly addresses: RunnerAddresses
}

const tags = ['runner']

const AddressRecord = Type.Object(
  {
    id: Type.Integer(),
    address: Type.String(),
    name: Type.Optional(
      nullable(Type.String({ description: 'The name that the runner there must have; null: any name' })),
    ),
    fingerprint: nullable(
      Type.String({ description: 'Fingerprint of the only key that may answer there; null: any key' }),
    ),
    created_at: Type.String(),
    created_by: Type.String(),
    node: nullable(Type.String({ description: 'The node that dials it' })),
    problem: nullable(Type.String({ description: 'Why the last try failed; null: it did not' })),
  },
  { title: 'RunnerAddress' },
)

const AddressBody = Type.Object(
  {
    address: Type.String({
      minLength: 1,
      maxLength: 300,
      description: 'Host and port where an agent with RTE_MODE=inbound listens, such as http://runner.example:8002',
    }),
    name: Type.Optional(
      nullable(
        Type.String({
          pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$',
          description: 'The name that the runner there must have; a runner with another name is turned away',
        }),
      ),
    ),
    fingerprint: Type.Optional(
      nullable(
        Type.String({
          pattern: '^SHA256:[A-Za-z0-9+/]{43}=?$',
          description: 'Fingerprint of the only key that may answer there; the runner still waits for its approval',
        }),
      ),
    ),
  },
  { title: 'NewRunnerAddress' },
)

/** Routes for the addresses of runners that the control plane dials, for admins. */
export function runnerAddressRoutes({ addresses }: RunnerAddressRouteDependencies): FastifyPluginAsyncTypebox {
  const requireAdminForAddress = requireAdminFor(async (id) => {
    if (!(await addresses.exists(id))) throw new NotFoundError('no_such_address', `There is no address ${id}`)
  })
  return async (app) => {
    app.get(
      '/runner/addresses',
      {
        onRequest: requireAdmin,
        schema: {
          tags,
          summary: 'List the addresses of runners that the control plane dials',
          operationId: 'listRunnerAddresses',
          response: answers(listOf(AddressRecord), 403),
        },
      },
      async () => asList((await addresses.list()).map(recordOf)),
    )

    app.post(
      '/runner',
      {
        onRequest: requireAdmin,
        config: { audit: { action: 'runner-address.create', kind: 'runner-address' } },
        schema: {
          tags,
          summary: 'Dial a runner whose host may not dial out; it asks to join like any other',
          operationId: 'addRunnerAddress',
          body: AddressBody,
          response: answers(AddressRecord, 400, 403, 409),
        },
      },
      async (request) => {
        const { address, name = null, fingerprint = null } = request.body
        const added = await addresses.add({ address, name, fingerprint }, shownName(adminOf(request)))
        noteAudit(request, { name: added.address })
        return recordOf(added)
      },
    )

    app.delete(
      '/runner/addresses/:id',
      {
        onRequest: requireAdminForAddress,
        config: { audit: { action: 'runner-address.delete', kind: 'runner-address' } },
        schema: {
          tags,
          summary: 'Dial an address no more; its runner stays',
          operationId: 'removeRunnerAddress',
          params: IdParams,
          response: answers(Message, 400, 403, 404),
        },
      },
      async (request) => {
        await addresses.remove(idOf(request.params), shownName(adminOf(request)))
        return { message: 'The address was removed' }
      },
    )
  }
}

function recordOf(address: RunnerAddress): Static<typeof AddressRecord> {
  return {
    id: address.id,
    address: address.address,
    name: address.name,
    fingerprint: address.fingerprint,
    created_at: isoTime(address.createdAt),
    created_by: address.createdBy,
    node: address.node,
    problem: address.problem,
  }
}
