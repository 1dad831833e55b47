import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { JobFolder, fixtures } from './job-folder.js'
import { countsOf } from './recap-counts.js'

const folder = join(fixtures, 'recap')
describe.each(['includes.yml', 'hosts.yml', 'patterns.yml'])('the events of %s', (playbook) => {
  it('count for each host what the recap counts', async () => {
    const job = await JobFolder.ofPlaybook(folder, ['-i', 'inventory.ini', playbook])
    const end = await job.run()
    expect(end.events).toMatchObject({ errors: 0, dropped: 0, plugin_seen: true })
    const events = await job.events()
    const recap = events.at(-1)
    expect(recap?.type).toBe('playbook_on_stats')
    expect(countsOf(events)).toEqual(recap?.result)
    expect(recap?.rescued_orders).toEqual(events.filter(({ rescued }) => rescued).map(({ order }) => order))
    expect(Object.values(countsOf(events)).some(({ rescued }) => rescued > 0)).toBe(true)
    if (playbook !== 'hosts.yml') return
    expect(recap?.custom_stats).toMatchObject({ alpha: { secret: '(hidden because of no_log)' } })
    expect(JSON.stringify(events)).not.toContain('hidden-by-no-log')
    const ofRole = events.find(({ task, type }) => task === 'half : of the role' && type === 'runner_on_ok')
    expect(ofRole).toMatchObject({ role: 'half', resolved_action: 'ansible.builtin.command' })
  })
})

it('a variable that a play asks for is an event without its default', async () => {
  const job = await JobFolder.ofPlaybook(folder, ['-i', 'inventory.ini', 'prompt.yml'])
  expect(await job.run()).toMatchObject({ exit_code: 0 })
  const events = await job.events()
  expect(events.filter(({ type }) => type === 'playbook_on_vars_prompt')).toMatchObject([
    { result: { variable: 'answer', private: true, default: true } },
  ])
  expect(JSON.stringify(events)).not.toContain('none-of-your-business')
})
