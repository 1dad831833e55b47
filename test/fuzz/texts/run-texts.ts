import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const PROGRAM = join(import.meta.dirname, 'program.ts')
/** Memory for objects of the process that reads: one text that takes more ends it. */
const HEAP_MB = 1024
/** Nothing may take so long, on any machine. */
const STUCK_MS = 120_000
const LOOK_EVERY_MS = 1000

/** What came of the texts: how many of each door and end, and which took longest. */
export interface TextsRead {
  readonly came: Readonly<Record<string, number>>
  readonly slowest: { readonly ms: number; readonly number: number }
  readonly peakMb: number
}

/** Reads the texts of some numbers in a process of its own. @throws Error when one of them ended it, or was read wrongly */
export async function readTexts(seed: number, from: number, to: number): Promise<TextsRead> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-texts-'))
  const file = join(folder, 'number')
  const given = [
    `--max-old-space-size=${HEAP_MB}`,
    '--import',
    'tsx',
    PROGRAM,
    String(seed),
    String(from),
    String(to),
    file,
  ]
  const child = spawn(process.execPath, given, { stdio: ['ignore', 'pipe', 'pipe'] })
  let [out, said] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-20_000)))
  let [last, since, isStuck] = ['', Date.now(), false]
  const watch = setInterval(() => {
    const now = numberIn(file)
    if (now !== last) [last, since] = [now, Date.now()]
    else if (Date.now() - since > STUCK_MS) {
      isStuck = true
      child.kill('SIGKILL')
    }
  }, LOOK_EVERY_MS)
  try {
    const [code, signal] = (await once(child, 'close')) as [number | null, string | null]
    if (code === 0) return JSON.parse(out) as TextsRead
    const why = isStuck ? `took longer than ${STUCK_MS / 1000} s` : `ended the process (${signal ?? `code ${code}`})`
    const number = numberIn(file)
    throw new Error(
      `text ${number} ${why}\n${said}\nthe same again: ./scripts/fuzz --seed ${seed} --texts 1 --from ${number}`,
    )
  } finally {
    clearInterval(watch)
    rmSync(folder, { recursive: true, force: true })
  }
}

function numberIn(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return ''
  }
}
