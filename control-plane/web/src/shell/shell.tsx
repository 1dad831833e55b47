import { RefusedError } from '@holdfast/client'
import type { ComponentChildren } from 'preact'
import { useLocation } from 'preact-iso/router'
import { useEffect } from 'preact/hooks'
import { addressOf, BASE } from '../live/address.js'
import { useAnswer } from '../live/answer.js'
import { api } from '../live/api.js'
import { told, useAction } from '../live/action.js'
import { removeDrafts } from '../live/drafts.js'
import { connection, newerVersion, tellOver } from '../live/live.js'
import { noteOver, session } from '../live/session.js'
import { PageTitle } from '../parts/content.js'
import { Dialog } from '../parts/dialog.js'
import { Failure } from '../parts/failure.js'
import { ThemeSelect } from '../parts/theme-select.js'
import { timeText } from '../parts/time.js'
import { userName } from '../parts/user-name.js'
import { words } from '../words/en.js'
import { isBusy } from './busy.js'
import { SignInForm } from './sign-in-form.js'

const LINKS = [
  { path: '/jobs', text: words.nav.jobs },
  { path: '/forms', text: words.nav.forms },
  { path: '/approvals', text: words.nav.approvals },
] as const
/** What only admins see, and the pages that belong to it. */
const RUNNERS = { path: '/runners', text: words.nav.runners } as const

/** The pages for admins, which have a list of their own. */
const ADMIN_PATHS = ['/users', '/roles', '/credentials', '/audit', '/settings'] as const

/** When the stream has been away for so long, the page says so. In milliseconds. */
const PATIENCE_MS = 5000

/** All tabs of all people hear of a new release at once. They load the page again within so many milliseconds. */
const SPREAD_MS = 3000

/** The frame around every page: its header, messages about the connection, and the sign-in. */
export function Shell({ children }: { readonly children: ComponentChildren }) {
  const state = session.value
  if (state.state === 'unknown') return null
  if (state.state === 'unreachable') {
    return (
      <main id="content" class="alone">
        <Failure error={state.error} retry={() => location.reload()} />
      </main>
    )
  }
  if (state.state === 'out') return <SignIn />
  return (
    <>
      <a class="skip" href="#content">
        {words.skip}
      </a>
      <Head
        username={userName(state.user.username, state.user.type)}
        isAdmin={state.user.roles.includes('admin') && !state.user.passwordMustChange}
      />
      <Notices />
      <Receipt />
      <main id="content" tabIndex={-1}>
        {children}
      </main>
      {state.state === 'over' && (
        <Dialog title={words.signIn.over} mustAnswer onClose={() => undefined}>
          <p>{words.signIn.overText}</p>
          <SignInForm to={here()} username={state.user.username} />
        </Dialog>
      )}
    </>
  )
}

/**
 * The page for somebody who is not signed in, at every address. After the sign-in they see the page of that address.
 */
function SignIn() {
  const query = new URLSearchParams(location.search)
  const to = location.pathname === addressOf('/sign-in') ? (query.get('to') ?? '/jobs') : here()
  return (
    <main id="content" class="alone">
      <p class="brand">{words.product}</p>
      <div class="card">
        <PageTitle text={words.signIn.title} />
        {query.has('refused') && (
          <p class="notice bad" role="alert">
            {words.signIn.refused}
          </p>
        )}
        <SignInForm to={to} />
      </div>
    </main>
  )
}

function here(): string {
  return location.pathname.slice(BASE.length) + location.search + location.hash
}

function Head({ username, isAdmin }: { readonly username: string; readonly isAdmin: boolean }) {
  const { path } = useLocation()
  const waiting = useAnswer('approvals-count', ['jobs'], (signal) => api.getJobApprovals({}, { signal }))
  const { value: looks } = useAnswer('appearance', ['appearance'], (signal) => api.getAppearance({}, { signal }))
  const count = waiting.value ?? 0
  return (
    <>
      <header class="top">
        <a class="brand" href={addressOf('/jobs')}>
          {looks && looks.name !== '' ? looks.name : words.product}
        </a>
        {looks && looks.environment !== '' && <span class="badge warn">{looks.environment}</span>}
        <nav aria-label={words.nav.label}>
          {[...LINKS, ...(isAdmin ? [RUNNERS] : [])].map((link) => (
            <a
              key={link.path}
              href={addressOf(link.path)}
              aria-current={path.startsWith(addressOf(link.path)) ? 'page' : undefined}
            >
              {link.text}
              {link.path === '/approvals' && count > 0 && (
                <span class="count">
                  <span aria-hidden="true">{count}</span>
                  <span class="hidden"> {words.nav.waiting(count)}</span>
                </span>
              )}
            </a>
          ))}
          {isAdmin && (
            <a
              href={addressOf(ADMIN_PATHS[0])}
              aria-current={ADMIN_PATHS.some((one) => path.startsWith(addressOf(one))) ? 'page' : undefined}
            >
              {words.nav.admin}
            </a>
          )}
        </nav>
        <div class="own">
          <label class="theme">
            <span class="hidden">{words.theme.label}</span>
            <ThemeSelect />
          </label>
          <a href={addressOf('/me')} title={words.nav.me}>
            {username}
          </a>
          <SignOut />
        </div>
      </header>
      {looks && looks.announcement !== '' && (
        <aside aria-label={words.announcement}>
          <p class="notice info announcement">{looks.announcement}</p>
        </aside>
      )}
    </>
  )
}

function SignOut() {
  const { go } = useAction((act) => act())
  const signOut = async () => {
    const ended = await api.endBrowserSession().catch((error: Error) => {
      // Nobody is signed in any more, which is what was wanted.
      if (error instanceof RefusedError && error.status === 401) return null
      throw error
    })
    removeDrafts()
    tellOver()
    noteOver()
    location.assign(ended?.logoutUrl ?? addressOf('/sign-in'))
  }
  // The header has no room for an error.
  const tell = (error: Error) => {
    told.value = { kind: 'failed', error }
    return true
  }
  return (
    <button type="button" class="quiet" onClick={() => void go(signOut, null, tell)}>
      {words.signOut}
    </button>
  )
}

/** Messages about the connection and the release, in a place where nothing else moves. */
function Notices() {
  const { value } = connection
  const newer = newerVersion.value
  const { url } = useLocation()
  useEffect(() => {
    if (newer === null) return
    const timer = setTimeout(() => {
      if (!isBusy()) location.reload()
    }, Math.random() * SPREAD_MS)
    return () => clearTimeout(timer)
  }, [newer, url])
  useEffect(() => {
    if (value.state !== 'lost') return
    const timer = setTimeout(() => (connection.value = { ...value, isSaid: true }), PATIENCE_MS)
    return () => clearTimeout(timer)
  }, [value])
  return (
    <div class="notices" role="status">
      {value.state === 'lost' && value.isSaid && <p class="notice warn">{words.offline(timeText(value.since))}</p>}
      {newer !== null && (
        <p class="notice info">
          {words.newer(newer)}{' '}
          <button type="button" onClick={() => location.reload()}>
            {words.reload}
          </button>
        </p>
      )}
    </div>
  )
}

/** A receipt goes away by itself after so many milliseconds. An error stays until somebody has read it. */
const RECEIPT_MS = 8000

/** What became of the newest action, when the place where it was asked for does not say it. */
function Receipt() {
  const { value } = told
  useEffect(() => {
    if (value?.kind !== 'done') return
    const timer = setTimeout(() => (told.value = null), RECEIPT_MS)
    return () => clearTimeout(timer)
  }, [value])
  return (
    <div class="receipt" role="status">
      {value && (
        <div class="notice">
          {value.kind === 'done' ? <p class="ok">{value.text}</p> : <Failure error={value.error} />}
          <button type="button" class="quiet" onClick={() => (told.value = null)}>
            {words.close}
          </button>
        </div>
      )}
    </div>
  )
}
