import type { Browser, Page } from 'playwright-core'
import { ADMIN_PASSWORD, type Product, startProduct } from '../../support/product.js'
import { ScriptedRunner } from '../../support/scripted-runner.js'
import { type Person, newPerson, signInOn, startChromium } from './chromium.js'

/** One product, and a browser in which the first admin is signed in. */
export interface Scene {
  readonly product: Product
  readonly browser: Browser
  readonly admin: Person
  readonly page: Page
  close(): Promise<void>
}

export interface SceneOptions extends NonNullable<Parameters<typeof startProduct>[0]> {
  /** Of the browser of the admin. */
  readonly browserSettings?: object
  /** Who must be there before, with the groups of each. */
  readonly users?: Readonly<Record<string, readonly string[]>>
}

export async function startScene({ browserSettings, users = {}, ...options }: SceneOptions): Promise<Scene> {
  const [browser, product] = await Promise.all([startChromium(), startProduct(options)])
  for (const [username, groups] of Object.entries(users))
    await product.admin.post('/user', { username, password: ADMIN_PASSWORD, groups })
  const admin = await newPerson(browser, product.address, browserSettings)
  await admin.page.goto(`${product.address}/jobs`)
  await signInOn(admin.page, 'admin', ADMIN_PASSWORD)
  return {
    product,
    browser,
    admin,
    page: admin.page,
    async close() {
      await browser.close()
      await product.close()
    },
  }
}

/** The same with a runner whose playbooks are scripted, in the place of a real agent. */
export async function startScriptedScene(options: SceneOptions): Promise<Scene & { readonly runner: ScriptedRunner }> {
  const scene = await startScene({ withAgent: false, ...options })
  const runner = await ScriptedRunner.join(scene.product, 'scripted')
  return {
    ...scene,
    runner,
    async close() {
      await runner.leave()
      await scene.close()
    },
  }
}
