import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createArtifacts } from '../../control-plane/src/sequences/workflows/artifacts.js'
import { JobFolder, fixtures } from './job-folder.js'

it('what set_stats publishes is read from the events of a run, and nothing that was cut is taken for whole', async () => {
  const show = { ANSIBLE_SHOW_CUSTOM_STATS: '1' }
  const args = ['-i', 'one,two,', 'site.yml']
  const job = await JobFolder.ofPlaybook(join(fixtures, 'artifacts'), args, { env: show })
  expect(await job.run()).toMatchObject({ cause: 'exited', exit_code: 0 })
  const artifacts = createArtifacts()
  for (const line of (await readFile(job.file('events.jsonl'), 'utf8')).split('\n')) artifacts.add(Buffer.from(line))
  const { artifacts: found, lost } = artifacts.published()
  expect(found).toMatchObject({
    count: 4,
    map: { one: true, two: true },
    last: 3,
    rescued: true,
    small: 'ä'.repeat(10),
  })
  expect([...(found.hosts as string[])].sort()).toEqual(['one', 'two'])
  expect(Object.keys(found).sort()).toEqual(['count', 'hosts', 'last', 'map', 'rescued', 'small'])
  expect(lost).toEqual(['what was published under no_log', "'large', which was too large for an event"])
  // What ansible itself has put together.
  const [, ofRun] = /RUN: (\{.*\})/.exec(await job.output()) ?? []
  const { hidden, large, __inventory__, ...whole } = JSON.parse(ofRun ?? '{}') as Record<string, unknown>
  expect(found).toEqual(whole)
  expect([hidden, String(large).length, __inventory__]).toEqual(['CANARY', 300_000, '/etc/passwd'])
})
