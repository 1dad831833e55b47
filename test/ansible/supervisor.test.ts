import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { expect, onTestFinished, test } from 'vitest'
import { agentFolder, supervisorPython } from './job-folder.js'

/** Runs supervisor.py beside another holdfast_job, whose `start` is this text. */
async function supervised(start: string, ...args: string[]) {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-supervisor-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await copyFile(join(agentFolder, 'supervisor.py'), join(folder, 'supervisor.py'))
  await mkdir(join(folder, 'holdfast_job'))
  await writeFile(join(folder, 'holdfast_job/__init__.py'), '')
  await writeFile(join(folder, 'holdfast_job/start.py'), start)
  const argv = ['-I', '-S', join(folder, 'supervisor.py'), ...args]
  const { exitCode, stdout, stderr } = await execa(supervisorPython, argv, { reject: false, cwd: '/' })
  return { exitCode, stdout, stderr }
}

test('the supervisor ends with the code of its work, at once and without more words', async () => {
  const start = `import atexit, os
atexit.register(lambda: os.write(1, b"too late"))
def main(arguments):
    os.write(1, " ".join(arguments[1:]).encode())
    return 5
`
  expect(await supervised(start, 'one', 'two')).toEqual({ exitCode: 5, stdout: 'one two', stderr: '' })
})

test('the supervisor says when its code cannot be read, with the code that says that nothing was started', async () => {
  const said = 'holdfast supervisor: its code could not be read: no more files, so nothing was started'
  const start = 'raise OSError("no more files")\n'
  expect(await supervised(start)).toEqual({ exitCode: 18, stdout: '', stderr: said })
})

test('the supervisor shows a fault of its own, with a code of its own', async () => {
  const { exitCode, stderr } = await supervised('def main(arguments): raise KeyError("a fault")\n')
  expect(exitCode).toBe(70)
  expect(stderr).toMatch(/^Traceback.*in main.*KeyError: 'a fault'$/s)
})
