import { render } from 'preact'
import { LocationProvider, Route, Router, lazy } from 'preact-iso'
import { addressOf } from './live/address.js'
import { readSession } from './live/session.js'
import { PAGES } from './routes.js'
import { Shell } from './shell/shell.js'
import { words } from './words/en.js'

const JobsPage = lazy(() => import('./pages/jobs/jobs-page.js').then(({ JobsPage: page }) => page))
const JobPage = lazy(() => import('./pages/job/job-page.js').then(({ JobPage: page }) => page))

function NotFound() {
  return (
    <>
      <h1>{words.notFound.title}</h1>
      <p>{words.notFound.text}</p>
    </>
  )
}

function App() {
  return (
    <LocationProvider>
      <Shell>
        <Router>
          <Route path={addressOf(PAGES.jobs)} component={JobsPage} />
          <Route path={addressOf(PAGES.job)} component={JobPage} />
          <Route path={addressOf(PAGES.jobTab)} component={JobPage} />
          <Route default component={NotFound} />
        </Router>
      </Shell>
    </LocationProvider>
  )
}

const place = document.getElementById('page')
if (place) render(<App />, place)
void readSession()
