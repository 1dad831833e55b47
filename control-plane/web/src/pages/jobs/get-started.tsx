import type { ComponentChildren } from 'preact'
import { addressOf } from '../../live/address.js'
import { useAnswer } from '../../live/answer.js'
import { api } from '../../live/api.js'
import { CopyText } from '../../parts/copy.js'
import { Badge } from '../../parts/status.js'
import { many } from '../../words/count.js'
import { getStartedWords as text } from '../../words/en-get-started.js'

/** What an admin does until the first job runs. Each step says by itself when it is done. */
export function GetStarted() {
  const runners = useAnswer('runners', ['runners'], (signal) => api.listRunners({}, { signal }))
  const forms = useAnswer('forms', ['designer'], (signal) => api.listForms({ fields: false }, { signal }))
  const online = (runners.value?.records ?? []).filter(({ state, online: isOn }) => state === 'approved' && isOn)
  const count = forms.value?.records.length ?? 0
  return (
    <section class="card" aria-labelledby="get-started">
      <h2 id="get-started">{text.title}</h2>
      <ol class="steps">
        <Step
          title={text.runner.title}
          isDone={online.length > 0}
          text={online.length > 0 ? text.runner.done(online.map(({ name }) => name).join(', ')) : text.runner.text}
        >
          <a href={addressOf('/runners')}>{text.runner.link}</a>
        </Step>
        <Step
          title={text.form.title}
          isDone={count > 0}
          text={count > 0 ? text.form.done(many(count, 'form', 'forms')) : text.form.text}
        >
          <a href={addressOf('/forms')}>{text.form.link}</a>
        </Step>
        <Step title={text.job.title} isDone={false} text={text.job.text}>
          <a href={addressOf('/forms')}>{text.job.link}</a>
        </Step>
        <Step title={text.safe.title} isDone={null} text={text.safe.text}>
          {text.safe.commands.map((command) => (
            <CopyText key={command} text={command} label={command} />
          ))}
        </Step>
      </ol>
    </section>
  )
}

function Step(props: {
  readonly title: string
  readonly text: string
  /** Null: this page cannot know. */
  readonly isDone: boolean | null
  readonly children: ComponentChildren
}) {
  const { title, isDone, children } = props
  return (
    <li>
      <strong>{title}</strong>{' '}
      {isDone !== null && <Badge tone={isDone ? 'ok' : 'off'} text={isDone ? text.done : text.open} />}
      <p class="soft">{props.text}</p>
      {isDone !== true && children}
    </li>
  )
}
