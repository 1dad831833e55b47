import { expect, test } from 'vitest'
import type { Form } from '../../../control-plane/src/forms/form.js'
import { parseFormFile } from '../../../control-plane/src/forms/parse/parse-form.js'

const parse = (more: object) =>
  parseFormFile('f.yml', JSON.stringify({ name: 'f', type: 'ansible', playbook: 'x.yml', ...more }))

function formOf(more: object): Form {
  const { forms, errors } = parse(more)
  expect(errors).toEqual([])
  return forms[0]?.form as Form
}

test.each<[in_file: object, form: object]>([
  [{}, { roles: [], categories: ['Default'], description: null }],
  [{}, { abortable: true, allowRelaunch: true, verbose: false, approval: null, launchValidation: null }],
  [
    { runner: '', ansibleCredentials: '', tags: '', limit: '' },
    { runner: null, ansibleCredentials: null, tags: null, limit: null },
  ],
  [{ abortable: false }, { abortable: false }],
  [{ disableRelaunch: true }, { allowRelaunch: false }],
  [{ disableRelaunch: true, allowRelaunch: true }, { allowRelaunch: true }],
  [{ userExtravars: 'email, all' }, { userExtravars: null }],
  [{ userExtravars: 'none' }, { userExtravars: [] }],
  [{ userExtravars: ['email, groups', ' ', 'type'] }, { userExtravars: ['email', 'groups', 'type'] }],
  [{ inventory: 'a' }, { inventory: ['a'] }],
  [{ tags: ['a', 'b'] }, { tags: 'a,b' }],
  [{ check: true }, { check: true, diff: false }],
  [{ diff: true }, { check: false, diff: true }],
  [
    { verbose: true, keepExtravars: true },
    { verbose: true, keepExtravars: true, allowJinjaInExtravars: false },
  ],
  [
    { type: 'workflow', playbook: undefined, workflow: 'w' },
    { workflow: 'w', verbose: false, keepExtravars: false },
  ],
  [
    { type: 'workflow', playbook: undefined, workflow: 'w', verbose: true },
    { verbose: true, playbookFiles: null },
  ],
  [{ allowJinjaInExtravars: true }, { allowJinjaInExtravars: true, keepExtravars: false }],
  [
    { executionImage: 'quay.io/a/b:1', playbook: 'a/../x.yml' },
    { executionImage: 'quay.io/a/b:1', playbook: 'x.yml' },
  ],
  [
    {
      playbookSubPath: './(sub)/',
      playbook: ".//it's [a] & b.yml",
      inventory: ['hosts (1)', 'a,b'],
      limit: '@(old)[1]',
    },
    { playbookSubPath: '(sub)', playbook: "it's [a] & b.yml", inventory: ['hosts (1)', 'a,b'], limit: '@(old)[1]' },
  ],
  [{ playbookSubPath: '.' }, { playbookSubPath: null }],
  [{ playbookFiles: ['roles/', 'a.yml'] }, { playbookFiles: ['roles', 'a.yml'] }],
  [
    { approval: { roles: ['r'] } },
    { approval: { title: null, message: null, roles: ['r'], notifications: [], allowSelf: false } },
  ],
  [
    { notifications: { recipients: ' a@b.c ' } },
    { notifications: { recipients: ['a@b.c'], onStatus: ['any'], onEvent: [] } },
  ],
  [
    { notifications: { channels: 'c', onEvent: 'launch' } },
    { notifications: { channels: ['c'], onStatus: [], onEvent: ['launch'] } },
  ],
  [{ fields: [{ name: 'p', type: 'password', model: 'a.b' }] }, { passwordFields: ['p', 'b'] }],
])('a form with %j has %j', (more, expected) => {
  expect(formOf(more)).toMatchObject(expected)
})

test.each<[object, string]>([
  [{ playbook: 'a\0.yml' }, 'inside the playbook folder'],
  [{ playbookSubPath: '../sub', playbook: '../sub/x.yml' }, 'inside the playbook folder'],
  [{ playbookSubPath: 'sub', playbook: '../../x.yml' }, 'inside the playbook folder'],
  [{ playbookSubPath: 'sub', playbook: '../x.yml' }, 'inside the playbook folder'],
  [
    { playbook: '{{ a }}.yml' },
    'playbook cannot be given to ansible-playbook: "{{ a }}.yml" cannot be a part of a path',
  ],
  [{ playbookSubPath: '$HOME' }, 'playbookSubPath cannot be given'],
  [{ inventory: ['a', ''] }, 'inventory cannot be given'],
  [{ inventory: 'a;b,' }, 'inventory cannot be given'],
  [{ tags: ['a', '(b)'] }, 'tags cannot be given to ansible-playbook: "(b)" is no tag'],
  [{ limit: 'web[0' }, 'limit cannot be given'],
  [{ limit: '@my hosts' }, 'which ansible splits'],
  [{ limit: '@a,b.txt' }, 'which ansible splits'],
  [{ limit: '@hosts[1.txt' }, 'which ansible splits'],
  [{ playbookFiles: ['/etc'] }, 'inside the playbook folder'],
  [{ executionImage: 'no image' }, 'container image'],
  [{ timeout: 0 }, 'timeout'],
  [{ notifications: [] }, 'notifications must be an object'],
  [{ notifications: { onStatus: 'any' } }, 'notifications needs recipients or channels'],
  [{ notifications: { channels: 'c', on: 'any' } }, 'notifications.on'],
  [{ notifications: { channels: 'c', onStatus: 'launch' } }, 'notifications.onStatus'],
  [{ notifications: { channels: 'c', onEvent: 'success' } }, 'notifications.onEvent'],
  [{ notifications: { channels: [' '] } }, 'notifications.channels'],
  [{ wizard: [{ subform: 's' }, { subform: 't', name: 's' }] }, 'wizard.1'],
  [{ wizard: [{ subform: 's', defaultModel: '[0]' }] }, 'defaultModel'],
])('%j is refused', (more, reason) => {
  expect(parse(more)).toMatchObject({ forms: [], errors: [{ file: 'f.yml', form: 'f' }] })
  expect(parse(more).errors[0]?.reason).toContain(reason)
})

test('steps take what the form says for all, except its playbook, its approval and its notifications', () => {
  const ofForm = { runner: 'r', limit: 'h', ansibleCredentials: 'login', credentials: { a: '1', b: '1' } }
  const own = { ifExtraVar: 'v', continue: true, always: true, notifications: { channels: 'c' } }
  const form = formOf({
    type: 'multistep',
    playbook: undefined,
    ...ofForm,
    varsFiles: ['v.yml'],
    approval: { roles: ['r'] },
    notifications: { channels: 'f' },
    fields: [{ name: '__inventory__', default: 'i' }],
    steps: [
      { name: 'a', playbook: 'x.yml', credentials: { b: '2' }, varsFiles: ['v.yml', 'w.yml'], key: 'k' },
      { name: 'b', type: 'awx', ...own },
    ],
  })
  const settings = { ...ofForm, credentials: { a: '1', b: '2' }, listedInventories: ['i'] }
  expect(form).toMatchObject({
    varsFiles: ['v.yml', 'w.yml'],
    approval: { roles: ['r'] },
    steps: [
      { key: 'k', ifExtraVar: null, continue: false, always: false, approval: null, notifications: null, settings },
      { type: 'awx', settings: null, ...own, notifications: { channels: ['c'] } },
    ],
  })
})
