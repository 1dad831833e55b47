import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Manifest } from '@holdfast/protocol'
import { expect, test } from 'vitest'
import type { FakeControlPlane, StoredJob } from './fake-control-plane.js'
import { orderOf } from './playbooks.js'
import { type Setting, createSetting, exactEnd } from './setting.js'
import { waitUntil } from './waiting.js'

/** The work folder that a runner makes of a manifest: a program in the place of ansible lists it. */
const LISTING = `#!/bin/sh
[ "$1" = --version ] && { echo 'ansible-playbook [core 2.14.0]'; exit 0; }
exec find . -mindepth 1 -printf '%M %p %l\\n'
`

async function joinWithListing({ folder, join: joinAgent }: Setting, environment = {}, through: string[] = []) {
  const programs = join(folder, 'listing')
  mkdirSync(programs)
  writeFileSync(join(programs, 'ansible-playbook'), LISTING, { mode: 0o755 })
  await joinAgent({ PATH: `${programs}:${process.env.PATH ?? ''}`, ...environment }, through)
}

function offerTree(controlPlane: FakeControlPlane): StoredJob {
  const file = (path: string, mode: number) => ({ path, mode, sha256: controlPlane.addBlob('same'), size: 4 })
  const manifest: Manifest = {
    version: 1,
    files: [
      file('keys/deploy', 0o600),
      file('run.sh', 0o751),
      file('secret.conf', 0o640),
      file('site.yml', 0o644),
      file('unsaid/x', 0o444),
    ],
    links: [
      { path: 'keys/site', target: '../site.yml' },
      { path: 'nowhere', target: 'gone' },
    ],
    folders: [
      { path: 'closed', mode: 0o500 },
      { path: 'closed/empty', mode: 0o555 },
      { path: 'keys', mode: 0o700 },
      { path: 'shared', mode: 0o777 },
    ],
  }
  return controlPlane.offer(orderOf(controlPlane.addBlob(JSON.stringify(manifest))))
}

async function treeOf({ controlPlane }: Setting): Promise<string[]> {
  const { text } = await exactEnd(controlPlane, offerTree(controlPlane))
  return text.trim().split(/ *\n/).sort()
}

test('a work folder has the modes, the links and the empty folders of the playbook folder', async () => {
  const setting = await createSetting()
  // Root may open every folder without the right that is taken away here. The agent of a real host is not root.
  await joinWithListing(setting, {}, ['setpriv', '--bounding-set=-dac_override,-dac_read_search'])
  expect(await treeOf(setting)).toEqual(
    [
      '-rw------- ./keys/deploy',
      '-rwxr-x--x ./run.sh',
      '-rw-r----- ./secret.conf',
      '-rw-r--r-- ./site.yml',
      '-r--r--r-- ./unsaid/x',
      'lrwxrwxrwx ./keys/site ../site.yml',
      'lrwxrwxrwx ./nowhere gone',
      'dr-x------ ./closed',
      'dr-xr-xr-x ./closed/empty',
      'drwx------ ./keys',
      'drwxrwxrwx ./shared',
      'drwxr-xr-x ./unsaid',
    ].sort(),
  )
  // Nothing of a job stays that is over, also not a folder that is closed to its owner.
  const isGone = (name: string) => {
    const path = join(setting.statePath, 'spool', name)
    return readdirSync(path).every((job) => name !== 'trash' && !existsSync(join(path, job, 'work')))
  }
  await waitUntil('its files are gone', () => ['jobs', 'kept', 'trash', 'staging'].every(isGone))
})

test('RTE_FILES_UMASK takes bits away from all of them', async () => {
  const setting = await createSetting()
  await joinWithListing(setting, { RTE_FILES_UMASK: '027' })
  expect((await treeOf(setting)).filter((line) => !line.startsWith('l'))).toEqual(
    [
      '-rw------- ./keys/deploy',
      '-rwxr-x--- ./run.sh',
      '-rw-r----- ./secret.conf',
      '-rw-r----- ./site.yml',
      '-r--r----- ./unsaid/x',
      'dr-x------ ./closed',
      'dr-xr-x--- ./closed/empty',
      'drwx------ ./keys',
      'drwxr-x--- ./shared',
      'drwxr-x--- ./unsaid',
    ].sort(),
  )
})
