import type { ComponentChildren } from 'preact'
import { addressOf, BASE } from '../live/address.js'
import { session } from '../live/session.js'
import { PageTitle } from '../parts/content.js'
import { Dialog } from '../parts/dialog.js'
import { Failure } from '../parts/failure.js'
import { Mark } from '../parts/icon.js'
import { userName } from '../parts/user-name.js'
import { words } from '../words/en.js'
import { Announcement, Notices, Receipt } from './messages.js'
import { ShellKeys } from './shell-keys.js'
import { SideBar } from './side-bar.js'
import { SignInForm } from './sign-in-form.js'

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
      <SideBar
        username={userName(state.user.username, state.user.type)}
        isAdmin={state.user.roles.includes('admin') && !state.user.passwordMustChange}
      />
      <div class="page">
        <Announcement />
        <Notices />
        <main id="content" tabIndex={-1}>
          {children}
        </main>
      </div>
      <Receipt />
      <ShellKeys />
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
  const to = location.pathname === addressOf('/sign-in') ? (query.get('to') ?? '/') : here()
  return (
    <main id="content" class="alone">
      <p class="brand">
        <Mark />
        {words.product}
      </p>
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
