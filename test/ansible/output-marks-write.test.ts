import { expect, test } from 'vitest'
import { askPython } from './python-lines.js'

/** What is in the output when marks were written between texts. */
const ask = askPython(`
import base64, os, tempfile
from holdfast_job import output_marks

def answer(question):
    with tempfile.TemporaryFile() as output:
        stdout = os.dup(1)
        os.dup2(output.fileno(), 1)
        try:
            marks = output_marks.OutputMarks()
            for part in question:
                if part == "worker":
                    child = os.fork()
                    if child == 0:
                        marks.write(7)
                        os._exit(0)
                    os.waitpid(child, 0)
                elif isinstance(part, int): marks.write(part)
                else: sys.stdout.write(part)
            sys.stdout.flush()
        finally:
            os.dup2(stdout, 1)
            os.close(stdout)
        output.seek(0)
        data = output.read()
    return [base64.b64encode(one).decode() for one in (data, output_marks.without_marks(data))]
`)

/** The output with the number of each mark in place of it, and the output as people see it. */
async function written(...parts: (string | number)[]): Promise<[string, string]> {
  const [all = '', seen = ''] = ((await ask(parts)) as string[]).map((text) =>
    Buffer.from(text, 'base64').toString('latin1'),
  )
  const heads = new Set<string>()
  const shown = all.replaceAll(/\x1b_([\x80-\xbf]{8})([\x80-\xbf]+)\x1b\\/g, (_, head: string, digits: string) => {
    heads.add(head)
    return `<${[...digits].reduce((number, digit) => number * 64 + (digit.charCodeAt(0) & 0x3f), 0)}>`
  })
  expect(heads.size).toBeLessThanOrEqual(1)
  return [shown, seen]
}

test('a mark stands after everything that was printed before, and nobody sees it', async () => {
  expect(await written('one', 1, 'two\n', 2, 3)).toEqual(['one<1>two\n<2><3>', 'onetwo\n'])
  expect(await written('no mark')).toEqual(['no mark', 'no mark'])
})

test('a mark tells its number', async () => {
  const numbers = [0, 1, 63, 64, 65, 4095, 4096, 262_144]
  expect((await written(...numbers))[0]).toBe(numbers.map((number) => `<${number}>`).join(''))
})

test('a worker of ansible writes no mark', async () => {
  expect(await written('a', 'worker', 'b', 1)).toEqual(['ab<1>', 'ab'])
})
