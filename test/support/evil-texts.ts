import fc from 'fast-check'

/** What people try who want to break out of a text in a query. */
export const EVIL_PAYLOADS = [
  "' or '1'='1",
  "' or 1=1 -- ",
  '" or ""="',
  "'; drop table vm; --",
  "\\'; drop table vm; -- ",
  "\\' or 1=1 #",
  "') or ('a'='a",
  "' union select name from vm -- ",
  '/*!50000 or 1=1*/',
  "'||(select name from vm limit 1)||'",
  "' and sleep(5) and '",
  "'; select pg_sleep(5); --",
  '$$; drop table vm; $$',
  "¿'; -- ",
  '%bf%27 or 1=1',
  '1; drop table vm',
  '` from vm; -- ',
]
/** What such texts are made of. */
export const EVIL_PIECES = [
  "'",
  "''",
  '\\',
  '"',
  '`',
  '$1',
  '?',
  '-- ',
  '#',
  '/*',
  '*/',
  ';',
  '%',
  '$$',
  '$(x)',
  '\n',
  '\r',
  'é',
  '🙂',
  'or',
]
/** Any text that somebody may type, and often one that tries to break out. */
export const evilText = fc.oneof(
  fc.constantFrom(...EVIL_PAYLOADS),
  fc
    .array(fc.oneof(fc.constantFrom(...EVIL_PIECES), fc.constantFrom(...EVIL_PAYLOADS)), { maxLength: 8 })
    .map((all) => all.join('')),
  fc.string({ unit: 'grapheme', maxLength: 40 }).map((text) => text.replaceAll('\0', '')),
)
