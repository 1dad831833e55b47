/** How many times faster the timers of an agent run, so that what lasts a minute for the agent is over in seconds. */
const FASTER = 20

const PROGRAM = `for (const name of ['setTimeout', 'setInterval']) {
  const real = globalThis[name]
  globalThis[name] = (act, milliseconds, ...values) => real(act, milliseconds / ${FASTER}, ...values)
}
const now = performance.now.bind(performance)
performance.now = () => now() * ${FASTER}`

/** The environment of an agent whose timers run faster. Its programs have their own time. */
export const FAST_TIMERS = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(PROGRAM)}` }
