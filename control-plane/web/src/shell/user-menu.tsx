import { RefusedError } from '@holdfast/client'
import { useLocation } from 'preact-iso/router'
import { useEffect, useRef } from 'preact/hooks'
import { told, useAction } from '../live/action.js'
import { addressOf } from '../live/address.js'
import { api } from '../live/api.js'
import { removeDrafts } from '../live/drafts.js'
import { tellOver } from '../live/live.js'
import { noteOver } from '../live/session.js'
import { Icon } from '../parts/icon.js'
import { ThemeSelect } from '../parts/theme-select.js'
import { words } from '../words/en.js'

/** What belongs to the person who is signed in: their account, the colours, the end of the session. */
export function UserMenu({ username }: { readonly username: string }) {
  const menu = useRef<HTMLDivElement>(null)
  const { url } = useLocation()
  useEffect(() => menu.current?.hidePopover(), [url])
  return (
    <div class="own">
      <button type="button" class="quiet" aria-label={words.nav.person(username)} popovertarget="user-menu">
        <Icon name="person" />
        <span>{username}</span>
      </button>
      <div ref={menu} id="user-menu" popover="auto" role="group" aria-label={words.nav.person(username)}>
        <strong>{username}</strong>
        <a href={addressOf('/me')}>{words.nav.me}</a>
        <label class="theme">
          {words.theme.label}
          <ThemeSelect />
        </label>
        <SignOut />
      </div>
    </div>
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
  // The menu has no room for an error.
  const tell = (error: Error) => {
    told.value = { kind: 'failed', error }
    return true
  }
  return (
    <button type="button" onClick={() => void go(signOut, null, tell)}>
      {words.signOut}
    </button>
  )
}
