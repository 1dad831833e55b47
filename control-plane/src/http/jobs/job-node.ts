import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { JobReading } from '../../jobs/read/reading.js'
import { readNode } from '../../sequences/workflows/read-node.js'
import { callerOf } from '../route/guards.js'
import { JobNode } from './job-schemas.js'
import { IdParams, answers, idOf } from '../route/schemas.js'

/** Routes for the nodes of a workflow job. */
export function jobNodeRoutes(reading: JobReading): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/job/:id/node/:nodeId',
      {
        config: { audit: { action: 'job.node.read', kind: 'job', isRead: true } },
        schema: {
          tags: ['job'],
          summary: 'One node of a workflow job',
          description:
            'How it stands, its job with its extra variables, and what it published with set_stats. A job that is no ' +
            'workflow has no nodes and answers 404.',
          params: Type.Object({
            ...IdParams.properties,
            nodeId: Type.String({ description: 'The identifier of the node, as the workflow file has it' }),
          }),
          response: answers(JobNode, 400, 403, 404),
        },
      },
      async (request) => readNode(reading, callerOf(request), idOf(request.params), request.params.nodeId),
    )
  }
}
