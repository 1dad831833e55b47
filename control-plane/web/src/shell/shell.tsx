import type { ComponentChildren } from 'preact'
import { addressOf } from '../live/address.js'
import { connection, newerVersion } from '../live/live.js'
import { session } from '../live/session.js'
import { words } from '../words/en.js'

const LINKS = [
  { path: '/jobs', text: words.nav.jobs },
  { path: '/forms', text: words.nav.forms },
  { path: '/approvals', text: words.nav.approvals },
  { path: '/runners', text: words.nav.runners },
] as const

/** What is around every page: its head with the links, and the place of the page. */
export function Shell({ children }: { readonly children: ComponentChildren }) {
  return (
    <>
      <a class="skip" href="#content">
        {words.skip}
      </a>
      <header class="top">
        <a class="brand" href={addressOf('/jobs')}>
          {words.product}
        </a>
        <nav aria-label={words.nav.label}>
          {LINKS.map(({ path, text }) => (
            <a key={path} href={addressOf(path)}>
              {text}
            </a>
          ))}
        </nav>
      </header>
      <main id="content" tabIndex={-1} data-version={newerVersion.value} data-connection={connection.value.state}>
        {session.value.state === 'in' ? children : <p>{words.loading}</p>}
      </main>
    </>
  )
}
