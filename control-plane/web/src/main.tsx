import { render } from 'preact'
import lazy from 'preact-iso/lazy'
import { LocationProvider, Route, Router, useLocation } from 'preact-iso/router'
import { useEffect } from 'preact/hooks'
import { BASE, addressOf } from './live/address.js'
import { askEarly } from './live/answer.js'
import { api } from './live/api.js'
import { readSession, session } from './live/session.js'
import { startTheme } from './live/theme.js'
import { PageTitle } from './parts/content.js'
import { JobsPage } from './pages/jobs/jobs-page.js'
import { PAGES } from './routes.js'
import { Shell } from './shell/shell.js'
import { words } from './words/en.js'

// The list of jobs is what people see first, so it is a part of the start. Other pages are loaded when they are opened.
const JobPage = lazy(() => import('./pages/job/job-page.js').then(({ JobPage: page }) => page))
const others = () => import('./pages/others.js')
const FormsPage = lazy(() => others().then(({ FormsPage: page }) => page))
const FormPage = lazy(() => others().then(({ FormPage: page }) => page))
const ApprovalsPage = lazy(() => others().then(({ ApprovalsPage: page }) => page))
const RunnersPage = lazy(() => others().then(({ RunnersPage: page }) => page))
const RunnerPage = lazy(() => others().then(({ RunnerPage: page }) => page))
const MePage = lazy(() => others().then(({ MePage: page }) => page))
const UsersPage = lazy(() => others().then(({ UsersPage: page }) => page))
const UserPage = lazy(() => others().then(({ UserPage: page }) => page))
const RolesPage = lazy(() => others().then(({ RolesPage: page }) => page))
const CredentialsPage = lazy(() => others().then(({ CredentialsPage: page }) => page))
const AuditPage = lazy(() => others().then(({ AuditPage: page }) => page))
const SettingsPage = lazy(() => others().then(({ SettingsPage: page }) => page))

/** The first page after the sign-in: the jobs, or the password that has to be changed. */
function Start() {
  const { route } = useLocation()
  const to = new URLSearchParams(location.search).get('to') ?? '/jobs'
  useEffect(() => {
    route(addressOf(/^\/(?!\/)/.test(to) ? to : '/jobs'), true)
  }, [])
  return null
}

function NotFound() {
  return (
    <>
      <PageTitle text={words.notFound.title} />
      <p>{words.notFound.text}</p>
      <p>
        {words.notFound.to} <a href={addressOf(PAGES.jobs)}>{words.nav.jobs}</a>,{' '}
        <a href={addressOf(PAGES.forms)}>{words.nav.forms}</a>,{' '}
        <a href={addressOf(PAGES.approvals)}>{words.nav.approvals}</a>
      </p>
    </>
  )
}

/** After each change of the page the focus moves to its content, for people who use a screen reader or the keyboard. */
function toContent() {
  document.getElementById('content')?.focus()
}

function Pages() {
  const { value } = session
  if ('user' in value && value.user.passwordMustChange) return <MePage />
  return (
    <Router onRouteChange={toContent}>
      <Route path={addressOf(PAGES.start)} component={Start} />
      <Route path={addressOf(PAGES.signIn)} component={Start} />
      <Route path={addressOf(PAGES.jobs)} component={JobsPage} />
      <Route path={addressOf(PAGES.job)} component={JobPage} />
      <Route path={addressOf(PAGES.jobTab)} component={JobPage} />
      <Route path={addressOf(PAGES.forms)} component={FormsPage} />
      <Route path={addressOf(PAGES.form)} component={FormPage} />
      <Route path={addressOf(PAGES.approvals)} component={ApprovalsPage} />
      <Route path={addressOf(PAGES.runners)} component={RunnersPage} />
      <Route path={addressOf(PAGES.runner)} component={RunnerPage} />
      <Route path={addressOf(PAGES.me)} component={MePage} />
      <Route path={addressOf(PAGES.users)} component={UsersPage} />
      <Route path={addressOf(PAGES.user)} component={UserPage} />
      <Route path={addressOf(PAGES.roles)} component={RolesPage} />
      <Route path={addressOf(PAGES.credentials)} component={CredentialsPage} />
      <Route path={addressOf(PAGES.audit)} component={AuditPage} />
      <Route path={addressOf(PAGES.settings)} component={SettingsPage} />
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
