import type { ComponentChildren } from 'preact'
import { useLocation } from 'preact-iso/router'
import { addressOf } from '../../live/address.js'
import { session } from '../../live/session.js'
import { PageTitle } from '../../parts/content.js'
import { adminWords } from '../../words/en-admin.js'

const LINKS = [
  { path: '/users', text: adminWords.users },
  { path: '/roles', text: adminWords.roles },
  { path: '/credentials', text: adminWords.credentials },
  { path: '/audit', text: adminWords.audit },
  { path: '/settings', text: adminWords.settings },
] as const

/** The frame around each page for admins: its name, and the links to the other ones. */
export function AdminFrame({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  const { path } = useLocation()
  const { value: who } = session
  const isAdmin = who.state === 'in' && who.user.roles.includes('admin')
  return (
    <>
      <PageTitle text={title} />
      {isAdmin && (
        <nav class="tabs" aria-label={adminWords.pages}>
          {LINKS.map((link) => (
            <a
              key={link.path}
              href={addressOf(link.path)}
              aria-current={path.startsWith(addressOf(link.path)) ? 'page' : undefined}
            >
              {link.text}
            </a>
          ))}
        </nav>
      )}
      {children}
    </>
  )
}
