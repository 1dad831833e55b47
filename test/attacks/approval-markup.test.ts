import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addRunner } from '../api/runner-row.js'
import { type TestServer, startServer } from '../api/server.js'
import { startMailServer } from '../support/mail-server.js'
import { waitFor } from '../support/wait.js'

/** What people type into a form is text in the message of its approval. Only the author of the form makes markup. */

const EVIL = `<a href="https://evil.example">Click</a><h3>APPROVED</h3><!channel> & '`
const SAFE =
  '&lt;a href=&quot;https://evil.example&quot;&gt;Click&lt;/a&gt;&lt;h3&gt;APPROVED&lt;/h3&gt;&lt;!channel&gt; &amp; &#39;'

const form = (name: string, message: string) => `name: ${name}
type: ansible
roles: [default]
playbook: x.yml
fields: [{name: a, type: textarea}, {name: b, type: text}, {name: rows, type: yaml}]
approval: {title: "Look at $(b)", roles: [], notifications: [boss@example.com], message: ${JSON.stringify(message)}}
`

let server: TestServer
let ann: string
let mails: Awaited<ReturnType<typeof startMailServer>>

beforeAll(async () => {
  mails = await startMailServer({ hideSTARTTLS: true })
  server = await startServer({
    settings: { SMTP_HOST: '127.0.0.1', SMTP_PORT: String(mails.port), SMTP_TLS: 'none', MAIL_FROM: 'h@example.com' },
  })
  await addRunner(server, 'edge', { isDefault: true })
  ann = (await server.addUser('ann')).token
})
afterAll(async () => {
  await server.close()
  await mails.close()
})

let forms = 0
/** The approval of a job of a form with this message. */
async function launched(message: string, values: Record<string, unknown>) {
  const name = `form-${(forms += 1)}`
  await server.writeForm(`${name}.yml`, form(name, message))
  const answer = await server.call('POST', '/job', { token: ann, json: { formName: name, rawFormData: values } })
  expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('id')])
  return jobOf(Number(answer.body.id))
}
const jobOf = async (id: number) =>
  (await server.call('GET', `/job/${id}?text=true`, { token: server.admin })).body as {
    id: number
    output: string
    approval: { title: string; message: string }
  }
const messageOf = async (message: string, values: Record<string, unknown>) =>
  (await launched(message, values)).approval.message

describe('a value in the message of an approval', () => {
  test('is text between the markup of the author', async () => {
    expect(await messageOf('<b>Why:</b> $(a)<br>$(rows)', { a: EVIL, rows: { x: '<i>' } })).toBe(
      `<b>Why:</b> ${SAFE}<br>{&quot;x&quot;:&quot;&lt;i&gt;&quot;}`,
    )
  })

  test('ends no attribute, with and without quotes', async () => {
    const value = `" ' > onmouseover=alert(1) <b>`
    for (const markup of ['<abbr title="$(a)">x</abbr>', "<abbr title='$(a)'>x</abbr>", '<abbr title=$(a)>x</abbr>']) {
      const [before = '', after = ''] = markup.split('$(a)')
      const message = await messageOf(markup, { a: value })
      const inside = message.slice(before.length, message.length - after.length)
      expect([message.startsWith(before), message.endsWith(after)]).toEqual([true, true])
      expect(inside).not.toMatch(/["'<>=\s`]/)
    }
  })

  test.each([
    ['a script', '<a href="$(a)">x</a>', { a: 'javascript:alert(1)' }, '<a href="">x</a>'],
    ['a script in capitals', '<a href=$(a)>x</a>', { a: ' JavaScript:alert(1)' }, '<a href=>x</a>'],
    ['a script with a tab', '<a HREF="$(a)">x</a>', { a: 'java\tscript:alert(1)' }, '<a HREF="">x</a>'],
    ['a script of two values', '<a href="$(a)$(b)">x</a>', { a: 'java', b: 'script:1' }, '<a href="">x</a>'],
    ['a script after the author’s word', '<a href="java$(a)">x</a>', { a: 'script:1' }, '<a href="">x</a>'],
    ['data', '<img src="$(a)">', { a: 'data:text/html,x' }, '<img src="">'],
    [
      'another host',
      '<a href="https://wiki.example$(a)">x</a>',
      { a: '@evil.example' },
      expect.not.stringMatching('@'),
    ],
    [
      'further words of a query',
      '<a href="https://w.example/?q=$(a)">x</a>',
      { a: 'a&b=c#d' },
      expect.not.stringMatching(/b=c|#d/),
    ],
  ])('makes no link to %s', async (_of, markup, values, expected) => {
    expect(await messageOf(markup, values)).toEqual(expected)
  })

  test('may be the address of a link, or a part of one', async () => {
    expect(await messageOf('<a href="$(a)">x</a>', { a: 'https://ok.example/a?b=c' })).toBe(
      '<a href="https://ok.example/a?b&#61;c">x</a>',
    )
    expect(await messageOf('<a href="https://wiki.example/$(a)">x</a>', { a: 'a/b' })).toBe(
      '<a href="https://wiki.example/a/b">x</a>',
    )
  })

  test.each([
    ['a script', '<script>$(a)</script>'],
    ['a handler', '<b onclick="$(a)">x</b>'],
    ['a style', '<b style="$(a)">x</b>'],
    ['a comment', '<!-- $(a) -->'],
    ['the name of an attribute', '<b $(a)>x</b>'],
  ])('is left out of %s', async (_of, markup) => {
    expect(await messageOf(markup, { a: 'b onload=alert(1)--><b>' })).not.toMatch('alert')
  })

  test('is no name of an element', async () => {
    for (const [a, b] of [
      ['b onload=alert(1)', ''],
      ['', 'b onload=alert(1)'],
      ['/b', 'x'],
    ])
      expect(await messageOf('5 <$(a)$(b)>', { a, b })).not.toMatch(/<[a-z/]/)
  })

  test('does not push out what the author wrote after it', async () => {
    const job = await launched('Why: $(a) <b>Only with a ticket</b>', { a: '<'.repeat(20_000) })
    expect(job.approval.message).toMatch(/<b>Only with a ticket<\/b>$/)
    expect(job.approval.message.length).toBeLessThanOrEqual(4000)
    expect(job.output).toContain('Only with a ticket')
  })

  test('is shown as it was typed where there is no markup: in the output and in the mail', async () => {
    const job = await launched('Why: $(a)', { a: EVIL, b: 'me\r\nBcc: eve@example.com' })
    expect(job.output).toContain(EVIL)
    const mail = await waitFor('the mail', () => mails.mails.find(({ text }) => text.includes(`Job ${job.id} `)))
    expect(mail.text).toContain('Why: ')
    expect(mail.text).not.toMatch(/^Bcc:/im)
  })
})
