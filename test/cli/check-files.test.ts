import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ROOT } from '../support/product.js'
import { newQuickPerson } from './run-cli.js'

/** What can be asked without a server. */
const GOOD = 'name: Good\ntype: ansible\nplaybook: good.yml\nfields: [{ name: disks, type: list, subform: Disk }]\n'
const DISK = 'name: Disk\ntype: subform\nfields: [{ name: size, type: number }]\n'

describe('form check', () => {
  it('names the values that ansible would read differently, and takes the form', async () => {
    const { home, run } = newQuickPerson()
    const path = join(home, 'words.yml')
    const fields = [
      'type: enum, values: [yes, "no"]',
      'default: 0644',
      'default: 1e3',
      'default: !!str off',
      'default: 2026-11-28',
    ]
    const lines = fields.map(
      (field, at) => `  - { name: f${at}, ${field.includes('type') ? '' : 'type: text, '}${field} }\n`,
    )
    writeFileSync(path, `name: Words\nplaybook: a.yml\nroles: [default]\nfields:\n${lines.join('')}`)
    const { code, stdout } = await run(['form', 'check', path])
    expect(code).toBe(0)
    expect(stdout.split('\n')).toEqual([
      `${path}, line 5: yes is the text "yes" in a form, and to ansible it is true: put it in quotes, or write true`,
      `${path}, line 6: 0644 is the number 644 in a form, and to ansible it is the number 420: put it in quotes, or write 644`,
      `${path}, line 7: 1e3 is the number 1000 in a form, and to ansible it is the text "1e3": put it in quotes, or write 1000`,
      '1 form is good.',
      '',
    ])
    const { notes } = JSON.parse((await run(['form', 'check', '--json', path])).stdout) as { notes: { line: number }[] }
    expect(notes.map(({ line }) => line)).toEqual([5, 6, 7])
  })

  it('names forms and subforms, and mistakes with their lines', async () => {
    const { home, run } = newQuickPerson()
    mkdirSync(join(home, 'forms'))
    const path = (name: string) => join(home, 'forms', name)
    writeFileSync(path('good.yml'), GOOD)
    writeFileSync(path('disk.yml'), DISK)
    expect(await run(['form', 'check', join(home, 'forms')])).toEqual({
      code: 0,
      stdout: '2 forms are good.\n',
      stderr: '',
    })

    writeFileSync(path('twice.yml'), `${DISK}help: again\n`)
    writeFileSync(
      path('wrong.yml'),
      'name: Wrong\ntype: ansible\nplaybook: x.yml\nfields:\n  - { name: a, type: texxt }\n',
    )
    const { code, stdout } = await run(['form', 'check', join(home, 'forms')])
    expect(code).toBe(1)
    expect(stdout.split('\n')).toEqual([
      expect.stringMatching(/twice\.yml, line 1, form Disk: there already is a form of this name in .*disk\.yml$/),
      expect.stringMatching(/wrong\.yml, line 5, form Wrong: fields\.0/),
      '2 forms are good; wrong: 2.',
      '',
    ])
    writeFileSync(
      path('asks.yml'),
      `name: Asks
type: ansible
playbook: x.yml
fields:
  - { name: vm, type: enum, query: select 1, dbConfig: [{ name: cmdb, type: mssql }, 'a, b'], jq: '.[0]' }
  - { name: host, type: expression, expression: "fn.fnRestBasic('get', 'https://a', '', 'c')" }
  - { name: odd, type: expression, expression: "fnc.own('a')" }
`,
    )
    writeFileSync(path('tower.yml'), 'name: Tower\ntype: awx\ntemplate: a\nfields: []\n')
    const asks = await run(['form', 'check', path('asks.yml'), path('tower.yml')])
    expect(asks).toMatchObject({ code: 0 })
    expect(asks.stdout.split('\n')).toEqual([
      'Asks needs databases (cmdb (mssql), a, b): vm',
      'Asks needs jq: vm',
      'Asks needs REST services (fn.fnRestBasic): host',
      'Asks needs functions that do not exist (fnc.own): odd',
      'Tower needs another system to run its jobs (awx)',
      '2 forms are good.',
      '',
    ])
    const alone = await run(['form', 'check', path('good.yml'), join(home, 'none.yml'), '--json'])
    expect(alone.code).toBe(1)
    expect(JSON.parse(alone.stdout)).toMatchObject({
      forms: [],
      errors: [
        { reason: expect.stringContaining('ENOENT') },
        { form: 'Good', reason: expect.stringContaining('"Disk"') },
      ],
    })
    const together = await run(['form', 'check', path('tower.yml'), join(home, 'none.yml')])
    // A file that is not there has no line and no form.
    expect(together.stdout).toMatch(/^\S*none\.yml: .*ENOENT.*\n/)
    expect(together.stdout).toMatch(/\n1 form is good; wrong: 1\.\n$/)
  })
})

describe('form check looks for what forms name', () => {
  const FORMS = {
    'forms/vars.yml':
      'name: Vars\ntype: ansible\nplaybook: good.yml\nvarsFiles: [there.yml, gone.yml, list.yml, ../secret.yml]\nfields: []\n',
    'forms/steps.yml': `name: Steps
type: multistep
steps: [{ name: first, playbook: good.yml }, { name: second, playbook: sub/gone.yml, varsFiles: [step.yml] }]
fields: []
`,
    'forms/flow.yml': 'name: Flow\ntype: workflow\nworkflow: Flow\nfields: []\n',
    'forms/lost.yml': 'name: Lost\ntype: workflow\nworkflow: lost.yml\nfields: []\n',
    'vars/there.yml': 'a: 1\n',
    'vars/list.yml': '- a\n',
    'playbooks/good.yml': '[]\n',
    'workflows/flow.yml': `workflow_job_templates:
  - name: Flow
    related:
      workflow_nodes:
        - { identifier: one, unified_job_template: { name: good.yml, type: job_template } }
        - { identifier: two, unified_job_template: { name: gone.yml, type: job_template } }
        - { identifier: three, unified_job_template: { name: Nowhere, type: workflow_job_template } }
        - { identifier: four, unified_job_template: { name: Inner, type: workflow_job_template } }
  - name: Inner
    related:
      workflow_nodes: [{ identifier: deep, unified_job_template: { name: deep.yml, type: job_template } }]
`,
  }

  function installation(files: Readonly<Record<string, string>>) {
    const person = newQuickPerson()
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(person.home, name)), { recursive: true })
      writeFileSync(join(person.home, name), text)
    }
    return person
  }

  it('constants, workflows with their nodes, and playbooks', async () => {
    const { home, run } = installation(FORMS)
    const { code, stdout } = await run(['form', 'check', join(home, 'forms')])
    expect(code).toBe(1)
    expect(stdout.replaceAll(`${home}/`, '').split('\n')).toEqual([
      'forms/steps.yml, line 1, form Steps: varsFiles "step.yml": there is no such file',
      'forms/vars.yml, line 1, form Vars: varsFiles "gone.yml": there is no such file',
      'forms/vars.yml, line 1, form Vars: varsFiles "list.yml": the file must hold a mapping',
      'forms/vars.yml, line 1, form Vars: varsFiles "../secret.yml": there is no such file',
      "forms/lost.yml, line 1, form Lost: There is no workflow 'lost.yml', neither a file nor a name in one (looked in workflows)",
      "forms/steps.yml, line 1, form Steps: step 'second': there is no playbook playbooks/sub/gone.yml",
      "workflows/flow.yml, line 7: workflow 'Flow': node 'three': There is no workflow 'Nowhere', neither a file nor a name in one",
      "workflows: workflow 'Flow': node 'two': there is no playbook playbooks/gone.yml",
      "workflows: workflow 'Inner': node 'deep': there is no playbook playbooks/deep.yml",
      'Steps needs files of constants below VARS_FILES_PATH (step.yml)',
      'Vars needs files of constants below VARS_FILES_PATH (there.yml, gone.yml, list.yml, ../secret.yml)',
      '4 forms are good; wrong: 9.',
      '',
    ])
  })

  it.each([['.'], ['vars.yml']])('beside the folder of the forms, also when %s is named in it', (path) => {
    const { home } = installation(FORMS)
    const found = spawnSync(process.execPath, [join(ROOT, 'control-plane/bin/holdfast.js'), 'form', 'check', path], {
      cwd: join(home, 'forms'),
      encoding: 'utf8',
    })
    expect(found.stdout).toContain('form Vars: varsFiles "gone.yml": there is no such file')
    expect(found.stdout).not.toContain('"there.yml"')
  })

  it('in the folders that are named, if they are elsewhere', async () => {
    const { 'forms/vars.yml': text, ...others } = FORMS
    const { home, run } = installation({ 'elsewhere/vars.yml': text.replace(', ../secret.yml', ''), ...others })
    writeFileSync(join(home, 'vars/gone.yml'), 'b: 2\n')
    writeFileSync(join(home, 'vars/list.yml'), 'c: 3\n')
    const file = join(home, 'elsewhere/vars.yml')
    const named = ['--vars-files-path', join(home, 'vars'), '--playbooks-path', join(home, 'playbooks')]
    expect(await run(['form', 'check', file, ...named])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^1 form is good\.$/m) as string,
    })
    expect((await run(['form', 'check', file, '--vars-files-path', join(home, 'none')])).code).toBe(1)
  })

  it('your own functions, which are beside the forms or in the file that is named', async () => {
    const form = `name: Own\ntype: ansible\nplaybook: good.yml\nfields:
  - { name: a, type: expression, expression: fnc.fnSum(1, 2) }
  - { name: b, type: expression, expression: fnc.fnGone() }
`
    const good = 'export const fnSum = (a, b) => a + b\n'
    const { home, run } = installation({
      'forms/own.yml': form,
      'functions.js': good,
      'other.js': '\nexport const (\n',
    })
    const { code, stdout } = await run(['form', 'check', join(home, 'forms')])
    expect([code, stdout.split('\n')]).toEqual([
      0,
      [
        'Own needs your own functions (fnc.fnSum): a',
        'Own needs functions that do not exist (fnc.fnGone): b',
        '1 form is good.',
        '',
      ],
    ])
    const other = await run(['form', 'check', join(home, 'forms'), '--functions-path', join(home, 'other.js')])
    expect(other).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('other.js, line 2: functions.js, ') as string,
    })
  })

  it('and finds all that the examples name', async () => {
    const { code, stdout } = await newQuickPerson().run(['form', 'check', join(ROOT, 'control-plane/examples/forms')])
    expect([code, stdout]).toEqual([0, '4 forms are good.\n'])
  })
})

describe('config check', () => {
  it('says whether a config.yaml is good, and which line is wrong', async () => {
    const { home, run } = newQuickPerson()
    expect((await run(['config', 'check', join(ROOT, 'control-plane/examples/config.yaml')])).code).toBe(0)
    const path = join(home, 'config.yaml')
    writeFileSync(path, 'roles:\n  - name: default\n')
    const { code, stdout } = await run(['config', 'check', path])
    expect([code, stdout]).toEqual([1, `${path}, line 2: the role admin is missing\n`])
    expect((await run(['config', 'check', join(home, 'none')])).code).toBe(2)
  })
})

describe('completion', () => {
  it('completes commands and options in bash', async () => {
    const { home, run } = newQuickPerson()
    const { stdout } = await run(['completion', 'bash'])
    const script = join(home, 'completion.bash')
    writeFileSync(script, stdout)
    writeFileSync(
      join(home, 'holdfast'),
      `#!/bin/sh\nexec ${process.execPath} ${ROOT}/control-plane/bin/holdfast.js "$@"\n`,
      { mode: 0o755 },
    )
    const completed = (...words: readonly string[]) =>
      spawnSync(
        'bash',
        [
          '--norc',
          '-c',
          `. ${script}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _holdfast; printf '%s\\n' "\${COMPREPLY[@]}"`,
          'bash',
          ...words,
        ],
        { env: { ...process.env, PATH: `${home}:${process.env.PATH ?? ''}` }, encoding: 'utf8' },
      ).stdout.split('\n')
    expect(completed('holdfast', 'ru')).toEqual(['runner', ''])
    expect(completed('holdfast', 'runner', 're')).toEqual([
      'reject',
      'revoke',
      'reinstate',
      'rename',
      'remove',
      'remove-address',
      '',
    ])
    expect(completed('holdfast', 'job', 'launch', '--ex')).toEqual(['--extra-vars', ''])
  })

  it.each([
    ['zsh', '#compdef holdfast'],
    ['fish', 'complete -c holdfast'],
  ])('is there for %s', async (shell, words) => {
    const { code, stdout } = await newQuickPerson().run(['completion', shell])
    expect([code, stdout]).toEqual([0, expect.stringContaining(words)])
  })
})
