/** A word as people write it: small letters, capitals, or a capital at the beginning of each part. */
const WORD = '(?:[a-z]+|[A-Z]+|[A-Z]?[a-z]{2,}(?:[A-Z][a-z]{2,}){0,3}[A-Z]{0,4})'
const LABEL = '[a-z0-9_](?:[a-z0-9_-]{0,62})'
const PORT = '(?::[0-9]{1,5})?'

/** Values that hardly anybody keeps secret, and that ordinary output is full of. */
const PLAIN = [
  // One or two words, perhaps with a short number: production, service_account, us-east-1, application/json
  `${WORD}(?:[-_./ ]${WORD})?(?:[-_.]?[0-9]{1,6})?`,
  // Hosts, addresses, mail addresses
  `(?:[a-z0-9._-]{1,64}@)?(?:${LABEL}\\.){1,10}[a-z]{2,24}\\.?${PORT}`,
  `[a-z][a-z0-9-]{0,62}:[0-9]{1,5}`,
  `[0-9]{1,3}(?:\\.[0-9]{1,3}){3}(?:/[0-9]{1,2})?${PORT}`,
  `(?:[0-9a-fA-F]{0,4}:){2,7}[0-9a-fA-F]{0,4}`,
  // Paths, kinds of content
  `(?:~|\\.{1,2})?/[a-z0-9._/-]*`,
  `(?:~|\\.{1,2})?(?:/(?:[a-z0-9._-]+|[A-Z][A-Za-z]*)){1,20}/?`,
  `[A-Za-z]:\\\\[A-Za-z .\\\\_-]*`,
  `[a-z]{1,20}/[a-z.+-]{1,60}`,
  // Dates, times, versions
  `[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9:.]{5,15}(?:Z|[+-][0-9:]{4,6})?)?`,
  `v?[0-9]{1,5}(?:\\.[0-9]{1,5}){1,3}(?:[-+~][a-z0-9.]{1,12})?`,
]
const PLAIN_VALUE = new RegExp(`^(?:${PLAIN.join('|')})$`)
const MAX_PLAIN_LENGTH = 200

/** Words that say that there is no value, or how the value behind them is meant. */
const NOTHING = /^(?:true|false|null|none|nil|undefined|yes|no|on|off|basic|bearer|digest|token)$/i

const SECRET_KEY =
  /pass|pwd|(?:^|[^a-z])pw(?:$|[^a-z])|secret|token|key|credential|auth|private|signature|salt|cookie|session|(?:^|[^a-z])pin(?:$|[^a-z])/i
const HARMLESS_KEY =
  /(?:ur[il]|id|name|file|path|type|hosts?|port|user|version|algorithm|expir[a-z]*|ttl|age|length|size|policy|method|mode|enabled|required)$/i

/** Whether what stands under this key is a secret, as far as names tell: `db_password`, `api-key`; not `token_url`. */
export function isSecretKey(key: string): boolean {
  return SECRET_KEY.test(key) && !HARMLESS_KEY.test(key)
}

/** Whether a value says only that there is none, or yes or no, or what kind of value follows. */
export function isNothing(value: string): boolean {
  return NOTHING.test(value)
}

/** Whether a value looks like a name, host, path, date or version, which ordinary output is full of. */
export function isPlainValue(value: string): boolean {
  return value.length <= MAX_PLAIN_LENGTH && PLAIN_VALUE.test(value)
}
