import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { newQuickPerson } from './run-cli.js'

const SINGLE = `# What an older release had in one file.
categories:
  - {name: VM, icon: server} # machines
roles:
  - {name: admin, groups: [local/admins]}
constants: {MODE: "0644"}
forms:
  - name: Create VM
    playbook: a.yml
    roles: [admin]
    fields:
      - &size {name: size, type: text} # of its disk
      - name: note
        type: expression
        expression: |
          1 +

            1
  - name: create (vm)
    playbook: b.yml
    roles: [admin]
    fields: [*size]
    description: "no"
`

describe('the single file of an older AnsibleForms', () => {
  it('does not load, and says what it is and what to do', async () => {
    const { home, run } = newQuickPerson()
    const path = join(home, 'forms.yaml')
    writeFileSync(path, SINGLE)
    const { code, stdout } = await run(['form', 'check', path])
    expect(code).toBe(1)
    expect(stdout).toContain(`line 8: this is the single file of an older AnsibleForms`)
    expect(stdout).toContain(`'holdfast form split ${path}'`)
  })

  it('is split into files that load, with their comments', async () => {
    const { home, run } = newQuickPerson()
    const into = join(home, 'new')
    writeFileSync(join(home, 'forms.yaml'), SINGLE)
    expect(await run(['form', 'split', join(home, 'forms.yaml'), '--into', into])).toEqual({
      code: 0,
      stdout: `Wrote ${into}/config.yaml: categories, roles, constants
Wrote ${into}/forms/create-vm.yml: form Create VM
Wrote ${into}/forms/create-vm-2.yml: form create (vm)
`,
      stderr: '',
    })
    expect(readFileSync(join(into, 'config.yaml'), 'utf8')).toContain('# machines')
    expect(readFileSync(join(into, 'forms/create-vm.yml'), 'utf8')).toContain('# of its disk')
    const checked = await run(['form', 'check', '--json', join(into, 'forms')])
    expect(JSON.parse(checked.stdout)).toMatchObject({
      forms: [{ name: 'create (vm)' }, { name: 'Create VM' }],
      errors: [],
      notes: [],
    })
    expect(await run(['config', 'check', join(into, 'config.yaml')])).toMatchObject({ code: 0 })
  })

  it('replaces no file, and says which ones it did not write', async () => {
    const { home, run } = newQuickPerson()
    writeFileSync(join(home, 'forms.yaml'), SINGLE)
    mkdirSync(join(home, 'forms'))
    for (const name of ['config.yaml', 'forms/create-vm.yml']) writeFileSync(join(home, name), 'mine')
    const { code, stdout } = await run(['form', 'split', join(home, 'forms.yaml'), '--into', home, '--json'])
    expect(code).toBe(1)
    expect(JSON.parse(stdout)).toEqual({
      written: [{ path: join(home, 'forms/create-vm-2.yml'), holds: 'form create (vm)' }],
      kept: [
        { path: join(home, 'config.yaml'), holds: 'categories, roles, constants' },
        { path: join(home, 'forms/create-vm.yml'), holds: 'form Create VM' },
      ],
    })
    expect(readFileSync(join(home, 'config.yaml'), 'utf8')).toBe('mine')
    expect(readdirSync(join(home, 'forms')).sort()).toEqual(['create-vm-2.yml', 'create-vm.yml'])
  })

  it('is nothing else: a file without a list of forms is refused', async () => {
    const { home, run } = newQuickPerson()
    writeFileSync(join(home, 'one.yml'), 'name: One\nplaybook: a.yml\n')
    const { code, stderr } = await run(['form', 'split', join(home, 'one.yml'), '--into', home])
    expect(code).toBe(2)
    expect(stderr).toContain('it has no list named forms')
    expect(existsSync(join(home, 'forms'))).toBe(false)
  })
})
