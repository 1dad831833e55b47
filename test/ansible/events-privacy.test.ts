import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { JobFolder, fixtures } from './job-folder.js'

describe('secrets', () => {
  it('of arguments, of no_log tasks, of facts and of hidden items are in no event', async () => {
    const job = await JobFolder.ofPlaybook(join(fixtures, 'no-log'), [
      '-i',
      'localhost,',
      '-c',
      'local',
      '-vvvv',
      '-e',
      'playbook_copy=MARK',
      'site.yml',
    ])
    await job.replaceInOrders('MARK', job.file('copied'))
    expect(await job.run()).toMatchObject({ cause: 'exited', exit_code: 0 })
    const text = await readFile(job.file('events.jsonl'), 'utf8')
    expect(text.match(/CANARY/g) ?? []).toEqual([])
    expect(await readFile(job.file('copied'), 'utf8')).toContain('CANARY')

    const events = await job.events()
    const types = new Set(
      events.filter((event) => event.result && 'censored' in event.result).map((event) => event.type),
    )
    expect([...types].sort()).toEqual([
      'runner_item_on_failed',
      'runner_item_on_ok',
      'runner_item_on_skipped',
      'runner_on_failed',
      'runner_on_ok',
      'runner_on_skipped',
      'runner_retry',
    ])
    expect(events.some((event) => event.type === 'runner_on_async_ok')).toBe(true)
    expect(events.some((event) => event.type === 'runner_on_async_failed')).toBe(true)
    const labelled = events.find(
      (event) => event.task === 'the label hides what the item holds' && event.item !== undefined,
    )
    expect(labelled?.item).toBe('anna')
    const facts = events.find((event) => event.task === 'facts come without their values' && event.result)
    expect(facts?.result?.['ansible_facts']).toEqual({ _count: 1, _keys: ['password'] })
    const newcomer = events.find((event) => event.task === 'a new host comes without its variables' && event.result)
    expect(newcomer?.result?.['add_host']).toEqual({ host_name: 'newcomer', groups: ['later'] })
  })
})
