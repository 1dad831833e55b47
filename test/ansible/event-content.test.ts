import { execa } from 'execa'
import { expect, test } from 'vitest'
import { agentFolder, python } from './job-folder.js'

const DRIVER = `
import json, sys
sys.path.insert(0, sys.argv[1])
from types import SimpleNamespace as Any
from holdfast_job import event_content
values = json.load(sys.stdin)
result = Any(result=values, task=Any(no_log="censored" in values, delegate_to=None))
print(json.dumps(getattr(event_content, sys.argv[2])(result, *([Any(items=None)] if sys.argv[2] == "shown_result" else []))))
`

/** What an event shows of the values that ansible has of a result. */
async function shown(by: 'shown_progress' | 'shown_result', values: object): Promise<unknown> {
  const { stdout } = await execa(python, ['-I', '-c', DRIVER, agentFolder, by], { input: JSON.stringify(values) })
  return JSON.parse(stdout)
}

const SECRET = { stdout: 'CANARY', cmd: 'CANARY', results_file: '/root/.ansible_async/1', invocation: {}, delta: 'x' }

test('of a task in the background an event says how far it is, and nothing else', async () => {
  const progress = {
    ansible_job_id: 'j1',
    started: 1,
    finished: 0,
    attempts: 3,
    retries: 9,
    changed: false,
  }
  expect(await shown('shown_progress', { ...progress, ...SECRET })).toEqual(progress)
})

test('of a hidden result an event says how often it was tried and whether it changed something', async () => {
  const kept = { attempts: 3, retries: 9, changed: true }
  const censored = { censored: 'hidden because of no_log' }
  expect(await shown('shown_result', { ...kept, ...SECRET, censored: 'x' })).toEqual({ ...kept, ...censored })
})
