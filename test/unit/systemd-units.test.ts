import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ROOT } from '../support/product.js'

const FOLDER = join(ROOT, 'docs/systemd')
const SERVICE = 'holdfast.service'
const RUNNER = 'holdfast-runner.service'
const STRICT = 'holdfast-runner-strict.conf'
const ISOLATION = 'holdfast-runner-isolation.conf'

describe('the units of a runner', () => {
  it('have nothing that ends running playbooks, or that forbids compiled code of Node.js', () => {
    for (const file of [RUNNER, STRICT, ISOLATION]) {
      const names = directives(file).map(([name]) => name)
      for (const name of ['PrivateTmp', 'RemoveIPC', 'MemoryDenyWriteExecute']) expect(names).not.toContain(name)
    }
    expect(lastOf(directives(RUNNER))).toMatchObject({ KillMode: 'process', OOMPolicy: 'continue' })
  })
})

const analyze = spawnSync('systemd-analyze', ['security', '--help'], { encoding: 'utf8' })

describe.skipIf(!(analyze.stdout ?? '').includes('--offline'))('the rating of systemd-analyze', () => {
  it.each([
    ['the control plane', SERVICE, [], 2.0],
    ['a runner', RUNNER, [], 9.0],
    ['a runner with isolation', RUNNER, [ISOLATION], 7.3],
    ['a runner with the stricter drop-in', RUNNER, [STRICT], 2.5],
    ['a runner with both', RUNNER, [STRICT, ISOLATION], 3.0],
  ])('of %s is within its limit', (_of, unit, dropIns, bound) => {
    const root = mkdtempSync(join(tmpdir(), 'holdfast-units-'))
    onTestFinished(() => rmSync(root, { recursive: true }))
    const units = join(root, 'etc/systemd/system')
    mkdirSync(join(units, `${unit}.d`), { recursive: true })
    cpSync(join(FOLDER, unit), join(units, unit))
    dropIns.forEach((file, index) => cpSync(join(FOLDER, file), join(units, `${unit}.d/${index}.conf`)))
    const args = ['security', '--offline=true', `--root=${root}`, unit]
    const { stdout, stderr } = spawnSync('systemd-analyze', args, {
      encoding: 'utf8',
      env: { ...process.env, LC_ALL: 'C' },
    })
    expect(stderr).toBe('')
    expect(Number(/exposure level for \S+: ([\d.]+)/.exec(stdout)?.[1])).toBeLessThanOrEqual(bound)
  })
})

/** The directives of a unit in their order, without comments. */
function directives(file: string): readonly (readonly [name: string, value: string])[] {
  const lines = readFileSync(join(FOLDER, file), 'utf8').split('\n')
  return lines.flatMap((line) => {
    const [, name, value] = /^(\w+)=(.*)$/.exec(line) ?? []
    return name === undefined ? [] : [[name, value ?? ''] as const]
  })
}

function lastOf(all: ReturnType<typeof directives>): Readonly<Record<string, string>> {
  return Object.fromEntries(all)
}
