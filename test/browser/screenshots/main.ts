import { mkdirSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { ADMIN_PASSWORD, ROOT, startProduct } from '../../support/product.js'
import { waitFor } from '../../support/wait.js'
import { type Person, newPerson, signInOn, startChromium } from '../kit/chromium.js'
import { type Page, PAGES } from '../../../control-plane/web/src/routes.js'

/** Makes the pictures of the documents: the product with the forms of the demo, some jobs, and what a page shows then. */
const EXAMPLES = join(ROOT, 'control-plane/examples')
const IMAGES = join(ROOT, 'docs/images')
const SHOTS = [
  { name: 'console-jobs', path: '/jobs' },
  { name: 'console-job', path: '/jobs/2' },
] as const

async function take(page: Person['page'], path: string, file: string): Promise<void> {
  await page.goto(product.address + path)
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.getByText('Loading…').first().waitFor({ state: 'detached' })
  await page.evaluate('document.fonts.ready.then(() => new Promise((resolve) => setTimeout(resolve, 500)))')
  await page.screenshot({ path: file })
}

async function signedIn(colorScheme: 'light' | 'dark', width: number, height: number): Promise<Person> {
  const person = await newPerson(browser, product.address, { colorScheme, viewport: { width, height } })
  await person.page.goto(`${product.address}/jobs`)
  await signInOn(person.page, 'admin', ADMIN_PASSWORD)
  await person.page.getByRole('heading', { name: 'Jobs', level: 1 }).waitFor()
  return person
}

async function takeForDocuments(): Promise<void> {
  const { page, close } = await signedIn('light', 1280, 800)
  mkdirSync(IMAGES, { recursive: true })
  for (const { name, path } of SHOTS) await take(page, path, join(IMAGES, `${name}.png`))
  await close()
}

async function takeAll(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true })
  for (const colour of COLOURS) {
    for (const width of WIDTHS) {
      const { page, close } = await signedIn(colour, width, width < 600 ? 844 : 900)
      for (const { name, path } of [...EVERY_PAGE, ...MORE_PAGES]) {
        await take(page, path, join(folder, `${name}-${width}-${colour}.png`))
      }
      await close()
    }
  }
}

const filesOf = (folder: string) =>
  Object.fromEntries(
    readdirSync(join(EXAMPLES, folder)).map((name) => [name, readFileSync(join(EXAMPLES, folder, name), 'utf8')]),
  )

/** Where pictures of every page go; null: only those of the documents are made. */
const FOLDER = process.argv[2] ?? null
const WIDTHS = [390, 1280, 1440]
const COLOURS = ['light', 'dark'] as const
/** One page of every kind. */
const EVERY_PAGE = [
  ...Object.entries<Page>(PAGES).filter(([, { menu }]) => menu !== undefined),
  ['me', PAGES.me] as const,
].map(([name, { path }]) => ({ name, path }))
const MORE_PAGES = [
  { name: 'job', path: '/jobs/2' },
  { name: 'job-failed', path: '/jobs/4' },
  { name: 'form', path: '/forms/Staged%20release' },
]

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
  await (FOLDER === null ? takeForDocuments() : takeAll(FOLDER))
} finally {
  await product.close()
  await browser.close()
}
