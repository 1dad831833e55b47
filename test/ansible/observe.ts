import { createHash } from 'node:crypto'
import { open, readFile, readdir, stat } from 'node:fs/promises'

/** Length and SHA-256 of a file, read in pieces. */
export async function measure(path: string): Promise<{ length: number; sha256: string }> {
  const hash = createHash('sha256')
  const file = await open(path)
  try {
    for await (const piece of file.createReadStream({ autoClose: false })) hash.update(piece as Buffer)
    return { length: (await file.stat()).size, sha256: hash.digest('hex') }
  } finally {
    await file.close()
  }
}

/** Living processes that carry the job's marker. */
export async function processesOf(marker: string): Promise<number[]> {
  const found: number[] = []
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const environment = await readFile(`/proc/${name}/environ`, 'utf8').catch(() => '')
    if (environment.includes(`HOLDFAST_JOB_MARKER=${marker}\0`)) found.push(Number(name))
  }
  return found
}

/** Living processes that have a path in their command line, the oldest first. */
export async function processesNaming(path: string): Promise<number[]> {
  const found: number[] = []
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const command = await readFile(`/proc/${name}/cmdline`, 'utf8').catch(() => '')
    if (command.split('\0').includes(path)) found.push(Number(name))
  }
  return found.sort((one, other) => one - other)
}

export async function isAlive(pid: number): Promise<boolean> {
  const text = await readFile(`/proc/${String(pid)}/stat`, 'utf8').catch(() => '')
  return text !== '' && !/\) [ZX] /.test(text)
}

export function tryKill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // it has ended already
  }
}

/** Waits until something is true; says what it waited for when it never is. */
export async function until(what: string, condition: () => Promise<boolean>): Promise<void> {
  const giveUp = Date.now() + 60_000
  while (!(await condition())) {
    if (Date.now() > giveUp) throw new Error(`waited a minute for this: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

export async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}

export async function fileSays(path: string, text: string): Promise<boolean> {
  return (await readFile(path, 'utf8').catch(() => '')).includes(text)
}
