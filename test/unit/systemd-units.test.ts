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

/** What a program that is broken into could use, and neither program needs. */
const LIMITS = {
  NoNewPrivileges: 'yes',
  PrivateDevices: 'yes',
  ProtectSystem: 'strict',
  ProtectClock: 'yes',
  ProtectHostname: 'yes',
  ProtectKernelLogs: 'yes',
  ProtectKernelModules: 'yes',
  ProtectKernelTunables: 'yes',
  ProtectControlGroups: 'yes',
  LockPersonality: 'yes',
  RestrictNamespaces: 'yes',
  RestrictRealtime: 'yes',
  RestrictSUIDSGID: 'yes',
  SystemCallArchitectures: 'native',
  SystemCallErrorNumber: 'EPERM',
  RestrictAddressFamilies: 'AF_INET AF_INET6 AF_UNIX AF_NETLINK',
}

describe('the unit of the control plane', () => {
  it('removes rights that the program does not need', () => {
    expect(lastOf(directives(SERVICE))).toMatchObject({
      ...LIMITS,
      PrivateTmp: 'yes',
      ProtectHome: 'yes',
      ProtectProc: 'invisible',
      UMask: '0077',
      CapabilityBoundingSet: 'CAP_NET_BIND_SERVICE',
    })
    expect(valuesOf(directives(SERVICE), 'SystemCallFilter')).toEqual(['@system-service', '~@privileged @resources'])
  })
})

describe('the units of a runner', () => {
  it('have nothing that ends running playbooks, or that forbids compiled code of Node.js', () => {
    for (const file of [RUNNER, STRICT, ISOLATION]) {
      const names = directives(file).map(([name]) => name)
      for (const name of ['PrivateTmp', 'RemoveIPC', 'MemoryDenyWriteExecute']) expect(names).not.toContain(name)
    }
    expect(lastOf(directives(RUNNER))).toMatchObject({ KillMode: 'process', OOMPolicy: 'continue' })
  })

  it('allow sudo of playbooks without the stricter drop-in', () => {
    // Each of these turns NoNewPrivileges on for a service that is not root.
    const ends =
      /^(NoNewPrivileges|SystemCall.*|Restrict.*|LockPersonality|PrivateDevices|Protect(Clock|Hostname|Kernel.*))$/
    expect(directives(RUNNER).filter(([name]) => ends.test(name))).toEqual([])
  })

  it('remove rights that playbooks for other hosts do not need, with the stricter drop-in', () => {
    expect(lastOf(directives(STRICT))).toMatchObject({ ...LIMITS, CapabilityBoundingSet: '' })
    expect(valuesOf(directives(STRICT), 'SystemCallFilter')).toEqual(['@system-service'])
  })

  it('leave the agent only its rights for isolation, with both drop-ins', () => {
    const both = [RUNNER, STRICT, ISOLATION].flatMap(directives)
    const rights = 'CAP_SETUID CAP_SETGID CAP_CHOWN CAP_KILL'
    expect(lastOf(both)).toMatchObject({ AmbientCapabilities: rights, CapabilityBoundingSet: rights })
    expect(valuesOf(both, 'CapabilityBoundingSet').at(-2)).toBe('')
    // The agent sees and signals processes of the users of jobs.
    for (const name of ['ProtectProc', 'PrivateUsers']) expect(both.map(([each]) => each)).not.toContain(name)
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

function valuesOf(all: ReturnType<typeof directives>, wanted: string): string[] {
  return all.filter(([name]) => name === wanted).map(([, value]) => value)
}
