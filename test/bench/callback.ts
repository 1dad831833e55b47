import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { cleanEnvironment } from '../support/process.js'
import { ROOT } from '../support/product.js'
import type { Figure } from './report.js'
import { median, range } from './statistics.js'

/** Processor time that the event callback itself takes of ansible for one event, by the Python that ansible runs with. */
export function measureCallback(folder: string, runs: number): Figure[] {
  const ansible = execFileSync('sh', ['-c', 'command -v ansible-playbook'], { encoding: 'utf8' }).trim()
  const python = readFileSync(ansible, 'utf8').split('\n', 1)[0]?.split(/[! ]/).at(-1) ?? 'python3'
  const driver = join(ROOT, 'test/ansible/fixtures/callback/drive.py')
  const microseconds = Array.from({ length: runs }, (_, run) => {
    const files = {
      HOLDFAST_EVENTS_FILE: join(folder, `events-${run}`),
      HOLDFAST_CALLBACK_FILE: join(folder, 'report'),
    }
    const told = execFileSync(python, [driver, join(ROOT, 'runner-agent/ansible/callback'), 'cost'], {
      encoding: 'utf8',
      env: cleanEnvironment(files),
    })
    return (JSON.parse(told) as { microseconds: number }).microseconds
  })
  return [
    {
      what: 'event callback: CPU of one event',
      value: median(microseconds),
      unit: 'us',
      digits: 1,
      reach: null,
      note: range(microseconds, 1),
    },
  ]
}
