import { describe, expect, it } from 'vitest'
import { covers } from '../../interface/covers.js'
import { waitFor } from '../../support/wait.js'
import type { RestClient } from '../../support/rest.js'
import { ScriptedRunner } from '../../support/scripted-runner.js'
import { workflowTests } from './workflow-tests.js'

/** What is refused of workflows, and to whom. */
const { given, nodeOf, write, launch, endOf } = workflowTests()

describe('refusals', () => {
  write('gone', { a: {} }, { form: { workflow: 'not-there.yml' } })
  it('a missing workflow: the job fails with the reason in its output', async () => {
    const job = await endOf(await launch('gone'))
    expect(job).toMatchObject({ status: 'failed', subjobs: [], job_type: 'workflow' })
    expect(job.output).toContain("There is no workflow 'not-there.yml', neither a file nor a name in one")
  })

  write('broken', { a: { success: ['nowhere'] } })
  it('mistakes in workflow files are shown to admins together with those in forms', async () => {
    covers('workflow.files')
    const { errors } = await given.product.admin.get<{ errors: { file: string }[] }>('/forms')
    expect(errors.filter((error) => error.file === 'broken.yml')).toEqual([
      {
        file: 'broken.yml',
        line: 1,
        form: null,
        reason: "workflow 'broken': node 'a': success_nodes names 'nowhere', and there is no such node",
      },
    ])
    expect(await given.ann.get('/forms')).not.toHaveProperty('errors')
  })

  write('south', { a: {}, b: { more: { runner: 'north' } } })
  write('far', { a: { more: { runner: 'south' } } })
  write('keys', { a: { credentials: ['switch'] } })
  write('deep', { a: { workflow: 'far.yml' } })
  it('runners and credentials of nodes that a role does not allow: 403, and no job', async () => {
    expect((await endOf(await launch('south', {}, given.bound))).status).toBe('success')
    const other = await ScriptedRunner.join(given.product, 'south')
    const before = (await given.product.admin.get<{ count: number }>('/job')).count
    for (const [name, code] of [
      ['far', 'runner_not_allowed'],
      ['deep', 'runner_not_allowed'],
      ['keys', 'credential_not_allowed'],
    ]) {
      const answer = await given.bound.request('POST', '/job', { formName: name, rawFormData: {} })
      expect(answer).toMatchObject({ status: 403, body: { code } })
    }
    expect((await given.product.admin.get<{ count: number }>('/job')).count).toBe(before)
    await other.leave()
  })

  write('own', { a: {} })
  it('unknown nodes, and nodes of other users', async () => {
    const id = await launch('own')
    await endOf(id)
    const get = (as: RestClient, path: string) => as.request('GET', `/job/${path}`)
    expect(await get(given.ann, `${String(id)}/node/none`)).toMatchObject({
      status: 404,
      body: { code: 'node_not_found' },
    })
    const { job } = await nodeOf(id, 'a')
    expect((await get(given.ann, `${String(job)}/node/a`)).status).toBe(404)
    expect((await get(given.bob, `${String(id)}/node/a`)).status).toBe(403)
    expect((await get(given.bob, '999999/node/a')).status).toBe(404)
    expect(await get(given.ann, `${String(job)}/nodes`)).toMatchObject({
      status: 404,
      body: { code: 'node_not_found' },
    })
    expect((await get(given.bob, `${String(id)}/nodes`)).status).toBe(403)
  })

  write('parts', { a: { success: ['b'] }, b: {} })
  it('a child job of a workflow is not deleted or run again without its parent job', async () => {
    given.runner.scripts.set('parts/b.yml', { holds: true })
    const id = await launch('parts')
    await given.runner.orderOf('parts/b.yml')
    const { job } = await nodeOf(id, 'a')
    expect((await given.product.admin.request('DELETE', `/job/${String(job)}`)).status).toBe(409)
    expect((await given.product.admin.request('POST', `/job/${String(job)}/relaunch`)).body).toMatchObject({
      code: 'part_of_a_job',
    })
    await given.runner.release('parts/b.yml')
    await endOf(id)
    const again = await given.product.admin.post<{ id: number }>(`/job/${String(id)}/relaunch`)
    await waitFor('the second run', () => given.runner.countOf('parts/a.yml') === 2)
    await waitFor('the second b', () => given.runner.countOf('parts/b.yml') === 2)
    await given.product.admin.post(`/job/${String(again.id)}/abort`)
    expect((await endOf(again.id)).status).toBe('aborted')
    expect((await given.product.admin.request('DELETE', `/job/${String(id)}`)).status).toBe(200)
    expect((await given.product.admin.request('GET', `/job/${String(job)}`)).status).toBe(404)
  })
})
