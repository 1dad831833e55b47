import type { Upload } from '@holdfast/client'
import { useEffect, useRef, useState } from 'preact/hooks'
import { api } from '../live/api.js'
import { whenSignedIn } from '../live/signed-in.js'
import { sentWithProgress } from '../live/upload.js'
import { sentenceOf } from '../parts/failure.js'
import { bytesText } from '../parts/time.js'
import { formWords } from '../words/en-form.js'
import { type Place, keyOf } from './place.js'

/** The state of a chosen file. Only a file that was uploaded completely is a value of the field. */
type State =
  | { readonly kind: 'none' | 'cancelled' }
  | { readonly kind: 'up'; readonly file: File; readonly sent: number; readonly all: number }
  | { readonly kind: 'done'; readonly name: string; readonly size: number }
  | { readonly kind: 'failed'; readonly file: File; readonly error: Error }

/** The first field of a form whose file is still being uploaded; null: none. */
export function placeOfUpload(form: HTMLFormElement | null): string | null {
  return form?.querySelector<HTMLElement>('[data-uploading]')?.dataset.uploading ?? null
}

/** A file field. The file is uploaded as soon as it is chosen. */
export function FileInput({
  place,
  value,
  change,
  attributes,
}: {
  readonly place: Place
  /** What the upload was answered with. A row of the job that is run again has one from the beginning. */
  readonly value: unknown
  readonly change: (value: Upload | undefined) => void
  readonly attributes: { readonly id: string; readonly name: string }
}) {
  const [state, setState] = useState<State>(() => startOf(value))
  // A row may change while its file goes up. What was typed meanwhile stays.
  const latest = useRef(change)
  latest.current = change
  const input = useRef<HTMLInputElement>(null)
  const under = useRef<AbortController | null>(null)
  useEffect(() => () => under.current?.abort(), [])

  function take(next: State) {
    under.current?.abort()
    under.current = null
    // The earlier file does not count any more, also when the new one cannot be uploaded.
    latest.current(undefined)
    setState(next)
  }

  async function upload(file: File) {
    take({ kind: 'up', file, sent: 0, all: file.size })
    const own = (under.current = new AbortController())
    const { signal } = own
    const body = new FormData()
    body.append('file', file)
    const tell = (sent: number, all: number) => {
      if (!signal.aborted) setState({ kind: 'up', file, sent, all })
    }
    try {
      const stored = await sendFile(body, signal, tell)
      if (signal.aborted) return
      latest.current(stored)
      setState({ kind: 'done', name: file.name, size: file.size })
    } catch (error) {
      if (!signal.aborted) setState({ kind: 'failed', file, error: error as Error })
    }
  }

  return (
    <div class="upload" data-uploading={state.kind === 'up' ? keyOf(place) : undefined}>
      <input
        {...attributes}
        ref={input}
        type="file"
        onChange={({ currentTarget: { files } }) => {
          const [file] = files ?? []
          if (file) void upload(file)
          else take({ kind: 'none' })
        }}
      />
      {state.kind === 'up' && (
        <Progress
          state={state}
          cancel={() => {
            if (input.current) input.current.value = ''
            take({ kind: 'cancelled' })
            input.current?.focus()
          }}
        />
      )}
      <p class={state.kind === 'failed' ? 'bad-text' : 'soft'} role="status">
        {saidOf(state)}
      </p>
      {state.kind === 'failed' && (
        <button type="button" onClick={() => void upload(state.file)}>
          {formWords.uploadAgain}
        </button>
      )}
    </div>
  )
}

function sendFile(body: FormData, signal: AbortSignal, tell: (sent: number, all: number) => void): Promise<Upload> {
  return whenSignedIn(() => api.uploadFile({ body }, { signal, fetch: sentWithProgress(tell) }), signal)
}

/** How far a file is, and the button that stops it. */
function Progress({
  state: { file, sent, all },
  cancel,
}: {
  readonly state: Extract<State, { readonly kind: 'up' }>
  readonly cancel: () => void
}) {
  return (
    <p>
      <progress value={sent} max={all} aria-label={formWords.uploading(file.name)} />{' '}
      {formWords.uploadedSoFar(bytesText(sent), bytesText(all))}{' '}
      <button type="button" onClick={cancel}>
        {formWords.cancelUpload}
      </button>
    </p>
  )
}

/** A file that is there already is shown as one that was uploaded. */
function startOf(value: unknown): State {
  const { originalname: name, size } = (value ?? {}) as Partial<Upload>
  return name === undefined || size === undefined ? { kind: 'none' } : { kind: 'done', name, size }
}

/** What a screen reader says by itself. The progress is not among it, because that would be said all the time. */
function saidOf(state: State): string {
  switch (state.kind) {
    case 'none':
      return ''
    case 'cancelled':
      return formWords.uploadCancelled
    case 'up':
      return formWords.uploading(state.file.name)
    case 'done':
      return formWords.uploaded(state.name, bytesText(state.size))
    case 'failed':
      return sentenceOf(state.error)
  }
}
