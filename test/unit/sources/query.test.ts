import { expect, test } from 'vitest'
import type { DatabaseQuery, Databases } from '../../../control-plane/src/databases/query-type.js'
import { parseFormFile } from '../../../control-plane/src/forms/parse/parse-form.js'
import { createAskingChecks } from '../../../control-plane/src/forms/sandbox/asking-checks.js'
import { createLaunchChecks } from '../../../control-plane/src/forms/sandbox/launch-checks.js'
import { createFormFiles } from '../../../control-plane/src/sources/file-functions.js'
import { parseHostRules } from '../../../control-plane/src/sources/address-rules.js'
import { createFunctions } from '../../../control-plane/src/sources/functions.js'
import { createJq } from '../../../control-plane/src/sources/jq.js'
import { createSources } from '../../../control-plane/src/sources/sources.js'
import { systemTimers } from '../../../control-plane/src/time/timers.js'

const FORM = `
name: rows
type: ansible
playbook: x.yml
fields:
  - { name: like, type: text, default: "x'; drop table a; --" }
  - { name: db, type: text, default: own }
  - { name: vms, type: query, query: "select name from vm where name like '$(like)' and x = $(other)", dbConfig: { name: main, type: postgres }, ignoreIncomplete: true }
  - { name: chosen, type: enum, query: select 1, dbConfig: { name: $(db) } }
  - { name: far, type: text, default: "own,${' '.repeat(1100)}main" }
  - { name: padded, type: enum, query: select 1, dbConfig: { name: $(far) } }
  - { name: many, type: expression, query: many, dbConfig: main, jq: "[.[].n]" }
  - { name: bad, type: expression, query: bad, dbConfig: main }
  - { name: free, type: enum, query: bad, dbConfig: main, editable: true }
`

test('a query is sent with its placeholders, and their values separately', async () => {
  const asked: DatabaseQuery[] = []
  const databases: Databases = {
    ask(query) {
      asked.push(query)
      if (query.text === 'bad') return Promise.reject(new Error('the database main is away'))
      return Promise.resolve({ rows: [{ n: 1 }, { n: 2 }], truncated: false })
    },
    close: () => Promise.resolve(),
  }
  const log = { warn: () => undefined }
  const clock = { now: () => performance.now() }
  const built = (path: string) => new URL(`../../../control-plane/dist/${path}`, import.meta.url)
  const jq = createJq(systemTimers, built('sources/jq-worker.js'))
  const functions = createFunctions({
    credentials: { open: () => Promise.resolve(null), list: () => Promise.resolve([]) },
    files: createFormFiles('/nowhere'),
    jq,
    send: () => Promise.reject(new Error('nothing is sent')),
    ssh: { hosts: parseHostRules(''), credential: null, knownHosts: '/nowhere' },
  })
  const sources = createSources({ functions, databases, timers: systemTimers, steady: clock, log, limitMs: 60_000 })
  const script = built('forms/sandbox/check-worker.js')
  const checks = createLaunchChecks({ log, timers: systemTimers, script, threads: 1 })
  try {
    const [placed] = parseFormFile('rows.yml', FORM).forms
    const fields = placed?.form.fields ?? []
    const { shown } = await createAskingChecks(checks, sources, systemTimers).check(
      {
        fields,
        wizard: [],
        subforms: {},
        values: { free: 'anything' },
        uploads: {},
        constants: {},
        user: {},
        now: 0,
        isShowing: true,
      },
      { mayUse: () => false, mayReuse: true, caller: 'a', waitMs: 60_000 },
    )
    expect(shown?.fields).toMatchObject({
      vms: { choices: [{ n: 1 }, { n: 2 }] },
      chosen: { waiting: "your roles do not allow the credential 'own'" },
      padded: { waiting: "your roles do not allow the credential 'own'" },
      many: { value: [1, 2] },
      bad: { waiting: 'the database main is away' },
      free: { value: 'anything' },
    })
    const vms = asked.find(({ text }) => text.includes('from vm'))
    expect(vms?.text).toBe("select name from vm where name like '$(like)' and x = $(other)")
    expect([vms?.value('like'), vms?.value('other'), vms?.value('toString')]).toEqual([
      "x'; drop table a; --",
      null,
      null,
    ])
    expect(vms?.config).toEqual({ name: 'main', type: 'postgres' })
    expect(asked.some(({ text }) => text === 'select 1')).toBe(false)
  } finally {
    await checks.close()
    await sources.close()
  }
})
