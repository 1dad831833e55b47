import { createJsonBounds } from '../../control-plane/src/texts/json-bounds.js'

const MIB = 1024 * 1024

/** Most bytes of a launch (API_BODY_LIMIT_MB as it is by default), of any other body, and of one without a token. */
export const LARGEST = { launch: 2 * MIB, other: MIB / 2, stranger: 16 * 1024 } as const

/** Room that the body around a value takes. */
const AROUND = 200

/** Values that are as large as a body may be, as JSON text. Each is of the kind that its name says. */
export const LARGEST_VALUES: Readonly<Record<string, (bytes: number) => string>> = {
  'one text': (bytes) => `"${'x'.repeat(bytes - AROUND)}"`,
  'one text of escapes': (bytes) => `"${'\\u00e4'.repeat((bytes - AROUND) / 6)}"`,
  numbers: (bytes) => `[${mostParts(bytes, () => '1')}]`,
  names: (bytes) => `{${mostParts(bytes, (at) => `"k${at}":1`)}}`,
  objects: (bytes) => `[${mostParts(bytes, (at) => `{"k${at}":{}}`)}]`,
  texts: (bytes) => `[${mostParts(bytes, () => `"${'x'.repeat(30)}"`)}]`,
  // Too many values: refused before anything is made of them.
  'too many values': (bytes) => `[${'[],'.repeat((bytes - AROUND) / 3)}1]`,
}

/** Texts of YAML, as JSON texts, that are as large as a body may be. The first ones have as many values as YAML may have. */
export const LARGEST_YAML: Readonly<Record<string, (bytes: number) => string>> = {
  'YAML of values': () => JSON.stringify(`[${'1,'.repeat(49_000)}1]`),
  'YAML of names': () => JSON.stringify(Array.from({ length: 24_000 }, (_, at) => `k${at}: v`).join('\n')),
  'YAML of one text': (bytes) => JSON.stringify(`|\n${' x'.repeat((bytes - AROUND) / 2)}`),
  'YAML of too many values': (bytes) => JSON.stringify(`[${'1,'.repeat((bytes - AROUND) / 2)}1]`),
  'YAML of brackets': (bytes) => JSON.stringify('['.repeat(bytes - AROUND)),
  'YAML of empty lines': (bytes) => `"${'\\n'.repeat((bytes - AROUND) / 2)}"`,
}

/** As many parts as both bounds allow: the bytes, and what the service counts of values and names. */
function mostParts(bytes: number, part: (at: number) => string): string {
  // The values around them count, too.
  const bounds = createJsonBounds()
  bounds.take(Buffer.from('[1,1,1,1,1,1,1,1,1,1'))
  const parts: string[] = []
  let left = bytes - AROUND
  for (;;) {
    const next = part(parts.length)
    left -= next.length + 1
    if (left < 0 || !fits(bounds, `,${next}`)) return parts.join()
    parts.push(next)
  }
}

function fits(bounds: ReturnType<typeof createJsonBounds>, text: string): boolean {
  try {
    bounds.take(Buffer.from(text))
    return true
  } catch {
    return false
  }
}
