import { describe, expect, it } from 'vitest'
import { serviceOfFile } from './answering.js'

/** What people read of forms, as a service tells it. */
const { service, person } = await serviceOfFile()

/** A text that a terminal of 80 columns has no room for in one line. */
const LONG = 'These are many words that are not cut off, however narrow the screen of a person is. '.repeat(2).trim()
/** A narrow screen, and one that is wide enough for all. */
const WIDTHS = [80, 400]

describe('form list', () => {
  const form = (name: string, more: object = {}) => ({
    name,
    type: 'ansible',
    description: null,
    categories: [],
    fields: [],
    ...more,
  })
  const answer = (records: readonly object[], errors?: readonly object[]) => {
    service.override = ({ path }) =>
      path === '/forms'
        ? { status: 200, body: { count: records.length, records, ...(errors ? { errors } : {}) } }
        : null
  }

  it('has a row for each form, and keeps its whole description on any screen', async () => {
    const fields = [{ name: 'a' }, { name: 'b' }]
    answer([form('Deploy', { categories: ['One', 'Two'], fields, description: LONG }), form('Other')])
    const piped = await person.run(['form', 'list'])
    expect(piped.stdout.split('\n').map((line) => line.split(/\s{2,}/))).toEqual([
      ['name', 'type', 'categories', 'fields', 'description'],
      ['Deploy', 'ansible', 'One, Two', '2', LONG],
      ['Other', 'ansible', '-', '0', '-'],
      [''],
    ])
    for (const screenColumns of WIDTHS) {
      const { stdout } = await person.run(['form', 'list'], { screenColumns })
      expect(stdout).not.toContain('…')
      for (const word of LONG.split(' ')) expect(stdout).toContain(word)
    }
  })

  it('says when there is none', async () => {
    answer([])
    expect(await person.run(['form', 'list'])).toEqual({
      code: 0,
      stdout: 'No forms that you may launch.\n',
      stderr: '',
    })
  })

  it('tells an admin beside the list what was left out, and not with --json, which has it', async () => {
    const reason = 'it is wrong'
    const errors = [
      { file: 'a.yml', line: 3, form: 'A', reason },
      { file: 'b.yml', line: null, form: 'B', reason },
      { file: 'c.yml', line: null, form: null, reason },
    ]
    answer([form('Deploy')], errors)
    const { code, stderr } = await person.run(['form', 'list'])
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: 'a.yml, line 3, A: it is wrong\nb.yml, B: it is wrong\nc.yml: it is wrong\n'.replaceAll(
        /^(?=.)/gm,
        'left out: ',
      ),
    })
    const json = await person.run(['form', 'list', '--json'])
    expect(json.stderr).toBe('')
    expect(JSON.parse(json.stdout)).toMatchObject({ count: 1, errors })
  })
})

describe('form show', () => {
  const show = (form: object, ...args: string[]) => shown(form, {}, args)
  const onScreen = (form: object, screenColumns: number) => shown(form, { screenColumns }, [])
  async function shown(form: object, options: object, args: readonly string[]): Promise<string> {
    const forms = [{ name: 'F', categories: [], ...form }]
    const body = { forms, constants: {}, errors: [], warnings: [] }
    service.override = ({ path, query }) =>
      path === '/config/form' && query.get('name') === 'F' ? { status: 200, body } : null
    const { code, stdout, stderr } = await person.run(['form', 'show', 'F', ...args], options)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    return stdout
  }

  it.each([
    ['behind --', ['--', '-W dash'], '-W dash'],
    ['behind --, like an option', ['--', '--help'], '--help'],
    ['with a blank', ['-W dash'], '-W dash'],
  ])('takes a name that begins with a dash: %s', async (_how, words, name) => {
    const form = { name, categories: [], type: 'ansible', description: 'With a dash.', fields: [] }
    const body = { forms: [form], constants: {}, errors: [], warnings: [] }
    service.override = ({ path, query }) =>
      path === '/config/form' && query.get('name') === name ? { status: 200, body } : null
    const { code, stdout, stderr } = await person.run(['form', 'show', ...words])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain('With a dash.')
  })

  it('has the head of the form, its own fields, and those of steps and rows', async () => {
    const text = await show({
      type: 'ansible',
      description: 'It runs.',
      categories: ['One', 'Two'],
      timeout: 90,
      fields: [
        { name: 'a', label: 'The a', required: true, default: 'x' },
        { name: 'l', type: 'list', subform: 'R' },
      ],
      wizard: [{ name: 'one', subform: 'S' }],
      subforms: [
        { name: 'R', type: 'subform', fields: [{ name: 'b', type: 'number' }] },
        { name: 'S', type: 'subform', fields: [] },
      ],
    })
    expect(text.replaceAll(/ {2,}/g, '  ').split('\n')).toEqual([
      'name  F',
      'type  ansible',
      'description  It runs.',
      'timeout  90 s',
      'categories  One, Two',
      '',
      'field  type  needed  default  label',
      'a  text  yes  x  The a',
      'l  list  -  -  -',
      '',
      'Each row of l:',
      'field  type  needed  default  label',
      'b  number  -  -  -',
      '',
      'Step one:',
      'No fields.',
      '',
    ])
  })

  it('says when a form has no fields, and has no empty table before the steps of a wizard', async () => {
    expect(await show({ fields: [] })).toMatch(/\n\nNo fields\.\n$/)
    const subforms = [{ name: 'S', type: 'subform', fields: [{ name: 'a' }] }]
    const text = await show({ fields: [], wizard: [{ subform: 'S' }], subforms })
    expect(text).toMatch(/\n\nStep S:\nfield /)
    expect(text).not.toContain('No fields.')
  })

  it.each([
    ['options', { values: LONG.split(' ') }, LONG.split(' ').slice(0, 20).join(', ')],
    ['rules', { regex: { expression: 'x', description: LONG } }, `${LONG} (matches x)`],
    ['label', { label: LONG }, LONG],
    ['help', { help: LONG }, LONG],
  ])('keeps the whole %s on any screen', async (_what, more, words) => {
    for (const width of WIDTHS) {
      const text = await onScreen({ fields: [{ name: 'a', type: 'enum', ...more }] }, width)
      expect(text).not.toContain('…')
      for (const word of words.split(' ')) expect(text).toContain(word)
    }
  })

  it('is the answer of the service with --json', async () => {
    expect(JSON.parse(await show({ fields: [{ name: 'a', own: 1 }] }, '--json'))).toEqual({
      name: 'F',
      categories: [],
      fields: [{ name: 'a', own: 1 }],
    })
  })
})
