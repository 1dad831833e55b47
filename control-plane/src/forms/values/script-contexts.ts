/** Words after which a slash begins a pattern, not a division. */
const BEFORE_PATTERN = /(?:^|[^\w$.])(?:return|typeof|case|in|of|do|else|void|delete|new|throw|instanceof|await)$/

/**
 * Tells, for each position of a JavaScript text, whether it is code, or inside a text, a pattern or a comment. It is a
 * lexer and not a parser. A slash may be a division or a pattern. It decides this from the word before, which is right
 * for all usual code. If it is wrong, this still does no harm.
 */
export function codePositions(script: string): (position: number) => boolean {
  const code = new Uint8Array(script.length)
  /** The depths of braces at which a `${` of a template ends, the innermost last. */
  const templates: number[] = []
  let depth = 0
  let at = 0

  /** Goes to the end of a text or template that began before `at`. */
  function skipQuoted(quote: string): void {
    while (at < script.length) {
      const char = script[at]
      if (char === '\\') {
        at += 2
        continue
      }
      at += 1
      if (char === quote) return
      if (quote === '`' && char === '$' && script[at] === '{') {
        code[at] = 1
        at += 1
        templates.push(depth)
        depth += 1
        return
      }
    }
  }

  function skipPattern(): void {
    let inClass = false
    while (at < script.length) {
      const char = script[at]
      if (char === '\\') at += 1
      else if (char === '[') inClass = true
      else if (char === ']') inClass = false
      else if (char === '/' && !inClass) {
        at += 1
        return
      }
      at += 1
    }
  }

  while (at < script.length) {
    const char = script[at] ?? ''
    const next = script[at + 1]
    if (char === '/' && next === '/') {
      const end = script.indexOf('\n', at)
      at = end < 0 ? script.length : end
    } else if (char === '/' && next === '*') {
      const end = script.indexOf('*/', at + 2)
      at = end < 0 ? script.length : end + 2
    } else if (char === '/' && beginsPattern(script.slice(0, at))) {
      at += 1
      skipPattern()
    } else if (char === '"' || char === "'" || char === '`') {
      at += 1
      skipQuoted(char)
    } else {
      code[at] = 1
      at += 1
      if (char === '{') depth += 1
      if (char !== '}') continue
      depth -= 1
      if (templates.at(-1) !== depth) continue
      templates.pop()
      skipQuoted('`')
    }
  }
  return (position) => code[position] === 1
}

function beginsPattern(before: string): boolean {
  const text = before.trimEnd()
  return text === '' || !/[\w$)\]}"'`]$/.test(text) || BEFORE_PATTERN.test(text)
}
