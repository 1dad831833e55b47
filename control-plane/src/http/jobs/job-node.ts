import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { type NodesDependencies, readNodes } from '../../jobs/detail/nodes.js'
import type { JobReading } from '../../jobs/read/reading.js'
import { readNode } from '../../sequences/workflows/read-node.js'
import { callerOf } from '../route/guards.js'
import { JobNodeRecord, NodeRecord } from './job-schemas.js'
import { IdParams, answers, asList, idOf, listOf } from '../route/schemas.js'

/** Routes for the steps and nodes of a parent job. */
export function jobNodeRoutes(reading: JobReading, nodes: NodesDependencies): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/job/:id/nodes',
      {
        config: { audit: { action: 'job.nodes.read', kind: 'job' } },
        schema: {
          tags: ['job'],
          summary: 'The steps or nodes of a multistep or workflow job',
          description:
            'In the order of the plan, each with its state and with what follows it. Steps follow each other. 404 for a job' +
            ' without child jobs.',
          params: IdParams,
          response: answers(listOf(NodeRecord), 400, 403, 404),
        },
      },
      async (request) => asList(await readNodes(nodes, callerOf(request), idOf(request.params))),
    )

    app.get(
      '/job/:id/node/:nodeId',
      {
        config: { audit: { action: 'job.node.read', kind: 'job' } },
        schema: {
          tags: ['job'],
          summary: 'One node of a workflow job',
          description:
            'Its state, its job with its extra variables, and what it published with set_stats. 404 for a job that is no ' +
            'workflow.',
          params: Type.Object({
            ...IdParams.properties,
            nodeId: Type.String({ description: 'The identifier of the node, as the workflow file has it' }),
          }),
          response: answers(JobNodeRecord, 400, 403, 404),
        },
      },
      async (request) => readNode(reading, callerOf(request), idOf(request.params), request.params.nodeId),
    )
  }
}
