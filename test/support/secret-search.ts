import { type Dirent, existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** Every form of a secret that must be found nowhere: plain, JSON, base64 and URL-encoded; a key also line by line. */
function formsOf(secret: string): string[] {
  const lines = secret.split('\n').filter((line) => line.length > 8 && !line.startsWith('-----'))
  const parts = lines.length > 1 ? [secret.trim(), ...lines] : [secret.trim()]
  return parts.flatMap((part) => {
    const base64 = Buffer.from(part).toString('base64').replace(/=+$/, '')
    const lastBitsShared = base64.slice(0, -1)
    return [
      part,
      JSON.stringify(part).slice(1, -1),
      lastBitsShared,
      lastBitsShared.replaceAll('+', '-').replaceAll('/', '_'),
      encodeURIComponent(part),
    ]
  })
}

/** Which secrets, by name, show in the bytes. */
export function secretsIn(bytes: Buffer | string, secrets: Readonly<Record<string, string>>): string[] {
  const buffer = Buffer.from(bytes as string)
  return Object.entries(secrets).flatMap(([name, secret]) =>
    formsOf(secret).some((form) => buffer.includes(form)) ? [name] : [],
  )
}

/** `file: secret` for each file below a folder that shows one; named pipes have no content to look at. */
export function secretsBelow(
  folder: string,
  secrets: Readonly<Record<string, string>>,
  leaveOut: (path: string) => boolean = () => false,
): string[] {
  return entriesOf(folder).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (leaveOut(path)) return []
    if (entry.isDirectory()) return secretsBelow(path, secrets, leaveOut)
    return entry.isFile() ? secretsIn(readIfThere(path), secrets).map((name) => `${path}: ${name}`) : []
  })
}

/** `pid what: secret` for each process whose command line or environment shows one. */
export function secretsInProcesses(secrets: Readonly<Record<string, string>>): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) =>
      ['cmdline', 'environ'].flatMap((what) =>
        secretsIn(readIfThere(join('/proc', pid, what)), secrets).map((name) => `${pid} ${what}: ${name}`),
      ),
    )
}

function entriesOf(folder: string): Dirent[] {
  return existsSync(folder) ? readdirSync(folder, { withFileTypes: true }) : []
}

/** What goes away meanwhile shows nothing. */
function readIfThere(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch {
    return Buffer.alloc(0)
  }
}
