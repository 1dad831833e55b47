import { useLayoutEffect, useRef } from 'preact/hooks'
import { trusted } from '../live/trusted.js'

/** Elements that a text of a form may have. What is not here becomes its text. */
const ALLOWED = new Set(
  'A ABBR B BLOCKQUOTE BR CODE DD DEL DIV DL DT EM H3 H4 H5 H6 HR I INS KBD LI OL P PRE S SMALL SPAN STRONG SUB SUP TABLE TBODY TD TH THEAD TR U UL'.split(
    ' ',
  ),
)
/** Elements whose text is not for people. */
const DROPPED = new Set('SCRIPT STYLE TEMPLATE IFRAME OBJECT EMBED NOSCRIPT SVG MATH TITLE HEAD'.split(' '))

/**
 * A text with markup from a form or an approval. It is parsed into a document in which nothing runs or loads, and rebuilt
 * element by element: only those of a list, without attributes, but for links to http and https.
 */
export function SafeHtml({ html }: { readonly html: string }) {
  const place = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    const parsed = new DOMParser().parseFromString(trusted.createHTML(html), 'text/html')
    place.current?.replaceChildren(...rebuilt(parsed.body))
  }, [html])
  return <div class="prose" ref={place} />
}

function rebuilt(parent: Node): Node[] {
  return [...parent.childNodes].flatMap((node): Node[] => {
    if (node.nodeType === Node.TEXT_NODE) return [document.createTextNode(node.textContent ?? '')]
    if (!(node instanceof Element) || DROPPED.has(node.tagName.toUpperCase())) return []
    const children = rebuilt(node)
    if (!ALLOWED.has(node.tagName)) return children
    const element = document.createElement(node.tagName)
    if (element instanceof HTMLAnchorElement) setLink(element, node.getAttribute('href') ?? '')
    element.append(...children)
    return [element]
  })
}

function setLink(link: HTMLAnchorElement, address: string) {
  if (!/^https?:\/\//i.test(address)) return
  link.href = address
  link.rel = 'noopener noreferrer'
  link.target = '_blank'
}
