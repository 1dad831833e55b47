import { mkdirSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { ADMIN_PASSWORD, ROOT, startProduct } from '../../support/product.js'
import { waitFor } from '../../support/wait.js'
import { newPerson, signInOn, startChromium } from '../kit/chromium.js'

/** Makes the pictures of the documents: the product with the forms of the demo, some jobs, and what a page shows then. */
const EXAMPLES = join(ROOT, 'control-plane/examples')
const IMAGES = join(ROOT, 'docs/images')
const SHOTS = [
  { name: 'console-jobs', path: '/jobs' },
  { name: 'console-job', path: '/jobs/2' },
] as const

const filesOf = (folder: string) =>
  Object.fromEntries(
    readdirSync(join(EXAMPLES, folder)).map((name) => [name, readFileSync(join(EXAMPLES, folder, name), 'utf8')]),
  )

const browser = await startChromium()
const product = await startProduct({
  config: readFileSync(join(EXAMPLES, 'config.yaml'), 'utf8'),
  forms: filesOf('forms'),
  workflows: filesOf('workflows'),
  playbookFolder: join(EXAMPLES, 'playbooks'),
  controlPlane: { LAUNCH_VALIDATION: 'enforce' },
  agent: { RTE_NAME: 'web-runner' },
})
try {
  const launches = [
    { formName: 'Hello world', rawFormData: { greeted: 'Ada' } },
    { formName: 'Check-up of the servers', rawFormData: {} },
    { formName: 'Staged release', rawFormData: { version: '1.2' } },
    { formName: 'Release', rawFormData: { version: '2.0', flaky: true } },
    { formName: 'Hello world', rawFormData: { greeted: 'Grace' } },
  ]
  for (const launch of launches) await product.admin.post('/job', launch)
  await waitFor('nothing to run any more', async () => {
    const { records } = await product.admin.get<{ records: { status: string; parent_id: number | null }[] }>('/job')
    const open = records.filter(({ status, parent_id: parent }) => status === 'running' && parent === null)
    return open.length === 0 && records.length > launches.length
  })
  const { page, close } = await newPerson(browser, product.address, { colorScheme: 'light' })
  await page.goto(`${product.address}/jobs`)
  await signInOn(page, 'admin', ADMIN_PASSWORD)
  mkdirSync(IMAGES, { recursive: true })
  for (const { name, path } of SHOTS) {
    await page.goto(product.address + path)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.getByText('Loading…').first().waitFor({ state: 'detached' })
    await page.evaluate('document.fonts.ready.then(() => new Promise((resolve) => setTimeout(resolve, 500)))')
    await page.screenshot({ path: join(IMAGES, `${name}.png`) })
  }
  await close()
} finally {
  await product.close()
  await browser.close()
}
