import type { Attention } from '@holdfast/client'
import { useLocation } from 'preact-iso/router'
import { useEffect, useState } from 'preact/hooks'
import { addressOf } from '../live/address.js'
import { useAnswer } from '../live/answer.js'
import { api } from '../live/api.js'
import { Icon, Mark } from '../parts/icon.js'
import { type MenuName, type Page, menuOf } from '../routes.js'
import { words } from '../words/en.js'
import { UserMenu } from './user-menu.js'

/** What waits for the person, as far as it is known. */
type Waiting = Partial<Attention>

/** Runners and forms are counted again within so many milliseconds after a change. Nobody waits for these numbers. */
const COUNT_SPREAD_MS = 5000

function useWaiting(isAdmin: boolean): Waiting {
  const { value: approvals } = useAnswer('approvals-count', ['jobs'], (signal) => api.getJobApprovals({}, { signal }))
  const { value: others } = useAnswer(
    `attention-${isAdmin}`,
    ['runners', 'designer'],
    async (signal): Promise<Waiting> => (isAdmin ? api.getAttention({}, { signal }) : {}),
    COUNT_SPREAD_MS,
  )
  return { ...others, approvals: approvals ?? 0 }
}

/** The bar with the sign of the product, the menu of all pages, and the menu of the person. */
export function SideBar({ username, isAdmin }: { readonly username: string; readonly isAdmin: boolean }) {
  const { path } = useLocation()
  const { value: looks } = useAnswer('appearance', ['appearance'], (signal) => api.getAppearance({}, { signal }))
  const waiting = useWaiting(isAdmin)
  // On a phone the pages for admins are behind a button.
  const [isOpen, setOpen] = useState(false)
  useEffect(() => setOpen(false), [path])
  const links = (menu: NonNullable<Page['menu']>) => (
    <ul>
      {menuOf(menu).map((page) => (
        <li key={page.name}>
          <MenuLink page={page} isHere={path.startsWith(addressOf(page.path))} waiting={waiting} />
        </li>
      ))}
    </ul>
  )
  return (
    <header class="side-bar">
      <a class="brand" href={addressOf('/')}>
        <Mark />
        <span>{looks && looks.name !== '' ? looks.name : words.product}</span>
      </a>
      {looks && looks.environment !== '' && <span class="badge warn environment">{looks.environment}</span>}
      <nav aria-label={words.nav.label} data-open={isOpen}>
        {links('work')}
        {isAdmin && (
          <>
            <button type="button" class="more-pages" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
              <Icon name="menu" />
              <span>{words.nav.more}</span>
            </button>
            <section aria-label={words.nav.administration}>
              <p class="soft">{words.nav.administration}</p>
              {links('administration')}
            </section>
          </>
        )}
      </nav>
      <UserMenu username={username} />
    </header>
  )
}

function MenuLink(props: {
  readonly page: Page & { readonly name: MenuName }
  readonly isHere: boolean
  readonly waiting: Waiting
}) {
  const { page, isHere, waiting } = props
  const waits = (page.waits ?? []).map((kind) => ({ kind, count: waiting[kind] ?? 0 })).filter(({ count }) => count > 0)
  return (
    <a href={addressOf(page.path)} aria-current={isHere ? 'page' : undefined}>
      <Icon name={page.name} />
      <span>{words.nav[page.name]}</span>
      {waits.length > 0 && (
        <span class="count" title={waits.map(({ kind, count }) => words.nav.waits[kind](count)).join(', ')}>
          <span aria-hidden="true">{waits.reduce((all, { count }) => all + count, 0)}</span>
          <span class="hidden"> {waits.map(({ kind, count }) => words.nav.waits[kind](count)).join(', ')}</span>
        </span>
      )}
    </a>
  )
}
