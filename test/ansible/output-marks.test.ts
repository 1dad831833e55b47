import { execa } from 'execa'
import { expect, test } from 'vitest'
import { agentFolder, supervisorPython } from './job-folder.js'

/**
 * Asks `ends_line` about texts. In them `*` stands for a mark, `!` for what only looks like the end of one.
 * @param before whether people saw the output at the beginning of a line before the text
 */
async function endsLine(texts: readonly string[], before: boolean): Promise<Record<string, boolean>> {
  const script = [
    'import json, sys',
    'sys.path.insert(0, sys.argv[1])',
    'from holdfast_job.output_marks import ends_line',
    'mark = b"\\x1b_" + b"\\x80" * 8 + b"\\x85" + b"\\x1b\\\\"',
    'asked = json.load(sys.stdin)',
    'data = lambda text: text.encode().replace(b"*", mark).replace(b"!", b"\\x1b\\\\")',
    'print(json.dumps({text: ends_line(data(text), asked["before"]) for text in asked["texts"]}))',
  ]
  const input = JSON.stringify({ texts, before })
  const { stdout } = await execa(supervisorPython, ['-I', '-S', '-c', script.join('\n'), agentFolder], { input })
  return JSON.parse(stdout) as Record<string, boolean>
}

test.each([true, false])(
  'marks do not change whether people see the beginning of a line (%s before)',
  async (before) => {
    // Where a text is nothing but marks, people still see what they saw before.
    const expected = { '': before, '*': before, '**': before, 'a\n': true, 'a\n*': true, 'a\n**': true, a: false }
    const others = { 'a*': false, '*a': false, '*\n': true, '*\n*': true, '\n!': false, '!': false, '*!': false }
    const all = { ...expected, ...others }
    expect(await endsLine(Object.keys(all), before)).toEqual(all)
  },
)
