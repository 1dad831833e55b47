import { type ComponentType, Fragment, render } from 'preact'
import lazy from 'preact-iso/lazy'
import { LocationProvider, Route, Router, useLocation } from 'preact-iso/router'
import { useEffect } from 'preact/hooks'
import { BASE, addressOf } from './live/address.js'
import { askEarly } from './live/answer.js'
import { api } from './live/api.js'
import { firstPage, isFor, readSession, session } from './live/session.js'
import { startTheme } from './live/theme.js'
import { PageTitle } from './parts/content.js'
import { JobsPage } from './pages/jobs/jobs-page.js'
import { type Page, type PageName, PAGES, menuOf } from './routes.js'
import { Shell } from './shell/shell.js'
import { words } from './words/en.js'

// The list of jobs is what people see first, so it is a part of the start. Other pages are loaded when they are opened.
const JobPage = lazy(() => import('./pages/job/job-page.js').then(({ JobPage: page }) => page))
const formsPages = () => import('./pages/forms-pages.js')
const schedulesPages = () => import('./pages/schedules-pages.js')
const runnersPages = () => import('./pages/runners-pages.js')
const adminPages = () => import('./pages/admin-pages.js')

const COMPONENTS: Readonly<Record<PageName, ComponentType>> = {
  start: Start,
  signIn: Start,
  jobs: JobsPage,
  job: JobPage,
  jobTab: JobPage,
  forms: lazy(() => formsPages().then((pages) => pages.FormsPage)),
  form: lazy(() => import('./pages/form-pages.js').then((pages) => pages.FormPage)),
  approvals: lazy(() => formsPages().then((pages) => pages.ApprovalsPage)),
  schedules: lazy(() => schedulesPages().then((pages) => pages.SchedulesPage)),
  schedule: lazy(() => schedulesPages().then((pages) => pages.SchedulePage)),
  me: lazy(() => adminPages().then((pages) => pages.MePage)),
  runners: lazy(() => runnersPages().then((pages) => pages.RunnersPage)),
  runner: lazy(() => runnersPages().then((pages) => pages.RunnerPage)),
  users: lazy(() => adminPages().then((pages) => pages.UsersPage)),
  user: lazy(() => adminPages().then((pages) => pages.UserPage)),
  roles: lazy(() => adminPages().then((pages) => pages.RolesPage)),
  credentials: lazy(() => adminPages().then((pages) => pages.CredentialsPage)),
  notifications: lazy(() => adminPages().then((pages) => pages.NotificationsPage)),
  audit: lazy(() => adminPages().then((pages) => pages.AuditPage)),
  settings: lazy(() => adminPages().then((pages) => pages.SettingsPage)),
}
const MePage = COMPONENTS.me

/** The page of `/`: the jobs, or for people who see only their own jobs the forms. After a sign-in it goes on to `to`. */
function Start() {
  const { route } = useLocation()
  const to = new URLSearchParams(location.search).get('to') ?? ''
  useEffect(() => {
    route(addressOf(/^\/(?!\/)./.test(to) ? to : PAGES[firstPage()].path), true)
  }, [])
  return null
}

function NotFound() {
  return (
    <>
      <PageTitle text={words.notFound.title} />
      <p>{words.notFound.text}</p>
      <p>
        {words.notFound.to}
        {menuOf('work').map(({ name, path }, at) => (
          <Fragment key={name}>
            {at > 0 && ','} <a href={addressOf(path)}>{words.nav[name]}</a>
          </Fragment>
        ))}
      </p>
    </>
  )
}

/** After each change of the page the focus moves to its content, for people who use a screen reader or the keyboard. */
function toContent() {
  document.getElementById('content')?.focus()
}

/** A page that only others may see. */
function Forbidden() {
  const { path } = useLocation()
  const page = [...menuOf('work'), ...menuOf('administration')].find((one) => path.startsWith(addressOf(one.path)))
  return (
    <>
      <PageTitle text={page ? words.nav[page.name] : words.error.forbidden} />
      <p class="notice bad" role="alert">
        {words.error.forbidden}
      </p>
    </>
  )
}

function Pages() {
  const { value } = session
  if ('user' in value && value.user.passwordMustChange) return <MePage />
  return (
    <Router onRouteChange={toContent}>
      {Object.entries<Page>(PAGES).map(([name, { path, who }]) => (
        <Route key={name} path={addressOf(path)} component={isFor(who) ? COMPONENTS[name as PageName] : Forbidden} />
      ))}
      <Route default component={NotFound} />
    </Router>
  )
}

function App() {
  return (
    // The browser itself follows links to the REST interface, such as downloads.
    <LocationProvider scope={new RegExp(`^${BASE.replace(/[.]/g, '\\.')}/(?!api/)`)}>
      <Shell>
        <Pages />
      </Shell>
    </LocationProvider>
  )
}

startTheme()
const [, jobId] = new RegExp(`^${addressOf('/jobs/(\\d+)')}`).exec(location.pathname) ?? []
if (jobId !== undefined) askEarly(`job/${jobId}`, api.getJob({ id: Number(jobId), output: false }))
const place = document.getElementById('page')
if (place) render(<App />, place)
void readSession()
