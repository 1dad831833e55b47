import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { parseFormFile } from '../../../control-plane/src/forms/parse/parse-form.js'
import {
  foldersBeside,
  problemsOfNamedFiles,
} from '../../../control-plane/src/sequences/workflows/check-named-files.js'

/** `holdfast form check`: the files that forms name are there. */
let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-named-files-'))
})
afterEach(() => rm(folder, { recursive: true }))

async function put(path: string, text = ''): Promise<void> {
  await mkdir(dirname(join(folder, path)), { recursive: true })
  await writeFile(join(folder, path), text)
}

/** A workflow with these nodes: the names of their templates and the types of these. */
const workflow = (name: string, ...nodes: (readonly [string, string])[]) =>
  JSON.stringify({
    workflow_job_templates: [
      {
        name,
        related: {
          workflow_nodes: nodes.map(([template, type], place) => ({
            identifier: `node ${place}`,
            unified_job_template: { name: template, type },
          })),
        },
      },
    ],
  })

/** What is wrong with these forms, each of them YAML without the lines that every form has. */
async function problems(...forms: string[]) {
  const placed = forms.flatMap((text, place) => {
    const { forms: read, errors } = parseFormFile(`${place}.yml`, `name: form ${place}\nroles: [public]\n${text}`)
    expect(errors).toEqual([])
    return read
  })
  const [vars, workflows, playbooks] = ['vars', 'workflows', 'playbooks'].map((name) => join(folder, name))
  return problemsOfNamedFiles(placed, {
    varsFiles: vars ?? '',
    workflows: workflows ?? '',
    playbooks: playbooks ?? '',
  })
}

const reasons = async (...forms: string[]) => (await problems(...forms)).map(({ reason }) => reason)
const ANSIBLE = 'type: ansible\nplaybook: site.yml\nfields: []'
const missing = (path: string) => `there is no playbook ${join(folder, 'playbooks', path)}`

describe('the playbook of a form', () => {
  test('is there, or the form is named with its place', async () => {
    await put('playbooks/other.yml')
    expect(await problems('type: ansible\nplaybook: other.yml\nfields: []', ANSIBLE)).toEqual([
      { file: '1.yml', line: 1, form: 'form 1', reason: missing('site.yml') },
    ])
    await put('playbooks/site.yml')
    expect(await problems(ANSIBLE)).toEqual([])
  })

  test('is looked for in the folder below that the form names, and is a file', async () => {
    await put('playbooks/site.yml')
    await put('playbooks/below/folder.yml/x')
    const below = (name: string) => `type: ansible\nplaybook: ${name}\nplaybookSubPath: below\nfields: []`
    expect(await reasons(below('site.yml'), below('folder.yml'))).toEqual([
      missing('below/site.yml'),
      missing('below/folder.yml'),
    ])
  })

  test('is not looked for where there is no folder of playbooks', async () => {
    expect(await problems(ANSIBLE)).toEqual([])
    await put('playbooks')
    expect(await problems(ANSIBLE)).toEqual([])
  })

  test('of a step is named with its step', async () => {
    await put('playbooks/site.yml')
    const steps = [
      'type: multistep',
      'fields: []',
      'steps:',
      '  - {name: first, playbook: site.yml}',
      '  - {name: second, playbook: gone.yml}',
    ]
    expect(await reasons(steps.join('\n'))).toEqual([`step 'second': ${missing('gone.yml')}`])
  })
})

describe('the constants of a form', () => {
  test('are there, or that is a problem', async () => {
    await put('vars/there.yml', 'a: 1')
    expect(await reasons(`${ANSIBLE}\nvarsFiles: [there.yml]`)).toEqual([])
    expect(await reasons(`${ANSIBLE}\nvarsFiles: [gone.yml]`)).toEqual([
      expect.stringContaining('varsFiles "gone.yml"'),
    ])
  })
})

describe('the workflow of a form', () => {
  const FORM = 'type: workflow\nworkflow: Main\nfields: []'

  test('is there, or the folder is named in which it was looked for', async () => {
    await put('workflows/other.yml', workflow('Other', ['site.yml', 'job_template']))
    const found = await problems(FORM)
    expect(found).toMatchObject([{ file: '0.yml', line: 1, form: 'form 0' }])
    expect(found[0]?.reason).toContain(`(looked in ${join(folder, 'workflows')})`)
    await put('workflows/main.yml', workflow('Main', ['site.yml', 'job_template']))
    expect(await problems(FORM)).toEqual([])
  })

  test('has its playbooks, and so have the workflows in it, each named once', async () => {
    await put('playbooks/site.yml')
    const nested = [
      ['gone.yml', 'job_template'],
      ['Inner', 'workflow_job_template'],
    ] as const
    // A node that only pulls a repository has no playbook.
    const pulls = ['a repository', 'project'] as const
    await put('workflows/main.yml', workflow('Main', ['site.yml', 'job_template'], ...nested, pulls))
    await put('workflows/inner.yml', workflow('Inner', ['lost.yml', 'job_template'], ['Look', 'workflow_approval']))
    await put('workflows/unused.yml', workflow('Unused', ['nowhere.yml', 'job_template']))
    expect(await problems(FORM, FORM)).toEqual([
      {
        file: join(folder, 'workflows'),
        line: null,
        form: null,
        reason: `workflow 'Main': node 'node 1': ${missing('gone.yml')}`,
      },
      {
        file: join(folder, 'workflows'),
        line: null,
        form: null,
        reason: `workflow 'Inner': node 'node 0': ${missing('lost.yml')}`,
      },
    ])
  })

  test('is not looked through for playbooks where there is no folder of them', async () => {
    await put('workflows/main.yml', workflow('Main', ['gone.yml', 'job_template']))
    expect(await problems(FORM)).toEqual([])
  })

  test('shows the mistakes of all workflow files, when a form has one at all', async () => {
    await put('workflows/main.yml', workflow('Main', ['site.yml', 'job_template']))
    await put('workflows/bad.yml', 'workflow_job_templates: 3')
    expect(await problems(FORM)).toMatchObject([{ file: join(folder, 'workflows', 'bad.yml') }])
    expect(await problems(ANSIBLE)).toEqual([])
  })

  test('that is gone with its folder is one problem, and what it names is none', async () => {
    await put('playbooks/site.yml')
    expect(await reasons(FORM)).toHaveLength(1)
  })
})

test('what belongs to forms lies beside their folder, or beside the folder of the first file', async () => {
  await put('forms/a.yml')
  const expected = {
    varsFiles: join(folder, 'vars'),
    workflows: join(folder, 'workflows'),
    playbooks: join(folder, 'playbooks'),
    functions: join(folder, 'functions.js'),
  }
  expect(await foldersBeside([join(folder, 'forms')])).toEqual(expected)
  expect(await foldersBeside([join(folder, 'forms', 'a.yml'), '/elsewhere'])).toEqual(expected)
})
