import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parseManifest } from '@holdfast/protocol'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createPlaybookFolder } from '../../control-plane/src/runners/files/playbook-folder.js'
import type { JobFileNeeds } from '../../control-plane/src/runners/files/playbook-part.js'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-playbooks-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function put(path: string, content = path): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), content)
}

const open = () =>
  createPlaybookFolder({
    path: folder,
    maxBytes: 1024 * 1024,
    clock: { now: Date.now },
    report: { note: () => undefined },
  })

const job = (more: Partial<JobFileNeeds> = {}): JobFileNeeds => ({
  form: 'any form',
  playbook: 'site.yml',
  workingFolder: '',
  inventories: [],
  files: null,
  ...more,
})

/** The paths that a job gets, files and links. */
async function partOf(needs?: JobFileNeeds, files = open()): Promise<string[]> {
  const { files: found, links } = parseManifest((await files.manifest(needs)).json.toString())
  return [...found, ...links].map(({ path }) => path).sort()
}

describe('the part of the playbook folder that a job gets', () => {
  beforeEach(() => {
    for (const path of ['site.yml', 'ansible.cfg', 'hosts/prod', 'hosts/test', 'group_vars/all.yml']) put(path)
    for (const path of ['roles/web/tasks/main.yml', 'roles/webapp/tasks/main.yml', 'finance/pay.yml']) put(path)
  })

  test('is everything if there are no rules', async () => {
    expect(await partOf(job())).toEqual(await partOf())
    expect(await partOf()).toHaveLength(8)
  })

  test('with playbookFiles is what the form names, its playbook, its inventories and ansible.cfg', async () => {
    const files = ['roles/web', 'group_vars/all.yml']
    expect(await partOf(job({ files, inventories: ['hosts/prod'] }))).toEqual([
      'ansible.cfg',
      'group_vars/all.yml',
      'hosts/prod',
      'roles/web/tasks/main.yml',
      'site.yml',
    ])
    expect(await partOf(job({ files: [] }))).toEqual(['ansible.cfg', 'site.yml'])
  })

  test('brings the folders around its files and its empty folders, with their modes, and no other', async () => {
    for (const path of ['roles/web/spool/empty', 'roles/db/empty']) mkdirSync(join(folder, path), { recursive: true })
    for (const path of ['roles', 'roles/web', 'hosts']) chmodSync(join(folder, path), 0o750)
    const needs = job({ files: ['roles/web'], inventories: ['hosts/prod'] })
    const { folders } = parseManifest((await open().manifest(needs)).json.toString())
    expect(folders.map(({ path, mode }) => [path, mode & 0o007])).toEqual([
      ['hosts', 0],
      ['roles', 0],
      ['roles/web', 0],
      ['roles/web/spool', 0o005],
      ['roles/web/spool/empty', 0o005],
      ['roles/web/tasks', 0o005],
    ])
  })

  test('with a sub path has the ansible.cfg of that folder', async () => {
    put('finance/ansible.cfg')
    const needs = job({ playbook: 'finance/pay.yml', workingFolder: 'finance', files: [] })
    expect(await partOf(needs)).toEqual(['finance/ansible.cfg', 'finance/pay.yml'])
  })

  test('has no folder that is for other forms, and never the files of rules', async () => {
    put('finance/.holdfast.yml', 'forms: [Payroll, Bonus]\n')
    expect(await partOf(job())).not.toContain('finance/pay.yml')
    expect(await partOf()).not.toContain('finance/pay.yml')
    expect(await partOf(job({ files: ['finance'] }))).toEqual(['ansible.cfg', 'site.yml'])
    const own = await partOf(job({ form: 'Payroll', playbook: 'finance/pay.yml' }))
    expect(own).toContain('finance/pay.yml')
    expect(own.filter((path) => path.endsWith('.holdfast.yml'))).toEqual([])
  })

  test('a link into a folder that is for other forms brings none of its files', async () => {
    put('finance/.holdfast.yml', 'forms: [Payroll]\n')
    symlinkSync('finance', join(folder, 'way-in'))
    const { files } = parseManifest((await open().manifest(job())).json.toString())
    expect(files.filter(({ path }) => /finance|way-in/.test(path))).toEqual([])
  })

  test('a job whose playbook is in a folder for other forms is refused, and the file is named', async () => {
    put('finance/.holdfast.yml', 'forms: [Payroll]\n')
    await expect(open().manifest(job({ playbook: 'finance/pay.yml' }))).rejects.toThrow(
      "not for the form 'any form': see finance/.holdfast.yml",
    )
  })

  test('is the part that the nearest folder names for its playbooks', async () => {
    put('.holdfast.yml', 'needs: [group_vars/]\n')
    put('finance/.holdfast.yml', 'needs: [./roles/web]\n')
    put('finance/deep/more.yml')
    expect(await partOf(job({ playbook: 'finance/deep/more.yml' }))).toEqual([
      'ansible.cfg',
      'finance/deep/more.yml',
      'finance/pay.yml',
      'roles/web/tasks/main.yml',
    ])
    // The folder itself is always among it: here that is everything.
    expect(await partOf(job())).toHaveLength(9)
    // What the form says wins.
    expect(await partOf(job({ playbook: 'finance/pay.yml', files: [] }))).toEqual(['ansible.cfg', 'finance/pay.yml'])
  })

  test.each([
    ['no YAML', 'forms: [', /finance\/\.holdfast\.yml cannot be used: line \d/],
    ['an unknown word', 'form: [Payroll]\n', /finance\/\.holdfast\.yml cannot be used: line 1/],
    [
      'a path that leaves the folder',
      'needs: [../../etc]\n',
      /'\.\.\/\.\.\/etc' is no path inside the playbook folder/,
    ],
  ])('a file that is %s closes its folder and says why; other jobs go on', async (_, text, reason) => {
    put('finance/.holdfast.yml', text)
    expect(await partOf(job())).toContain('site.yml')
    expect(await partOf(job())).not.toContain('finance/pay.yml')
    await expect(open().manifest(job({ playbook: 'finance/pay.yml' }))).rejects.toThrow(reason)
  })

  test('a blob can only be read through a manifest that lists it', async () => {
    put('finance/.holdfast.yml', 'forms: [Payroll]\n')
    const files = open()
    const whole = await files.manifest(job({ form: 'Payroll', playbook: 'finance/pay.yml' }))
    const part = await files.manifest(job())
    const secret = parseManifest(whole.json.toString()).files.find(({ path }) => path === 'finance/pay.yml')?.sha256
    expect(secret).toBeDefined()
    expect(await files.open(whole.sha256, secret ?? '')).not.toBeNull()
    expect(await files.open(part.sha256, secret ?? '')).toBeNull()
  })

  test('changes when the rules change', async () => {
    const files = open()
    expect(await partOf(job(), files)).toContain('finance/pay.yml')
    put('finance/.holdfast.yml', 'forms: [Payroll]\n')
    expect(await partOf(job(), files)).not.toContain('finance/pay.yml')
    rmSync(join(folder, 'finance/.holdfast.yml'))
    expect(await partOf(job(), files)).toContain('finance/pay.yml')
  })
})
