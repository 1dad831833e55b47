import { execa } from 'execa'
import { expect, it } from 'vitest'
import { agentFolder, supervisorPython } from './job-folder.js'

/** The line that an event with this result becomes, as the callback writes it. */
async function lineOf(result: unknown): Promise<{ result: { _cut: { path: string }[] } & Record<string, string> }> {
  const program =
    'import json, sys; from holdfast_job.event_line import line_of; sys.stdout.buffer.write(line_of(json.load(sys.stdin)))'
  const event = { order: 1, type: 'runner_on_ok', result }
  const { stdout } = await execa(supervisorPython, ['-c', program], {
    env: { PYTHONPATH: agentFolder },
    input: JSON.stringify(event),
  })
  return JSON.parse(stdout) as Awaited<ReturnType<typeof lineOf>>
}

it('says of the longest texts first that they were cut', async () => {
  const lengths = { short: 10, middle: 300_000, longest: 500_000, long: 400_000 }
  const texts = Object.entries(lengths).map(([name, length]) => [name, name[0]?.repeat(length) ?? ''] as const)
  const { result } = await lineOf(Object.fromEntries(texts))
  expect(result._cut.map(({ path }) => path.replace(/^\W+/, ''))).toEqual(['longest', 'long', 'middle'])
  expect(result.short).toBe('s'.repeat(10))
  for (const name of ['middle', 'longest', 'long'] as const) {
    expect(result[name]).toContain(`cut here, ${lengths[name]} bytes in full`)
  }
})
