import { timingSafeEqual } from 'node:crypto'
import { UnauthenticatedError } from '../../errors.js'
import type { Store } from '../../store/store.js'
import { type StoredUser, findUser } from '../../store/accounts/users.js'
import type { FlowCookies, ConsentQuestion } from '../openid/flow-cookie.js'
import type { FlowClient } from '../openid/open-id.js'
import { randomId } from '../sessions/tokens.js'

/** A question as it is shown. */
export interface AskedQuestion {
  readonly user: StoredUser
  readonly question: ConsentQuestion
}

/**
 * The question whether a program that opened the browser may be signed in. An attacker may send a user a link that
 * begins a sign-in, and a provider that knows the user asks nothing. So the user is asked here, once, before the
 * program gets its code. The question is in a cookie of the browser. The answer only counts together with the ticket
 * that is in the page.
 */
export type Questions = ReturnType<typeof createQuestions>

/** Makes the question whether a program may use the account of a user. */
export function createQuestions({ store, cookies }: { readonly store: Store; readonly cookies: FlowCookies }) {
  /** @throws UnauthenticatedError when there is no question (any more), or when its account is gone */
  async function read(cookie: string | undefined): Promise<AskedQuestion> {
    const question = cookie === undefined ? null : await cookies.openQuestion(cookie)
    const user = question && (await findUser(store.read, question.userId))
    if (question && user?.enabled) return { question, user }
    throw new UnauthenticatedError(
      'sign_in_not_begun',
      'This browser began no sign-in, or too long ago; begin it again',
    )
  }

  return {
    /** @returns the value of the cookie */
    ask: (user: StoredUser, { redirect, challenge, machine }: FlowClient): Promise<string> =>
      cookies.sealQuestion({ userId: user.id, redirect, challenge, machine, ticket: randomId() }),
    read,
    /** The same, for an answer. @throws UnauthenticatedError also when the ticket is wrong */
    async answered(cookie: string | undefined, ticket: string): Promise<AskedQuestion> {
      const asked = await read(cookie)
      const [given, own] = [Buffer.from(ticket), Buffer.from(asked.question.ticket)]
      if (given.length === own.length && timingSafeEqual(given, own)) return asked
      throw new UnauthenticatedError('sign_in_refused', 'The answer does not come from the page with the question')
    },
  }
}
