import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { styleAfter } from '../../control-plane/web/src/log/ansi.js'

/** What the output view of the console rests on: it looks for the colour of a line only in the bytes shortly before it. */
const PLAYBOOK = `- name: Colours
  hosts: all
  gather_facts: false
  connection: local
  tasks:
    - {name: Many lines, ansible.builtin.debug: {msg: ["one", "two\\nthree"]}}
    - {name: Differ, ansible.builtin.copy: {content: "one\\ntwo\\n", dest: "{{ playbook_dir }}/made"}}
    - name: Fail with many lines
      ansible.builtin.raw: printf 'one\\ntwo\\n' >&2; false
      ignore_errors: true
    - {name: Skip, ansible.builtin.debug: {msg: never}, when: false}
    - {name: Warn, ansible.builtin.debug: {msg: "{{ query('ansible.builtin.fileglob', 'nothing*') }}"}}
    - name: Give up
      ansible.builtin.fail: {msg: "the last line\\nof several"}
`

test('ansible ends each of its colours on the line on which it began', () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-colours-'))
  try {
    writeFileSync(join(folder, 'play.yml'), PLAYBOOK)
    const args = ['-i', 'one,two,', '--diff', '-vv', join(folder, 'play.yml')]
    const environment = { ...process.env, ANSIBLE_FORCE_COLOR: '1', ANSIBLE_LOCAL_TEMP: folder, HOME: folder }
    for (const format of ['default', 'yaml']) {
      const { stdout, status } = spawnSync('ansible-playbook', args, {
        env: { ...environment, ANSIBLE_CALLBACK_RESULT_FORMAT: format === 'yaml' ? 'yaml' : 'json' },
      })
      expect(status).toBe(2)
      const lines = stdout.toString().split('\n')
      expect(lines.filter((line) => line.includes('\u001b[')).length).toBeGreaterThan(20)
      const open = lines.filter((line) => {
        const style = styleAfter(Buffer.from(line))
        return Object.values(style).some((value) => value !== null && value !== false)
      })
      expect(open).toEqual([])
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
