import { RefusedError, type SignInKinds } from '@holdfast/client'
import { useEffect, useState } from 'preact/hooks'
import { addressOf } from '../live/address.js'
import { useAction } from '../live/action.js'
import { api } from '../live/api.js'
import { readSession } from '../live/session.js'
import { Failure } from '../parts/failure.js'
import { words } from '../words/en.js'

/** Name and password, and the providers that are there. @property to the page to go on with, below the base URL */
export function SignInForm({ to, username }: { readonly to: string; readonly username?: string }) {
  const [kinds, setKinds] = useState<SignInKinds | null>(null)
  // This is the sign-in itself: it cannot wait for one.
  const { isBusy, error, go } = useAction((act) => act())
  const [wait, setWait] = useState(0)

  useEffect(() => {
    // Without the answer there is still the name and the password.
    api.getSignInKinds().then(setKinds, () => undefined)
  }, [])
  useEffect(() => {
    if (wait <= 0) return
    const timer = setTimeout(() => setWait(wait - 1), 1000)
    return () => clearTimeout(timer)
  }, [wait])

  function signIn(form: HTMLFormElement) {
    const data = new FormData(form)
    const act = async () => {
      // The password goes from its field into the request, and is kept nowhere else.
      await api.beginBrowserSession({
        body: { username: String(data.get('username')), password: String(data.get('password')) },
      })
      await readSession()
    }
    return go(act, null, (failure) => {
      if (failure instanceof RefusedError && failure.retryAfterSeconds !== null) setWait(failure.retryAfterSeconds)
      return false
    })
  }

  const begin = (kind: 'oidc' | 'azuread') =>
    `${kinds?.publicUrl ?? ''}${kinds?.publicUrl ? '' : addressOf('')}/api/v2/auth/${kind}?to=${encodeURIComponent(to)}`
  return (
    <form
      class="sign-in"
      onSubmit={(event) => {
        event.preventDefault()
        if (wait === 0) void signIn(event.currentTarget)
      }}
    >
      {username === undefined && <Announcement text={kinds?.announcement} />}
      {error && <Failure error={error} />}
      {wait > 0 && <p role="status">{words.signIn.wait(wait)}</p>}
      <label>
        {words.signIn.username}
        <input name="username" autocomplete="username" required defaultValue={username} />
      </label>
      <label>
        {words.signIn.password}
        <input
          name="password"
          type="password"
          autocomplete="current-password"
          required
          // The name is known: only the password is missing.
          autofocus={username !== undefined}
        />
      </label>
      {kinds?.ldapEnabled && <p class="soft">{words.signIn.directory}</p>}
      <button type="submit" class="main" aria-disabled={isBusy || wait > 0}>
        {words.signIn.submit}
      </button>
      {(kinds?.oidcEnabled || kinds?.azureAdEnabled) && <p class="soft or">{words.signIn.or}</p>}
      {kinds?.oidcEnabled && (
        <a class="button" href={begin('oidc')}>
          {words.signIn.oidc}
        </a>
      )}
      {kinds?.azureAdEnabled && (
        <a class="button" href={begin('azuread')}>
          {words.signIn.azuread}
        </a>
      )}
    </form>
  )
}

/** A form that lies over a page has none: the page itself shows it. */
function Announcement({ text }: { readonly text: string | undefined }) {
  return text ? <p class="notice info">{text}</p> : null
}
