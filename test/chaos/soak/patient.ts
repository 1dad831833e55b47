import { setTimeout as pause } from 'node:timers/promises'
import type { Product } from '../../support/product.js'
import type { Answer } from '../../support/rest.js'

const AGAIN_MS = 100

/** A user who tries again: while the control plane is away, and while it says that it cannot just now (503). */
export async function patiently(
  product: Product,
  method: string,
  path: string,
  body: unknown,
  deadline: number,
): Promise<Answer> {
  for (;;) {
    try {
      const answer = await product.admin.request(method, path, body)
      if (answer.status !== 503 || Date.now() > deadline) return answer
    } catch (error) {
      if (Date.now() > deadline) throw error
    }
    await pause(AGAIN_MS)
  }
}
