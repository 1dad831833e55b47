import type { Upload } from '@holdfast/client'
import { useEffect, useRef, useState } from 'preact/hooks'
import { api } from '../live/api.js'
import { sentWithProgress } from '../live/upload.js'
import { sentenceOf } from '../parts/failure.js'
import { bytesText } from '../parts/time.js'
import { formWords } from '../words/en-form.js'
import { type Place, keyOf } from './place.js'

/** The state of a chosen file. Only a file that was uploaded completely is a value of the field. */
type State =
  | { readonly kind: 'none' | 'cancelled' }
  | { readonly kind: 'up'; readonly file: File; readonly sent: number; readonly all: number }
  | { readonly kind: 'done'; readonly file: File }
  | { readonly kind: 'failed'; readonly file: File; readonly error: Error }

/** The first field of a form whose file is still being uploaded; null: none. */
export function placeOfUpload(form: HTMLFormElement | null): string | null {
  return form?.querySelector<HTMLElement>('[data-uploading]')?.dataset.uploading ?? null
}

/** A file field. The file is uploaded as soon as it is chosen. */
export function FileInput({
  place,
  change,
  attributes,
}: {
  readonly place: Place
  readonly change: (value: Upload | undefined) => void
  readonly attributes: { readonly id: string; readonly name: string }
}) {
  const [state, setState] = useState<State>({ kind: 'none' })
  const input = useRef<HTMLInputElement>(null)
  const under = useRef<AbortController | null>(null)
  useEffect(() => () => under.current?.abort(), [])

  function take(next: State) {
    under.current?.abort()
    under.current = null
    // The earlier file does not count any more, also when the new one cannot be uploaded.
    change(undefined)
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
      const stored = await api.uploadFile({ body }, { signal, fetch: sentWithProgress(tell) })
      if (signal.aborted) return
      change(stored)
      setState({ kind: 'done', file })
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
        <p>
          <progress value={state.sent} max={state.all} aria-label={formWords.uploading(state.file.name)} />{' '}
          {formWords.uploadedSoFar(bytesText(state.sent), bytesText(state.all))}{' '}
          <button
            type="button"
            onClick={() => {
              if (input.current) input.current.value = ''
              take({ kind: 'cancelled' })
              input.current?.focus()
            }}
          >
            {formWords.cancelUpload}
          </button>
        </p>
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
      return formWords.uploaded(state.file.name, bytesText(state.file.size))
    case 'failed':
      return sentenceOf(state.error)
  }
}
