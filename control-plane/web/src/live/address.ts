const { base = '', worker = '', matcher = '' } = document.documentElement.dataset

/** The base URL without a slash at its end. */
export const BASE = base

/** Address of the script that holds the event stream of all tabs. */
export const WORKER_ADDRESS = worker

/** Address of the script that matches patterns beside the page. */
export const MATCHER_ADDRESS = matcher

/** Where the REST interface is. */
export const SERVER = location.origin + BASE

/** The address of a page: its path below the base URL. */
export function addressOf(path: string): string {
  return BASE + path
}
