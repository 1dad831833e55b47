import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { afterAll } from 'vitest'
import { agentFolder, python, supervisorPython } from './job-folder.js'

/**
 * Starts one Python for all tests of a file: each question is a line of JSON, and so is its answer. It ends with the file.
 * @param program defines `answer(question)`; it may import the agent's own modules
 * @param imports 'ansible' for a program that imports ansible's modules, too
 */
export function askPython(
  program: string,
  imports: 'nothing' | 'ansible' = 'nothing',
): (question: unknown) => Promise<unknown> {
  const whole = `
import json, signal as _signal, sys
sys.path.insert(0, sys.argv[1])
${program}
for _question in sys.stdin:
    # An answer that never comes is told as an error.
    _signal.alarm(60)
    print(json.dumps(answer(json.loads(_question))), flush=True)
    _signal.alarm(0)
`
  const [interpreter, options] = imports === 'ansible' ? [python, ['-I']] : [supervisorPython, ['-I', '-S']]
  const child = spawn(interpreter, [...options, '-c', whole, agentFolder], { stdio: ['pipe', 'pipe', 'pipe'] })
  let said = ''
  child.stderr.on('data', (text: Buffer) => (said += text.toString()))
  // One that has ended already cannot read: its answer says why.
  child.stdin.on('error', () => undefined)
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  afterAll(() => {
    child.kill('SIGKILL')
  })
  return async (question) => {
    child.stdin.write(`${JSON.stringify(question)}\n`)
    const line = await lines.next()
    if (line.done === true) throw new Error(`Python has ended: ${said}`)
    return JSON.parse(line.value) as unknown
  }
}
