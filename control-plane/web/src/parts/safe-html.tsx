import { useLayoutEffect, useRef } from 'preact/hooks'

/** Elements that a text of a form may have. Of others only the text stays. */
const ALLOWED = new Set(
  'a abbr b blockquote br code dd del div dl dt em h3 h4 h5 h6 hr i ins kbd li ol p pre s small span strong sub sup table tbody td th thead tr u ul'.split(
    ' ',
  ),
)
/** Elements whose text people should not see. */
const DROPPED = new Set('script style template iframe object embed noscript svg math title head'.split(' '))
/** How deep elements may be nested. Deeper ones are left out, and their text stays: the browser lays out each level in the one above. */
const MAX_DEPTH = 50
const WITHOUT_END = new Set(['br', 'hr'])
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0' }

/** A comment, or a tag: its slash, its name, its attributes. */
const MARKUP = /<!--[\s\S]*?(?:-->|$)|<(\/?)([a-zA-Z][a-zA-Z0-9]*)((?:[^<>"']|"[^"]*"|'[^']*')*)>/g

/**
 * A text with markup from a form or an approval. It is read by us and never by the browser's parser, so nothing of it can
 * run or load: only the elements of a list are made, without attributes, but for links to http and https.
 */
export function SafeHtml({ html }: { readonly html: string }) {
  const place = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => place.current?.replaceChildren(built(html)), [html])
  return <div class="prose" ref={place} />
}

function built(html: string): DocumentFragment {
  const root = document.createDocumentFragment()
  const open: { readonly name: string; readonly element: Node }[] = []
  const parent = () => open.at(-1)?.element ?? root
  /** The element whose text is dropped until it ends; null: none. */
  let dropped: string | null = null
  let read = 0
  const addText = (until: number) => {
    if (dropped === null && until > read)
      parent().appendChild(document.createTextNode(decoded(html.slice(read, until))))
  }

  for (const { index, 0: markup, 1: slash, 2: tag, 3: attributes = '' } of html.matchAll(MARKUP)) {
    addText(index)
    read = index + markup.length
    const name = tag?.toLowerCase()
    if (name === undefined) continue
    if (dropped !== null || DROPPED.has(name)) {
      if (dropped === null && slash === '') dropped = name
      else if (dropped === name && slash === '/') dropped = null
    } else if (!ALLOWED.has(name)) continue
    else if (slash === '/') {
      const at = open.findLastIndex((one) => one.name === name)
      if (at !== -1) open.length = at
    } else if (open.length < MAX_DEPTH) {
      const element = document.createElement(name)
      if (element instanceof HTMLAnchorElement) setLink(element, attributes)
      parent().appendChild(element)
      if (!WITHOUT_END.has(name)) open.push({ name, element })
    }
  }
  addText(html.length)
  return root
}

function setLink(link: HTMLAnchorElement, attributes: string) {
  const [, value = ''] = /\bhref\s*=\s*("[^"]*|'[^']*|[^\s"'>]+)/i.exec(attributes) ?? []
  const address = decoded(value.replace(/^["']/, ''))
  if (!/^https?:\/\//i.test(address)) return
  link.href = address
  link.rel = 'noopener noreferrer'
  link.target = '_blank'
}

function decoded(text: string): string {
  return text.replace(
    /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(\w{2,6}));/gi,
    (whole, decimal, hex, name: string | undefined) => {
      if (name !== undefined) return ENTITIES[name.toLowerCase()] ?? whole
      const code = decimal === undefined ? Number.parseInt(String(hex), 16) : Number(decimal)
      return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole
    },
  )
}
